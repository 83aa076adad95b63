//! Standard input and output that never block the thread they are used on.
//!
//! Both descriptors are shared with whoever started the program, so they are not switched to
//! non-blocking: that would change them for everybody. Instead the kernel is asked first, and no more
//! is written at once than it can take. Reader, server and writer share one thread this way, and a
//! round trip costs no hand-over between threads.
//!
//! Limitation: a terminal that is stopped may hold a write up although it was ready a moment before.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, fcntl_dupfd_cloexec, read, write};
use rustix::net::{SendFlags, send};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// As many bytes a pipe takes at once when it says that it takes any.
const PIPE_PIECE: usize = 4096;

/// The program's standard input.
#[derive(Debug)]
pub struct StandardInput {
    port: Port,
}

/// The program's standard output.
#[derive(Debug)]
pub struct StandardOutput {
    port: Port,
    kind: Kind,
}

/// A descriptor, watched where the kernel can do that. Files are always ready.
#[derive(Debug)]
enum Port {
    Watched(AsyncFd<OwnedFd>),
    Ready(OwnedFd),
}

/// How much a descriptor takes without blocking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// As much as it says itself.
    Socket,
    /// A piece, if it is ready.
    Pipe,
    /// Everything.
    File,
}

impl StandardInput {
    /// Takes over standard input. Needs a runtime.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn open() -> io::Result<Self> {
        Self::of(rustix::stdio::stdin())
    }

    fn of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Self { port: Port::of(descriptor, Interest::READABLE)? })
    }
}

impl StandardOutput {
    /// Takes over standard output. Needs a runtime.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn open() -> io::Result<Self> {
        Self::of(rustix::stdio::stdout())
    }

    fn of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        let kind = match FileType::from_raw_mode(fstat(descriptor)?.st_mode) {
            FileType::Socket => Kind::Socket,
            FileType::RegularFile => Kind::File,
            _ => Kind::Pipe,
        };
        Ok(Self { port: Port::of(descriptor, Interest::WRITABLE)?, kind })
    }
}

impl Port {
    fn of(descriptor: BorrowedFd<'_>, interest: Interest) -> io::Result<Self> {
        let own = fcntl_dupfd_cloexec(descriptor, 0)?;
        let again = own.try_clone()?;
        #[expect(deprecated, reason = "its successor asks for a promise that an owned descriptor keeps by itself")]
        let watched = AsyncFd::with_interest(own, interest);
        Ok(match watched {
            Ok(watched) => Self::Watched(watched),
            Err(_) => Self::Ready(again),
        })
    }

    /// Does `work` when the descriptor is ready for it.
    fn poll_io<T>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut work: impl FnMut(BorrowedFd<'_>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let watched = match self {
            Self::Ready(descriptor) => return Poll::Ready(work(descriptor.as_fd())),
            Self::Watched(watched) => watched,
        };
        loop {
            let mut guard = match interest.is_readable() {
                true => ready!(watched.poll_read_ready(context))?,
                false => ready!(watched.poll_write_ready(context))?,
            };
            match guard.try_io(|inner| work(inner.get_ref().as_fd())) {
                Ok(done) => return Poll::Ready(done),
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncRead for StandardInput {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.port.poll_io(context, Interest::READABLE, |descriptor| {
            check_ready(descriptor, PollFlags::IN)?;
            let length = read(descriptor, buffer.initialize_unfilled()).map_err(or_again)?;
            buffer.advance(length);
            Ok(())
        })
    }
}

impl AsyncWrite for StandardOutput {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let kind = self.kind;
        self.port.poll_io(context, Interest::WRITABLE, |descriptor| match kind {
            Kind::Socket => Ok(send(descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).map_err(or_again)?),
            Kind::Pipe => {
                check_ready(descriptor, PollFlags::OUT)?;
                let piece = bytes.get(..PIPE_PIECE).unwrap_or(bytes);
                Ok(write(descriptor, piece).map_err(or_again)?)
            }
            Kind::File => Ok(write(descriptor, bytes).map_err(or_again)?),
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Fails with `WouldBlock` unless the descriptor is ready, or has an end or an error to tell.
fn check_ready(descriptor: BorrowedFd<'_>, flags: PollFlags) -> io::Result<()> {
    let mut asked = [PollFd::new(&descriptor, flags)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut asked, Some(&now)) {
        Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
        Ok(_) => Ok(()),
        Err(error) => Err(or_again(error).into()),
    }
}

/// An interrupted call is made again.
fn or_again(error: Errno) -> Errno {
    if error == Errno::INTR { Errno::WOULDBLOCK } else { error }
}

#[cfg(test)]
mod tests;

//! Standard input and output that never block the thread they are used on.
//!
//! Both descriptors are shared with whoever started the program, so they are not switched to
//! non-blocking: that would change them for everybody. Instead each call asks the kernel not to wait;
//! where it cannot do that it is asked first, and no more is written at once than it can take. Reader,
//! server and writer share one thread this way, and a round trip costs no hand-over between threads.
//!
//! Limitation: a terminal that is stopped may hold a write up although it was ready a moment before.

mod awake;

pub use awake::before_sleep;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ReadWriteFlags, fcntl_dupfd_cloexec, preadv2, pwritev2, read, write};
use rustix::net::{SendFlags, send};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// As many bytes a pipe takes at once when it says that it takes any.
const PIPE_PIECE: usize = 4096;

/// Where a stream is: it has no other place.
const HERE: u64 = u64::MAX;

/// The program's standard input.
#[derive(Debug)]
pub struct StandardInput {
    port: Port,
    kind: Kind,
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

/// How much a descriptor takes or gives without blocking.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// As much as it says itself.
    Socket,
    /// As much as it says itself, or a piece if it is ready.
    Pipe,
    /// A piece, if it is ready: a terminal.
    Device,
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
        Ok(Self { port: Port::of(descriptor, Interest::READABLE)?, kind: Kind::of(descriptor)? })
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
        Ok(Self { port: Port::of(descriptor, Interest::WRITABLE)?, kind: Kind::of(descriptor)? })
    }
}

impl Kind {
    fn of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(match FileType::from_raw_mode(fstat(descriptor)?.st_mode) {
            FileType::Socket => Self::Socket,
            FileType::Fifo => Self::Pipe,
            FileType::RegularFile => Self::File,
            _ => Self::Device,
        })
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

    /// Does `work` when the descriptor is ready for it. Less than `enough` means that there is no more for now.
    fn poll_io(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        enough: usize,
        mut work: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
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
                Ok(done) => {
                    if done.as_ref().is_ok_and(|length| (1..enough).contains(length)) {
                        guard.clear_ready();
                    }
                    return Poll::Ready(done);
                }
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncRead for StandardInput {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let free = buffer.initialize_unfilled();
        let (kind, enough) = (
            self.kind,
            match self.kind {
                Kind::Socket | Kind::Pipe => free.len(),
                // A terminal gives one line at a time.
                Kind::Device | Kind::File => 0,
            },
        );
        let length = ready!(self.port.poll_io(context, Interest::READABLE, enough, |descriptor| match kind {
            Kind::Socket | Kind::Pipe => read_now(descriptor, free),
            Kind::Device => read_if_ready(descriptor, free),
            Kind::File => Ok(read(descriptor, &mut *free).map_err(or_again)?),
        }))?;
        buffer.advance(length);
        awake::heard();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for StandardOutput {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let kind = self.kind;
        self.port.poll_io(context, Interest::WRITABLE, 0, |descriptor| match kind {
            Kind::Socket => Ok(send(descriptor, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).map_err(or_again)?),
            Kind::Pipe => write_now(descriptor, bytes),
            Kind::Device => write_if_ready(descriptor, bytes),
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

/// Reads what there is.
fn read_now(descriptor: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    match preadv2(descriptor, &mut [IoSliceMut::new(buffer)], HERE, ReadWriteFlags::NOWAIT) {
        Err(error) if cannot_tell(error) => read_if_ready(descriptor, buffer),
        read => Ok(read.map_err(or_again)?),
    }
}

fn read_if_ready(descriptor: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    check_ready(descriptor, PollFlags::IN)?;
    Ok(read(descriptor, buffer).map_err(or_again)?)
}

/// Writes as much as there is room for.
fn write_now(descriptor: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    match pwritev2(descriptor, &[IoSlice::new(bytes)], HERE, ReadWriteFlags::NOWAIT) {
        Err(error) if cannot_tell(error) => write_if_ready(descriptor, bytes),
        written => Ok(written.map_err(or_again)?),
    }
}

fn write_if_ready(descriptor: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    check_ready(descriptor, PollFlags::OUT)?;
    Ok(write(descriptor, bytes.get(..PIPE_PIECE).unwrap_or(bytes)).map_err(or_again)?)
}

/// Whether the kernel cannot do without waiting what it was asked for: an old one, or a strange descriptor.
fn cannot_tell(error: Errno) -> bool {
    [Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL, Errno::SPIPE].contains(&error)
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

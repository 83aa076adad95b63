//! A socket on which lines travel, and descriptors with them.

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes taken at once.
const PIECE: usize = 16 * 1024;

/// What has arrived and was not taken yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

/// Sends one line; the descriptors travel with its first byte.
pub(super) fn send(socket: impl AsFd, line: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    let mut rest = bytes.as_slice();
    let mut attached = descriptors;
    while !rest.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !attached.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(attached));
        }
        match sendmsg(&socket, &[IoSlice::new(rest)], &mut control, SendFlags::NOSIGNAL) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        attached = &[];
    }
    Ok(())
}

impl Inbox {
    /// Takes what the socket has, or waits for it; false when nothing will come any more.
    pub(super) fn fill(&mut self, socket: impl AsFd) -> io::Result<bool> {
        let mut piece = [0; PIECE];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(socket, &mut [IoSliceMut::new(&mut piece)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.bytes.extend_from_slice(piece.get(..received).unwrap_or_default());
        Ok(received > 0)
    }

    /// The next whole line, if there is one.
    pub(super) fn line<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(end) = memchr::memchr(b'\n', &self.bytes) else { return Ok(None) };
        let line: Vec<u8> = self.bytes.drain(..=end).collect();
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// The next descriptor that came.
    pub(super) fn descriptor(&mut self) -> Option<OwnedFd> {
        if self.descriptors.is_empty() { None } else { Some(self.descriptors.remove(0)) }
    }

    /// Waits for a whole line; nothing when the other end is closed.
    pub(super) fn wait<T: DeserializeOwned>(&mut self, socket: impl AsFd) -> io::Result<Option<T>> {
        loop {
            if let Some(line) = self.line()? {
                return Ok(Some(line));
            }
            match self.fill(&socket) {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn lines_and_descriptors_arrive_in_order_however_long() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let long = "x".repeat(100_000);
        let sender = std::thread::spawn(move || {
            send(&here, &"first", &[writer.as_fd()]).unwrap();
            send(&here, &long, &[]).unwrap();
        });
        let mut inbox = Inbox::default();
        assert_eq!(inbox.wait::<String>(&there).unwrap().unwrap(), "first");
        assert_eq!(inbox.wait::<String>(&there).unwrap().unwrap().len(), 100_000);
        assert_eq!(inbox.wait::<String>(&there).unwrap(), None);
        sender.join().unwrap();
        // The pipe's end is open until the descriptor that travelled is closed.
        drop(inbox.descriptor().unwrap());
        assert!(inbox.descriptor().is_none());
        assert_eq!(reader.read(&mut [0; 1]).unwrap(), 0);
    }
}

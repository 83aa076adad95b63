//! One connection: requests in, replies out, and a look at who closes it.

use super::reply::{Ending, Framing, Reply};
use super::{Recorded, Shared};
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The first byte of a client that wants TLS. It gets what servers without TLS give it.
const TLS_HANDSHAKE: u8 = 0x16;

/// Serves a connection until one side closes it.
pub(super) async fn serve(stream: TcpStream, number: usize, shared: &Shared) {
    stream.set_nodelay(true).ok();
    let mut connection = Connection { stream, number, unread: Vec::new() };
    // An error is the client's end of the connection, met while reading or writing.
    if !matches!(connection.answer_all(shared).await, Ok(ClosedBy::Us)) {
        shared.state.send_modify(|state| {
            state.closed.insert(number);
        });
    }
}

enum ClosedBy {
    Us,
    Client,
}

struct Connection {
    stream: TcpStream,
    number: usize,
    /// Bytes that belong to the next request.
    unread: Vec<u8>,
}

impl Connection {
    async fn answer_all(&mut self, shared: &Shared) -> io::Result<ClosedBy> {
        while let Some(request) = self.read_request().await? {
            let reply = shared.next_reply();
            shared.state.send_modify(|state| state.requests.push(request));
            self.send(&reply).await?;
            match reply.ending {
                Ending::Proper if !reply.is_silent => {}
                Ending::Close => return Ok(ClosedBy::Us),
                Ending::Proper | Ending::Hang => {
                    self.until_closed().await;
                    return Ok(ClosedBy::Client);
                }
            }
        }
        Ok(ClosedBy::Client)
    }

    async fn send(&mut self, reply: &Reply) -> io::Result<()> {
        if reply.is_silent {
            return Ok(());
        }
        self.stream.write_all(reply.head().as_bytes()).await?;
        for (position, piece) in reply.pieces.iter().filter(|piece| !piece.is_empty()).enumerate() {
            if position > 0 && !reply.pause.is_zero() {
                self.pause(reply.pause).await?;
            }
            match reply.framing {
                Framing::Chunked => {
                    let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
                    self.stream.write_all(&chunk).await?;
                }
                Framing::Length(_) | Framing::UntilClose => self.stream.write_all(piece).await?,
            }
            tokio::task::yield_now().await;
        }
        match (reply.framing, reply.ending) {
            (Framing::Chunked, Ending::Proper) => self.stream.write_all(b"0\r\n\r\n").await,
            (Framing::Chunked | Framing::Length(_) | Framing::UntilClose, _) => Ok(()),
        }
    }

    /// Waits, unless the client closes first.
    async fn pause(&mut self, pause: std::time::Duration) -> io::Result<()> {
        tokio::select! {
            () = tokio::time::sleep(pause) => Ok(()),
            () = self.until_closed() => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits until the client closes the connection. Whatever it sends meanwhile is dropped.
    async fn until_closed(&mut self) {
        let mut buffer = [0; 1024];
        while matches!(self.stream.read(&mut buffer).await, Ok(read) if read > 0) {}
    }

    async fn read_request(&mut self) -> io::Result<Option<Recorded>> {
        let end = loop {
            if self.unread.first() == Some(&TLS_HANDSHAKE) {
                self.stream.write_all(b"HTTP/1.1 400 Scripted\r\ncontent-length: 0\r\n\r\n").await?;
                return Ok(None);
            }
            if let Some(end) = self.unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break end + 4;
            }
            if self.read_more().await? == 0 {
                return Ok(None);
            }
        };
        let rest = self.unread.split_off(end);
        let head = String::from_utf8_lossy(&std::mem::replace(&mut self.unread, rest)).into_owned();
        let mut request = parse_head(&head, self.number);
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while self.unread.len() < length {
            if self.read_more().await? == 0 {
                return Ok(None);
            }
        }
        let rest = self.unread.split_off(length);
        request.body = std::mem::replace(&mut self.unread, rest);
        Ok(Some(request))
    }

    async fn read_more(&mut self) -> io::Result<usize> {
        self.stream.read_buf(&mut self.unread).await
    }
}

fn parse_head(head: &str, connection: usize) -> Recorded {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    Recorded {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        headers: lines.filter_map(header).collect(),
        body: Vec::new(),
        connection,
    }
}

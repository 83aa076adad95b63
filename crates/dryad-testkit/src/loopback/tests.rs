//! The server's own behaviour, good and bad.

use super::*;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

const REQUEST: &[u8] = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}";

/// All that the server sends until it closes or has sent `bytes`.
fn answer(stream: &mut TcpStream, bytes: usize) -> String {
    stream.write_all(REQUEST).unwrap();
    let mut answer = Vec::new();
    stream.take(bytes as u64).read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[test]
fn gives_its_replies_in_order_on_one_connection() {
    let server = Loopback::start([Reply::sse("abc").split_at(&[1]), Reply::json(400, "{}").content_length(2)]).unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let first = "HTTP/1.1 200 Scripted\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
                 transfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
    assert_eq!(answer(&mut stream, first.len()), first);
    let second = "HTTP/1.1 400 Scripted\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(answer(&mut stream, second.len()), second);
    let requests = server.requests();
    assert_eq!((requests.len(), server.connections()), (2, 1));
    assert_eq!((requests[1].method.as_str(), requests[1].path.as_str()), ("POST", "/x"));
    assert_eq!((requests[1].header("host"), &requests[1].body[..]), (Some("h"), &b"{}"[..]));
}

#[test]
fn closes_in_the_middle() {
    let server = Loopback::start([Reply::sse("abc").then_close()]).unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    assert!(answer(&mut stream, 4096).ends_with("3\r\nabc\r\n"));
}

#[tokio::test]
async fn notices_that_the_client_closes() {
    let server = Loopback::start([Reply::silent()]).unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(REQUEST).unwrap();
    server.requested(1).await.unwrap();
    drop(stream);
    server.closed(0).await.unwrap();
}

#[test]
fn says_when_its_script_is_over() {
    let server = Loopback::start([]).unwrap();
    let mut stream = TcpStream::connect(server.address).unwrap();
    assert!(answer(&mut stream, 20).starts_with("HTTP/1.1 500"));
}

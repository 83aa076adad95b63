//! Real pipes, sockets and files on either side.

use super::*;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::net::UnixStream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test]
async fn what_comes_through_a_pipe_is_read_until_its_end() {
    let (from, to) = std::io::pipe().unwrap();
    let mut input = StandardInput::of(from.as_fd()).unwrap();
    let mut to = to;
    to.write_all(b"one").unwrap();
    let mut buffer = [0; 16];
    assert_eq!(input.read(&mut buffer).await.unwrap(), 3);
    let nothing = tokio::time::timeout(std::time::Duration::from_millis(20), input.read(&mut buffer)).await;
    assert!(nothing.is_err(), "an empty pipe does not block the thread");
    to.write_all(b"two").unwrap();
    drop(to);
    let mut rest = Vec::new();
    input.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"two");
}

#[tokio::test]
async fn a_full_pipe_waits_without_blocking_the_thread() {
    let (from, to) = std::io::pipe().unwrap();
    let mut output = StandardOutput::of(to.as_fd()).unwrap();
    drop(to);
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
    let expected = bytes.clone();
    let reader = tokio::task::spawn_blocking(move || {
        let mut all = Vec::new();
        (&from).read_to_end(&mut all).unwrap();
        all
    });
    output.write_all(&bytes).await.unwrap();
    drop(output);
    assert!(reader.await.unwrap() == expected);
}

#[tokio::test]
async fn a_socket_takes_what_it_can() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut output = StandardOutput::of(ours.as_fd()).unwrap();
    drop(ours);
    let reader = tokio::task::spawn_blocking(move || {
        let mut all = Vec::new();
        (&theirs).read_to_end(&mut all).unwrap();
        all.len()
    });
    output.write_all(&vec![7; 3_000_000]).await.unwrap();
    drop(output);
    assert_eq!(reader.await.unwrap(), 3_000_000);
}

#[tokio::test]
async fn a_closed_reader_is_an_error_and_no_signal() {
    let (from, to) = std::io::pipe().unwrap();
    let mut output = StandardOutput::of(to.as_fd()).unwrap();
    drop(from);
    assert_eq!(output.write_all(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn files_are_read_and_written_like_everything_else() {
    let mut file = tempfile::tempfile().unwrap();
    let mut output = StandardOutput::of(file.as_fd()).unwrap();
    output.write_all(b"{}\n").await.unwrap();
    file.rewind().unwrap();
    let mut input = StandardInput::of(file.as_fd()).unwrap();
    let mut text = String::new();
    input.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "{}\n");
}

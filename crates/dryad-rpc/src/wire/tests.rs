//! What is left at the end reaches a host that still reads.

use super::*;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, DuplexStream};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(10);

/// A closed outbox with one frame that is longer than what the host's side takes at once, and its writer.
fn full() -> (Outbox, JoinHandle<()>, DuplexStream) {
    let (output, host) = tokio::io::duplex(64);
    let outbox = Outbox::new(Mask::default());
    outbox.send(&json!({"text": "x".repeat(10_000)}));
    outbox.close();
    let writer = tokio::spawn({
        let outbox = outbox.clone();
        async move { write_from(&outbox, output).await.unwrap() }
    });
    (outbox, writer, host)
}

#[tokio::test]
async fn a_host_that_left_may_read_late_and_gets_whole_frames() {
    let (outbox, writer, mut host) = full();
    let ending = tokio::spawn(async move {
        let patience = Patience { without_a_byte: LONG, when_told: SHORT };
        last_words(&outbox, writer, (Ended::HostLeft, &CancellationToken::new()), patience).await;
    });
    tokio::time::sleep(LOOK * 3).await;
    assert!(!ending.is_finished(), "it waits longer than when it is told to end");
    let mut read = String::new();
    host.read_to_string(&mut read).await.unwrap();
    assert_eq!((read.len(), read.ends_with("\"}\n")), (10_012, true));
    tokio::time::timeout(LONG, ending).await.unwrap().unwrap();
}

#[tokio::test]
async fn every_byte_that_is_taken_counts_also_within_a_frame() {
    let (outbox, writer, mut host) = full();
    let before = outbox.taken();
    host.read_exact(&mut [0; 100]).await.unwrap();
    while outbox.taken() < before + 100 {
        tokio::task::yield_now().await;
    }
    assert!(!writer.is_finished());
}

#[tokio::test]
async fn a_host_that_takes_nothing_gets_no_more() {
    let (outbox, writer, _host) = full();
    let patience = Patience { without_a_byte: SHORT, when_told: LONG };
    let quit = CancellationToken::new();
    let ending = last_words(&outbox, writer, (Ended::HostLeft, &quit), patience);
    tokio::time::timeout(LONG, ending).await.unwrap();
}

#[tokio::test]
async fn being_told_to_end_shortens_the_wait() {
    let patience = Patience { without_a_byte: LONG * 10, when_told: SHORT };
    let quit = CancellationToken::new();
    quit.cancel();
    for ended in [Ended::Told, Ended::HostLeft] {
        let (outbox, writer, _host) = full();
        tokio::time::timeout(LONG, last_words(&outbox, writer, (ended, &quit), patience)).await.unwrap();
    }
}

//! The one task that owns the output.

use crate::outbox::{Outbox, Task};
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, sleep_until};

/// Writes what is put into the outbox until it is closed and empty, or until nobody reads any more.
///
/// # Errors
///
/// When the output cannot be written to; the outbox is abandoned then.
pub(crate) async fn write_from(outbox: &Outbox, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
    loop {
        match outbox.next(Instant::now()) {
            Task::Write(bytes) => {
                if let Err(error) = output.write_all(&bytes).await {
                    outbox.abandon();
                    return Err(error);
                }
            }
            Task::Wait(Some(due)) => tokio::select! {
                () = outbox.filled() => {}
                () = sleep_until(due) => {}
            },
            Task::Wait(None) => outbox.filled().await,
            Task::Stop => return output.flush().await,
        }
    }
}

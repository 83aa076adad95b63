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
                if let Err(error) = write_all(outbox, &mut output, &bytes).await {
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

/// Writes all of it, and notes what is taken on the way: one frame may be longer than the host reads in a while.
async fn write_all(outbox: &Outbox, output: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let taken = output.write(rest).await?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        outbox.note_taken(taken);
        rest = rest.get(taken..).unwrap_or_default();
    }
    Ok(())
}

//! The bytes of a streamed answer, with a limit to the silence between them.

use crate::error::ProviderError;
use crate::http::failure::{Target, deepest, seconds};
use crate::secret::{Secret, redact_error};
use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// The bytes of a streamed answer. Dropping it before its end closes the connection.
pub struct SseBody {
    chunks: BoxStream<'static, Result<Bytes, ProviderError>>,
    secrets: Arc<[Secret]>,
    host: String,
    patience: Duration,
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

impl SseBody {
    /// A body made of these chunks.
    pub fn new(chunks: impl Stream<Item = Result<Bytes, ProviderError>> + Send + 'static) -> Self {
        Self {
            chunks: chunks.boxed(),
            secrets: Arc::new([]),
            host: "the server".to_owned(),
            patience: Duration::MAX,
            timer: None,
            is_waiting: false,
        }
    }

    /// The rest of a response, after a first chunk that has been looked at.
    pub(super) fn of_response(
        first: Option<Bytes>,
        response: reqwest::Response,
        target: &Target,
        patience: Duration,
        secrets: Arc<[Secret]>,
    ) -> Self {
        let host = target.host();
        let name = host.clone();
        let rest = response.bytes_stream().map(move |chunk| chunk.map_err(|error| broken(&name, &error)));
        let body = Self::new(futures_util::stream::iter(first.map(Ok)).chain(rest));
        Self { secrets, host, patience, ..body }
    }

    /// From now on waits only so long for the next bytes, or as long as before if that is shorter.
    pub(crate) fn hurry(&mut self, patience: Duration) {
        self.patience = self.patience.min(patience);
        self.is_waiting = false;
    }

    /// Takes this body's secrets out of an error.
    pub(crate) fn redact(&self, error: ProviderError) -> ProviderError {
        redact_error(error, &self.secrets)
    }

    /// The next bytes, or the end. The time of silence runs only while somebody waits.
    pub(crate) fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, ProviderError>>> {
        match self.chunks.poll_next_unpin(context) {
            Poll::Ready(chunk) => {
                self.is_waiting = false;
                Poll::Ready(chunk)
            }
            Poll::Pending => self.poll_silence(context).map(|()| Some(Err(self.silent()))),
        }
    }

    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        if !self.is_waiting {
            self.is_waiting = true;
            match Instant::now().checked_add(self.patience) {
                Some(end) => timer.as_mut().reset(end),
                None => return Poll::Pending,
            }
        }
        timer.as_mut().poll(context)
    }

    fn silent(&self) -> ProviderError {
        let message = format!("{} sent nothing for {}", self.host, seconds(self.patience));
        ProviderError::StreamBroken { message }
    }
}

fn broken(host: &str, error: &reqwest::Error) -> ProviderError {
    let message = format!("{host} stopped in the middle of its answer ({})", deepest(error));
    ProviderError::StreamBroken { message }
}

impl std::fmt::Debug for SseBody {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SseBody").field("host", &self.host).finish_non_exhaustive()
    }
}

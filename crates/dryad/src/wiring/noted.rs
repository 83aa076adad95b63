//! Remembers why a request failed, so that the report can say what to do about it.

use dryad_protocol::model::Model;
use dryad_provider::error::ProviderError;
use dryad_provider::provider::{DeltaStream, Provider};
use dryad_provider::request::Request;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// Why the last request failed. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastError(Arc<Mutex<Option<ProviderError>>>);

impl LastError {
    /// The error, if the last request could not even begin to be answered.
    pub(crate) fn get(&self) -> Option<ProviderError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, error: Option<ProviderError>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }
}

/// A provider that notes how each request begins. Deltas pass untouched.
pub(super) struct Noted {
    inner: Arc<dyn Provider>,
    last: LastError,
}

impl Noted {
    pub(super) fn new(inner: Arc<dyn Provider>, last: LastError) -> Self {
        Self { inner, last }
    }
}

impl Provider for Noted {
    fn stream<'a>(
        &'a self,
        request: Request<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<DeltaStream, ProviderError>> + Send + 'a>> {
        Box::pin(async move {
            tracing::info!(model = request.model.full_name(), messages = request.messages.len(), "model request");
            let result = self.inner.stream(request).await;
            self.last.set(result.as_ref().err().cloned());
            result
        })
    }

    fn ready<'a>(&'a self, model: &'a Model) -> Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send + 'a>> {
        self.inner.ready(model)
    }
}

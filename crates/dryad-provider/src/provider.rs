//! The contract of this crate: one model request in, a stream of deltas out.

use crate::delta::Delta;
use crate::error::ProviderError;
use crate::request::Request;
use dryad_protocol::model::Model;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

/// The deltas of one answer. A good one ends after [`Delta::Stop`]; an `Err` is the last item.
/// Dropping it closes the connection.
pub type DeltaStream = BoxStream<'static, Result<Delta, ProviderError>>;

/// Something that answers model requests.
pub trait Provider: Send + Sync {
    /// Sends the request and returns once the answer begins.
    ///
    /// Cancel-safe: dropping the future, or later the stream, closes the connection.
    fn stream<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<DeltaStream, ProviderError>>;

    /// Checks that this model can be asked at all, without asking it: that there is a key where one is needed.
    fn ready<'a>(&'a self, _model: &'a Model) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async { Ok(()) })
    }
}

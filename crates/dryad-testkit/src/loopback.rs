//! An HTTP server on loopback that answers by script and misbehaves on demand.
//!
//! It stands in for a model server: a test gives it [`Reply`]s, points a client at
//! [`Loopback::url`], and looks at what arrived. It runs on a thread of its own, so it serves
//! asynchronous tests as well as tests that start a program and wait for it. Connections are kept
//! alive as long as both sides like.
//!
//! ```ignore
//! let server = Loopback::start([Reply::sse("data: [DONE]\n\n").split_every(3)])?;
//! // … a client asks `server.url()` …
//! assert_eq!(server.requests()[0].path, "/v1/chat/completions");
//! ```
//!
//! Limitations: HTTP/1.1 without TLS, request bodies with a `content-length` only.

mod connection;
mod reply;

pub use reply::Reply;

use anyhow::Context as _;
use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// Longer than anything on loopback takes, so that a test which waits in vain says so.
const WAIT_LIMIT: Duration = Duration::from_secs(20);

/// A request as it arrived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recorded {
    /// `GET`, `POST`, …
    pub method: String,
    /// The request's target: a path, or a whole address when the client takes this for a proxy.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of the connection it came on, from 0.
    pub connection: usize,
}

/// The server. Dropping it ends it and closes its connections.
#[derive(Debug)]
pub struct Loopback {
    address: SocketAddr,
    state: watch::Sender<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct State {
    requests: Vec<Recorded>,
    connections: usize,
    closed: BTreeSet<usize>,
}

/// What the connections share.
#[derive(Clone)]
struct Shared {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    state: watch::Sender<State>,
}

impl Loopback {
    /// Starts a server that gives these replies, one per request, in the order the requests come.
    /// A request beyond the last is answered with status 500.
    ///
    /// # Errors
    ///
    /// When there is no free port or no thread.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("no free port on loopback")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = watch::Sender::new(State::default());
        let replies = Arc::new(Mutex::new(replies.into_iter().collect()));
        let shared = Shared { replies, state: state.clone() };
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serve = move || runtime.block_on(serve(listener, shared, stopped));
        let thread = std::thread::Builder::new().name("loopback".to_owned()).spawn(serve)?;
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens: `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.borrow().requests.clone()
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> usize {
        self.state.borrow().connections
    }

    /// Waits until so many requests have come.
    ///
    /// # Errors
    ///
    /// When that takes longer than anything on loopback should.
    pub async fn requested(&self, count: usize) -> anyhow::Result<()> {
        self.wait(|state| state.requests.len() >= count).await.with_context(|| format!("there are no {count} requests"))
    }

    /// Waits until the client has closed a connection.
    ///
    /// # Errors
    ///
    /// When that takes longer than anything on loopback should.
    pub async fn closed(&self, connection: usize) -> anyhow::Result<()> {
        let closed = self.wait(|state| state.closed.contains(&connection)).await;
        closed.with_context(|| format!("connection {connection} is still open"))
    }

    async fn wait(&self, condition: impl FnMut(&State) -> bool) -> anyhow::Result<()> {
        let mut watcher = self.state.subscribe();
        tokio::time::timeout(WAIT_LIMIT, watcher.wait_for(condition)).await??;
        Ok(())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server has been printed already.
            thread.join().ok();
        }
    }
}

impl Recorded {
    /// A header's value; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_slice(&self.body).context("the request's body is no JSON")
    }
}

impl Shared {
    /// The reply to the next request.
    fn next_reply(&self) -> Reply {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.pop_front().unwrap_or_else(|| Reply::text(500, "the script of this server is over"))
    }
}

async fn serve(listener: std::net::TcpListener, shared: Shared, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    let accept = async {
        for number in 0.. {
            let Ok((stream, _)) = listener.accept().await else { return };
            shared.state.send_modify(|state| state.connections += 1);
            let shared = shared.clone();
            connections.spawn(async move {
                connection::serve(stream, number, &shared).await;
            });
        }
    };
    tokio::select! {
        () = accept => {}
        _ = stopped => {}
    }
}

#[cfg(test)]
mod tests;

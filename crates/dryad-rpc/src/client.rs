//! A client for hosts written in Rust.
//!
//! The host starts `dryad --mode rpc` and hands over its standard output and input:
//!
//! ```ignore
//! let (client, mut events) = Client::over(child.stdout.take()?, child.stdin.take()?);
//! client.ready().await?;
//! client.send(&Command::Prompt(PromptCommand::Prompt { message, images: None, streaming_behavior: None })).await?;
//! while let Some(event) = events.next().await { … }
//! ```
//!
//! Responses go to whoever sent the command; everything else comes out of [`Events`], in order. At most
//! [`MAX_EVENTS`] wait there; beyond, the client stops reading until some are taken, and the program at
//! the other end tells less often. So a host takes its events while it waits for a response, or lets
//! another task do that.

mod pending;

use crate::command::Command;
use crate::dialog::UiResponse;
use crate::frame::{InboundFrame, ParseFailure, encode_frame};
use crate::host_tool::HostToolAnswer;
use crate::reader::FrameReader;
use crate::response::Response;
use pending::Pending;
use serde::Serialize;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;

/// At most so many events wait to be taken.
pub const MAX_EVENTS: usize = 1024;

/// Bytes taken from the program at once.
const PIECE: usize = 64 * 1024;

/// Talks to a program in RPC mode. Dropping it closes the program's input, which ends it.
pub struct Client {
    output: Mutex<Box<dyn AsyncWrite + Send + Unpin>>,
    pending: Arc<Pending>,
    ids: AtomicU64,
    ready: watch::Receiver<Option<String>>,
    reader: JoinHandle<()>,
}

/// What the program tells unasked.
#[derive(Debug)]
pub struct Events {
    frames: mpsc::Receiver<Value>,
}

/// Why a command has no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// It was refused, in these words.
    #[error("{0}")]
    Refused(String),
    /// It cannot be sent.
    #[error("the command cannot be sent: {0}")]
    Io(#[from] io::Error),
    /// The program has ended.
    #[error("the program has ended")]
    Ended,
}

impl Client {
    /// A client that reads the program's standard output and writes its standard input. Needs a runtime.
    pub fn over(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> (Self, Events) {
        let pending = Arc::new(Pending::default());
        let (events, frames) = mpsc::channel(MAX_EVENTS);
        let (tell_ready, ready) = watch::channel(None);
        let reader = tokio::spawn(read(input, pending.clone(), events, tell_ready));
        let client = Self { output: Mutex::new(Box::new(output)), pending, ids: AtomicU64::new(0), ready, reader };
        (client, Events { frames })
    }

    /// Waits until commands are read, and tells the program's version.
    ///
    /// # Errors
    ///
    /// When the program ends before.
    pub async fn ready(&self) -> Result<String, ClientError> {
        let mut ready = self.ready.clone();
        let version = ready.wait_for(Option::is_some).await.map_err(|_| ClientError::Ended)?;
        Ok(version.clone().unwrap_or_default())
    }

    /// Sends a command and waits for its answer.
    ///
    /// A prompt is answered when it is taken up; that it failed later is told by its `prompt_result`.
    ///
    /// # Errors
    ///
    /// When it is refused, or the program ends.
    pub async fn send(&self, command: &Command) -> Result<Value, ClientError> {
        self.ask(serde_json::to_value(command).map_err(io::Error::from)?).await
    }

    /// Sends a command that may not be known here, and waits for its answer.
    ///
    /// # Errors
    ///
    /// When it is refused, or the program ends.
    pub async fn ask(&self, mut command: Value) -> Result<Value, ClientError> {
        let id = format!("req_{}", self.ids.fetch_add(1, Ordering::Relaxed) + 1);
        if let Some(fields) = command.as_object_mut() {
            fields.insert("id".to_owned(), Value::from(id.clone()));
        }
        let answer = self.pending.expect(&id);
        self.write(&command).await?;
        let Response { success, data, error, .. } = answer.await.map_err(|_| ClientError::Ended)?;
        match success {
            true => Ok(data.unwrap_or_default()),
            false => Err(ClientError::Refused(error.unwrap_or_default())),
        }
    }

    /// Answers a question of the program.
    ///
    /// # Errors
    ///
    /// When it cannot be sent.
    pub async fn respond(&self, response: &UiResponse) -> Result<(), ClientError> {
        #[derive(Serialize)]
        struct Frame<'a> {
            r#type: &'static str,
            #[serde(flatten)]
            response: &'a UiResponse,
        }
        self.write(&Frame { r#type: "extension_ui_response", response }).await
    }

    /// Tells of a call that this host carries out.
    ///
    /// # Errors
    ///
    /// When it cannot be sent.
    pub async fn tell(&self, answer: &HostToolAnswer) -> Result<(), ClientError> {
        self.write(answer).await
    }

    /// Closes the program's input, so that it ends.
    ///
    /// # Errors
    ///
    /// When that is not possible.
    pub async fn close(&self) -> Result<(), ClientError> {
        let mut output = self.output.lock().await;
        output.shutdown().await?;
        *output = Box::new(tokio::io::sink());
        Ok(())
    }

    async fn write(&self, frame: &impl Serialize) -> Result<(), ClientError> {
        let line = encode_frame(frame)?;
        let mut output = self.output.lock().await;
        output.write_all(&line).await?;
        Ok(output.flush().await?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Events {
    /// The next event; none when the program has ended.
    pub async fn next(&mut self) -> Option<Value> {
        self.frames.recv().await
    }

    /// Takes events until one of this type, which is the last one.
    pub async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut taken = Vec::new();
        while let Some(event) = self.next().await {
            let is_last = event["type"] == kind;
            taken.push(event);
            if is_last {
                break;
            }
        }
        taken
    }
}

async fn read(
    mut input: impl AsyncRead + Unpin,
    pending: Arc<Pending>,
    events: mpsc::Sender<Value>,
    ready: watch::Sender<Option<String>>,
) {
    let mut reader = FrameReader::default();
    let mut piece = vec![0; PIECE];
    while let Ok(length @ 1..) = input.read(&mut piece).await {
        reader.push(piece.get(..length).unwrap_or_default());
        while let Some(frame) = reader.next_frame() {
            let Some(event) = sort(frame, &pending) else { continue };
            if event["type"] == "ready" {
                ready.send_replace(Some(event["version"].as_str().unwrap_or_default().to_owned()));
            }
            // Responses still have to be read when nobody takes events.
            events.send(event).await.ok();
        }
    }
    pending.give_up();
}

/// Hands a response over; what is none comes back.
fn sort(frame: Result<InboundFrame, ParseFailure>, pending: &Pending) -> Option<Value> {
    let InboundFrame { kind, id: _, fields } = match frame {
        Ok(frame) => frame,
        Err(failure) => {
            tracing::warn!("the program said something else than a frame: {failure}");
            return None;
        }
    };
    let frame = Value::Object(fields);
    if kind != "response" {
        return Some(frame);
    }
    match serde_json::from_value::<Response>(frame.clone()) {
        // A late failure, or an answer that names no command, is an event for the host.
        Ok(response) => pending.answer(response).map(|_| frame),
        Err(_) => Some(frame),
    }
}

#[cfg(test)]
mod tests;

//! Pictures, kept beside the sessions and named by their content.
//!
//! A line names a picture as `blob:sha256:<hex>` in the place of its base64 text. What cannot be brought
//! back exactly (text that is not canonical base64) stays in the line.
//!
//! A picture that is named anew becomes young again, under a lock that is shared with whoever names others and
//! not with whoever removes old ones: what a line is about to name is not removed. Sessions that lie elsewhere
//! than usual are noted, so that what they name is found.

use super::disk::{self, Draft, Hold};
use crate::problem::{Problem, StoreError};
use crate::sha256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dryad_protocol::content::{ImageBlock, UserBlock};
use dryad_protocol::entry::EntryBody;
use dryad_protocol::message::Message;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pictures whose text is shorter stay in their line.
const SMALLEST: usize = 1024;
/// How a line names a picture.
pub(crate) const PREFIX: &str = "blob:sha256:";
/// The file in the directory of pictures that whoever adds or removes some holds a lock on.
const LOCK: &str = ".lock";
/// The file in it that lists sessions which lie elsewhere.
const ELSEWHERE: &str = ".elsewhere";

/// The directory of pictures.
#[derive(Clone, Debug)]
pub(crate) struct Blobs(PathBuf);

impl Blobs {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(directory)
    }

    /// The entry as its line in a session's file shall have it: large pictures named, and stored under that name.
    pub(crate) fn store(&self, body: &mut EntryBody, session: &Path) -> Result<(), StoreError> {
        let mut is_noted = false;
        each_image(body, &|image| image.data.len() >= SMALLEST, &mut |image| {
            if !std::mem::replace(&mut is_noted, true) {
                self.note(session)?;
            }
            self.put(image)
        })
    }

    /// Notes that a session names pictures, if it lies elsewhere than usual.
    pub(crate) fn note(&self, session: &Path) -> Result<(), StoreError> {
        if self.usual_sessions().is_some_and(|usual| session.starts_with(usual)) {
            return Ok(());
        }
        let path = self.elsewhere();
        let failed = |error| StoreError::io(&path, error);
        let session = std::path::absolute(session).map_err(failed)?;
        let _alone = self.lock(Hold::Alone).map_err(failed)?;
        disk::add_line(&path, session.as_os_str().as_bytes()).map_err(failed)
    }

    /// Where sessions lie usually.
    pub(crate) fn usual_sessions(&self) -> Option<PathBuf> {
        Some(self.0.parent()?.join("sessions"))
    }

    /// The file that lists sessions which lie elsewhere, a path on each line.
    pub(crate) fn elsewhere(&self) -> PathBuf {
        self.0.join(ELSEWHERE)
    }

    /// Waits for the lock on the directory.
    pub(crate) fn lock(&self, hold: Hold) -> io::Result<File> {
        disk::lock(&self.0.join(LOCK), hold)
    }

    /// The entry as it was said: pictures in the place of their names.
    pub(crate) fn restore(&self, body: &mut EntryBody, problems: &mut Vec<Problem>) {
        let mut get = |image: &mut ImageBlock| -> Result<(), std::convert::Infallible> {
            match self.get(&image.data) {
                Some(data) => image.data = data,
                None => problems.push(Problem::MissingBlob { blob: image.data.clone() }),
            }
            Ok(())
        };
        let Ok(()) = each_image(body, &|image| image.data.starts_with(PREFIX), &mut get);
    }

    fn put(&self, image: &mut ImageBlock) -> Result<(), StoreError> {
        let Ok(bytes) = STANDARD.decode(&image.data) else { return Ok(()) };
        if STANDARD.encode(&bytes) != image.data {
            return Ok(());
        }
        let name = sha256::hex(&bytes);
        let path = self.0.join(&name);
        let failed = |error| StoreError::io(&path, error);
        let _shared = self.lock(Hold::Shared).map_err(failed)?;
        if !disk::renew(&path).map_err(failed)? {
            write(&path, &bytes).map_err(failed)?;
        }
        image.data = format!("{PREFIX}{name}");
        Ok(())
    }

    fn get(&self, reference: &str) -> Option<String> {
        let name = reference.strip_prefix(PREFIX)?;
        let bytes = is_name(name.as_bytes()).then(|| std::fs::read(self.0.join(name)).ok())??;
        Some(STANDARD.encode(bytes))
    }
}

/// Whether this is how a picture's file is called.
pub(crate) fn is_name(name: &[u8]) -> bool {
    name.len() == 64 && name.iter().all(u8::is_ascii_hexdigit)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut draft = Draft::begin(path)?;
    draft.file().write_all(bytes)?;
    draft.replace().map(drop)
}

/// Calls `change` for every image of the entry that is `wanted`; a message without such stays shared.
fn each_image<E>(
    body: &mut EntryBody,
    wanted: &dyn Fn(&ImageBlock) -> bool,
    change: &mut dyn FnMut(&mut ImageBlock) -> Result<(), E>,
) -> Result<(), E> {
    match body {
        EntryBody::Message { message } => {
            if !images_of(message).any(wanted) {
                return Ok(());
            }
            let mut changed = Message::clone(message);
            for image in images_mut(&mut changed).filter(|image| wanted(image)) {
                change(image)?;
            }
            *message = Arc::new(changed);
        }
        EntryBody::CustomMessage(custom) => {
            for image in custom.content.iter_mut().filter_map(image_mut).filter(|image| wanted(image)) {
                change(image)?;
            }
        }
        EntryBody::ModelChange(_)
        | EntryBody::ThinkingLevelChange { .. }
        | EntryBody::ServiceTierChange { .. }
        | EntryBody::Compaction(_)
        | EntryBody::BranchSummary(_)
        | EntryBody::Custom { .. }
        | EntryBody::Label { .. }
        | EntryBody::TtsrInjection { .. }
        | EntryBody::ToolSelection { .. }
        | EntryBody::SessionInit { .. }
        | EntryBody::ModeChange { .. }
        | EntryBody::Pruning { .. }
        | EntryBody::SessionInfo { .. }
        | EntryBody::Other(_) => {}
    }
    Ok(())
}

fn images_of(message: &Message) -> Box<dyn Iterator<Item = &ImageBlock> + '_> {
    match message {
        Message::User(message) | Message::Developer(message) => Box::new(message.content.iter().filter_map(image)),
        Message::ToolResult(message) => Box::new(message.content.iter().filter_map(image)),
        Message::Custom(message) => Box::new(message.content.iter().filter_map(image)),
        Message::FileMention(message) => Box::new(message.files.iter().filter_map(|file| file.image.as_ref())),
        Message::Assistant(_)
        | Message::BashExecution(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_) => Box::new(std::iter::empty()),
    }
}

fn images_mut(message: &mut Message) -> Box<dyn Iterator<Item = &mut ImageBlock> + '_> {
    match message {
        Message::User(message) | Message::Developer(message) => {
            Box::new(message.content.iter_mut().filter_map(image_mut))
        }
        Message::ToolResult(message) => Box::new(message.content.iter_mut().filter_map(image_mut)),
        Message::Custom(message) => Box::new(message.content.iter_mut().filter_map(image_mut)),
        Message::FileMention(message) => Box::new(message.files.iter_mut().filter_map(|file| file.image.as_mut())),
        Message::Assistant(_)
        | Message::BashExecution(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_) => Box::new(std::iter::empty()),
    }
}

fn image(block: &UserBlock) -> Option<&ImageBlock> {
    match block {
        UserBlock::Image(image) => Some(image),
        UserBlock::Text(_) => None,
    }
}

fn image_mut(block: &mut UserBlock) -> Option<&mut ImageBlock> {
    match block {
        UserBlock::Image(image) => Some(image),
        UserBlock::Text(_) => None,
    }
}

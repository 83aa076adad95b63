//! What happens beside a conversation, such as a command of the user, and becomes part of it when it has ended.
//!
//! The invariant: it is added to the session that it was begun in, and to no other. There it is added at once when
//! nothing goes on, else when the run is over, never between a call and its result. A session that was left meanwhile
//! gets it in its file; where that is not there, or cannot be written any more, nobody gets it.

use super::Conversation;
use crate::agent::body_of;
use dryad_protocol::id::SessionId;
use dryad_protocol::message::Message;
use dryad_session::open::Opening;
use dryad_session::problem::OpenError;
use dryad_session::session::Session;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError};

/// The session that something was begun in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    session: SessionId,
    file: Option<PathBuf>,
}

/// What is to be added, and where.
pub(super) type HeldBack = Vec<(Origin, Arc<Message>)>;

impl Conversation {
    /// Where what is begun now will be added.
    pub fn origin(&self) -> Origin {
        self.with_session(|session| {
            let file = session.file().map(ToOwned::to_owned);
            Origin { session: session.id().clone(), file }
        })
    }

    /// Adds something that happened beside the conversation to the session that it was begun in: at once when nothing
    /// goes on there, else when the run is over. Cancel-safe: it is not forgotten.
    pub async fn add(&self, origin: Origin, message: Message) {
        let was_left = self.with_session(|session| *session.id() != origin.session);
        self.held_back().push((origin, Arc::new(message)));
        if was_left {
            // Another file has to be read for it.
            let conversation = self.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || conversation.add_to_left()).await {
                tracing::error!(%error, "what was begun in a session that was left is not recorded");
            }
        }
        self.add_if_idle();
    }

    /// Adds what was held back, if nothing goes on. Whoever holds something back and whoever stops working
    /// both ask for it, so that nothing is forgotten between the two.
    pub(super) fn add_if_idle(&self) {
        if self.inner.work.job().is_none() {
            self.add_held_back();
            self.add_to_left();
        }
    }

    /// Adds what was held back for this session.
    pub(super) fn add_held_back(&self) {
        let held = std::mem::take(&mut *self.held_back());
        let agent = &self.inner.agent;
        let other = held.into_iter().filter(|(origin, message)| !agent.remember_in(&origin.session, message));
        let other: HeldBack = other.collect();
        self.held_back().splice(0..0, other);
    }

    /// Adds what belongs to sessions that were left. What somebody else has open is tried again later.
    fn add_to_left(&self) {
        let here = self.with_session(|session| session.id().clone());
        let left: HeldBack = self.held_back().extract_if(.., |(origin, _)| origin.session != here).collect();
        for (origin, message) in left {
            match self.add_in_file(&origin, &message) {
                Err(OpenError::Locked(_)) => self.held_back().push((origin, message)),
                Err(error) => tracing::warn!(%error, "what was begun in a session that was left is not recorded"),
                Ok(()) => {}
            }
        }
    }

    fn add_in_file(&self, origin: &Origin, message: &Arc<Message>) -> Result<(), OpenError> {
        let Some(file) = &origin.file else { return Ok(()) };
        let now = self.inner.agent.clock.now();
        let opening = Opening { places: &self.inner.places, cwd: None, here: Path::new("/"), now };
        let _alone = self.opens_file();
        let mut session = Session::open(file, &opening)?;
        if session.is_stored() && *session.id() == origin.session {
            session.append(body_of(message), now);
            if let Err(error) = session.flush() {
                tracing::warn!(%error, "what was begun in a session that was left is not stored");
            }
        }
        Ok(())
    }

    /// Whoever opens a session's file has it alone: two who do so at once would find it locked.
    pub(super) fn opens_file(&self) -> MutexGuard<'_, ()> {
        self.inner.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held_back(&self) -> MutexGuard<'_, HeldBack> {
        self.inner.held_back.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

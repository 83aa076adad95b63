//! Hooks: asked before something is done with the session, told of it afterwards.
//!
//! ```text
//! before ─► cancelled: nothing is ended, nothing is changed, the method fails with `Blocked`
//!        └► go on: what goes on is ended ─► the change is made ─► after
//! ```
//!
//! The invariant: a hook is asked before the slot is taken, so that a run which is asked to end goes on when a
//! hook does not want it.

use super::{Conversation, ConversationError};
use dryad_protocol::event::CompactionReason;
use dryad_protocol::id::{EntryId, SessionId};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// Who is asked before something is done with a session, and told of it afterwards.
pub trait Hooks: Send + Sync {
    /// Asks whether it may be done. Nothing has been ended or changed yet.
    ///
    /// Dropping the future ends the question.
    fn before<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookAnswer>;

    /// Tells that it was done.
    fn after<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, ()>;
}

/// Whether something may be done.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum HookAnswer {
    /// It may.
    GoOn,
    /// It must not.
    Cancelled {
        /// Who says so, and why.
        reason: String,
    },
}

/// What is done with a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Occasion {
    /// Another session takes its place.
    Switch {
        /// Which kind of.
        reason: SwitchReason,
        /// The file that is opened or copied.
        target: Option<PathBuf>,
    },
    /// It goes on in a new session, before this entry.
    Branch {
        /// What the user said.
        entry: EntryId,
    },
    /// It goes on from this entry.
    Tree {
        /// Where to.
        entry: EntryId,
    },
    /// Room is made by a summary.
    Compact {
        /// Why.
        reason: CompactionReason,
    },
}

/// Which session takes the place of another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SwitchReason {
    /// An empty one.
    New,
    /// A copy.
    Fork,
    /// One that is there already.
    Resume,
}

/// What is done, and how things stand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookEvent {
    /// What is done.
    pub occasion: Occasion,
    /// The session; none before a program's first one.
    pub session_id: Option<SessionId>,
    /// Its file, or where that will be.
    pub session_file: Option<PathBuf>,
    /// The session before, where it is another one now.
    pub previous: Option<SessionId>,
    /// The directory it works in.
    pub cwd: PathBuf,
}

/// Something that no hook was against.
pub(super) struct Agreed {
    occasion: Occasion,
    session: SessionId,
}

/// Whether it is still to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moment {
    /// It is.
    Before,
    /// It was done.
    After,
}

impl HookEvent {
    /// The event's name.
    pub fn name(&self, moment: Moment) -> &'static str {
        match (&self.occasion, moment) {
            (Occasion::Switch { .. }, Moment::Before) => "before_switch",
            (Occasion::Switch { .. }, Moment::After) => "switch",
            (Occasion::Branch { .. }, Moment::Before) => "before_branch",
            (Occasion::Branch { .. }, Moment::After) => "branch",
            (Occasion::Tree { .. }, Moment::Before) => "before_tree",
            (Occasion::Tree { .. }, Moment::After) => "tree",
            (Occasion::Compact { .. }, Moment::Before) => "before_compact",
            (Occasion::Compact { .. }, Moment::After) => "compact",
        }
    }

    /// The event as an object; what is not known is left out.
    pub fn json(&self, moment: Moment) -> Value {
        let (reason, target) = match &self.occasion {
            Occasion::Switch { reason, target } => (json!(reason.as_str()), json!(target)),
            Occasion::Branch { entry } | Occasion::Tree { entry } => (Value::Null, json!(entry)),
            Occasion::Compact { reason } => (json!(reason), Value::Null),
        };
        let fields = [
            ("event", json!(self.name(moment))),
            ("reason", reason),
            ("sessionId", json!(self.session_id)),
            ("sessionFile", json!(self.session_file)),
            ("previousSessionId", json!(self.previous)),
            ("target", target),
            ("cwd", json!(self.cwd)),
        ];
        let known = fields.into_iter().filter(|(_, value)| !value.is_null());
        Value::Object(known.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
    }
}

impl SwitchReason {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Fork => "fork",
            Self::Resume => "resume",
        }
    }
}

impl Conversation {
    /// Does something that hooks are asked about first and told of afterwards.
    pub(super) async fn hooked<T>(
        &self,
        occasion: Occasion,
        work: impl Future<Output = Result<T, ConversationError>>,
    ) -> Result<T, ConversationError> {
        let agreed = self.ask_hooks(occasion).await?;
        let done = work.await;
        self.add_if_idle();
        let done = done?;
        self.tell_hooks(agreed).await;
        Ok(done)
    }

    /// Asks every hook, until nobody wants to know any more.
    pub(super) async fn ask_hooks_until(
        &self,
        occasion: Occasion,
        cancel: &CancellationToken,
    ) -> Result<Agreed, ConversationError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ConversationError::Cancelled),
            agreed = self.ask_hooks(occasion) => agreed,
        }
    }

    /// Tells every hook, until it is not waited for any more.
    pub(super) async fn tell_hooks_until(&self, agreed: Agreed, cancel: &CancellationToken) {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.tell_hooks(agreed) => {}
        }
    }

    async fn ask_hooks(&self, occasion: Occasion) -> Result<Agreed, ConversationError> {
        let session = self.with_session(|session| session.id().clone());
        let Some(hooks) = &self.inner.hooks else { return Ok(Agreed { occasion, session }) };
        match hooks.before(&self.hook_event(occasion.clone(), None)).await {
            HookAnswer::GoOn => Ok(Agreed { occasion, session }),
            HookAnswer::Cancelled { reason } => Err(ConversationError::Blocked { reason }),
        }
    }

    async fn tell_hooks(&self, agreed: Agreed) {
        let Some(hooks) = &self.inner.hooks else { return };
        let Agreed { occasion, session } = agreed;
        hooks.after(&self.hook_event(occasion, Some(session))).await;
    }

    fn hook_event(&self, occasion: Occasion, previous: Option<SessionId>) -> HookEvent {
        self.with_session(|session| HookEvent {
            occasion,
            session_id: Some(session.id().clone()),
            session_file: session.file().map(ToOwned::to_owned),
            previous: previous.filter(|previous| previous != session.id()),
            cwd: session.cwd().to_owned(),
        })
    }
}

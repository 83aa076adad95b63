//! Other sessions, and other places in this one.
//!
//! Hooks are asked first, while a run goes on. Then whatever changes the session ends the run, so that its closing
//! events are told of the session it belongs to. What fails leaves the conversation where it was.

use super::hooks::{Occasion, SwitchReason};
use super::work::{Busy, Job};
use super::{Conversation, ConversationError, Equipment, Standing};
use crate::offer::Offer;
use dryad_protocol::entry::{BranchSummary, TitleSource};
use dryad_protocol::id::EntryId;
use dryad_session::kind::Kind;
use dryad_session::open::Opening;
use dryad_session::operations::OperationError;
use dryad_session::session::Session;
use std::path::Path;
use std::sync::PoisonError;

/// Where a conversation goes on that was branched off.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Branched {
    /// What the user said there, to be edited and said anew.
    pub text: String,
}

/// Where a conversation goes on after a step through its tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Navigated {
    /// What was said there by hand, to be edited and said anew.
    pub text: Option<String>,
    /// The entry that tells what was left, when that was asked for and anything was said there.
    pub summary: Option<EntryId>,
}

/// Whether what is left behind is told where the conversation goes on.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Summary {
    /// It is not.
    #[default]
    Skip,
    /// The model writes a summary.
    Make {
        /// What the user wants it to tell in particular.
        wishes: Option<String>,
    },
}

/// What becomes of messages that wait when the session changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Waiting {
    /// They were meant for the session that is left.
    Forgotten,
    /// The same work goes on.
    Kept,
}

impl Conversation {
    /// Begins a new session, stored as the current one is. `parent` is what it came from: an id or a path.
    ///
    /// # Errors
    ///
    /// When a hook is against it, or what it works with cannot be put together.
    pub async fn new_session(&self, parent: Option<String>) -> Result<(), ConversationError> {
        let occasion = Occasion::Switch { reason: SwitchReason::New, target: None };
        let begin = async {
            let busy = self.inner.work.take_over(Job::Change).await;
            self.install(&busy, self.fresh_session(parent), Waiting::Forgotten)
        };
        self.hooked(occasion, begin).await
    }

    /// A session that is stored as the current one is.
    pub(super) fn fresh_session(&self, parent: Option<String>) -> Session {
        let now = self.inner.agent.clock.now();
        self.with_session(|current| match current.file() {
            Some(_) => Session::create(&self.inner.places, current.cwd(), parent, now),
            None => Session::in_memory(current.cwd(), now),
        })
    }

    /// Carries on the session of another file. Where no file is, a new session is stored there.
    ///
    /// # Errors
    ///
    /// When a hook is against it, the file cannot be opened or is no session (it is left alone then), or nothing can
    /// be stored there.
    pub async fn switch(&self, path: &Path) -> Result<(), ConversationError> {
        let occasion = Occasion::Switch { reason: SwitchReason::Resume, target: Some(path.to_owned()) };
        self.hooked(occasion, self.carry_on(path)).await
    }

    async fn carry_on(&self, path: &Path) -> Result<(), ConversationError> {
        let busy = self.inner.work.take_over(Job::Change).await;
        let (same, here) = self.with_session(|current| (is_same(current, path), current.cwd().to_owned()));
        if same {
            self.forget_waiting();
            self.restore(Standing::Default, Standing::Default);
            return Ok(());
        }
        let now = self.inner.agent.clock.now();
        let opening = Opening { places: &self.inner.places, cwd: None, here: &here, now };
        let mut session = {
            let _alone = self.opens_file();
            Session::open(path, &opening)?
        };
        // Where nothing can be stored, the conversation does not go on.
        session.ensure_stored()?;
        self.install(&busy, session, Waiting::Forgotten)
    }

    /// Goes on in a new session with everything that is in this one.
    ///
    /// # Errors
    ///
    /// [`ConversationError::Busy`] while something goes on; when a hook is against it; or when the session is
    /// held in memory only.
    pub async fn fork(&self) -> Result<(), ConversationError> {
        if self.inner.work.job().is_some() {
            return Err(ConversationError::Busy);
        }
        let copy = async {
            let busy = self.inner.work.try_begin(Job::Change).ok_or(ConversationError::Busy)?;
            let now = self.inner.agent.clock.now();
            let fork = self.with_session(|current| current.fork(current.cwd(), now))?;
            self.install(&busy, fork, Waiting::Forgotten)
        };
        self.hooked(self.copying(), copy).await
    }

    /// Goes on in a new session with the current branch alone.
    ///
    /// # Errors
    ///
    /// When a hook is against it, or the new session cannot be stored.
    pub async fn clone_branch(&self) -> Result<(), ConversationError> {
        let copy = async {
            let busy = self.inner.work.take_over(Job::Change).await;
            let now = self.inner.agent.clock.now();
            let clone = self.with_session(|current| current.clone_branch(now))?;
            self.install(&busy, clone, Waiting::Forgotten)
        };
        self.hooked(self.copying(), copy).await
    }

    fn copying(&self) -> Occasion {
        let target = self.with_session(|current| current.file().map(ToOwned::to_owned));
        Occasion::Switch { reason: SwitchReason::Fork, target }
    }

    /// Goes on in a new session that ends before what the user said at an entry, and gives that text back.
    ///
    /// # Errors
    ///
    /// When the entry is not a user's message, a hook is against it, or the new session cannot be stored.
    pub async fn branch(&self, entry: &EntryId) -> Result<Branched, ConversationError> {
        let is_prompt = |session: &Session| session.tree().get(entry).is_some_and(|node| node.kind == Kind::User);
        if !self.with_session(is_prompt) {
            return Err(OperationError::NotAPrompt.into());
        }
        let branch = async {
            let busy = self.inner.work.take_over(Job::Change).await;
            let now = self.inner.agent.clock.now();
            let (session, text) = self.with_session(|current| current.branch_off(entry, now))?;
            self.install(&busy, session, Waiting::Forgotten)?;
            Ok(Branched { text })
        };
        self.hooked(Occasion::Branch { entry: entry.clone() }, branch).await
    }

    /// Steps through the tree of this session: before what was said by hand, which comes back as text, or
    /// to any other entry. With a summary, what is left behind is told there.
    ///
    /// # Errors
    ///
    /// When there is no such entry, a hook is against it, or the summary could not be made or was cancelled;
    /// the conversation is where it was then.
    pub async fn navigate(&self, to: &EntryId, summary: Summary) -> Result<Navigated, ConversationError> {
        self.navigate_as(to, summary, (Standing::Default, Standing::Default)).await
    }

    /// The same at the beginning of a program: the model and the thinking level that the user asked for hold
    /// whatever the session says there.
    ///
    /// # Errors
    ///
    /// As [`Conversation::navigate`].
    pub async fn begin_at(&self, to: &EntryId, summary: Summary) -> Result<Navigated, ConversationError> {
        self.navigate_as(to, summary, self.inner.standing).await
    }

    async fn navigate_as(
        &self,
        to: &EntryId,
        summary: Summary,
        standing: (Standing, Standing),
    ) -> Result<Navigated, ConversationError> {
        self.with_session(|session| session.step(to).map(drop))?;
        let step = async {
            let busy = self.inner.work.take_over(Job::Change).await;
            let told = match summary {
                Summary::Skip => None,
                Summary::Make { wishes } => self.summarise_left(&busy, to, wishes.as_deref()).await?,
            };
            let navigated = self.step_to(to, told)?;
            self.forget_waiting();
            self.restore(standing.0, standing.1);
            Ok(navigated)
        };
        self.hooked(Occasion::Tree { entry: to.clone() }, step).await
    }

    fn step_to(&self, to: &EntryId, told: Option<BranchSummary>) -> Result<Navigated, ConversationError> {
        let now = self.inner.agent.clock.now();
        let session = &mut self.live().session;
        let text = session.navigate(to)?.text;
        let leaf = session.leaf().cloned();
        let summary = match told {
            Some(told) => Some(session.branch_with_summary(leaf.as_ref(), told, now)?),
            None => None,
        };
        Ok(Navigated { text, summary })
    }

    /// Names an entry, or takes its name away.
    ///
    /// # Errors
    ///
    /// When there is no such entry.
    pub fn set_label(&self, entry: &EntryId, label: Option<&str>) -> Result<(), ConversationError> {
        let now = self.inner.agent.clock.now();
        Ok(self.live().session.set_label(entry, label, now)?)
    }

    /// Names the session, on the user's behalf or the program's own.
    ///
    /// # Errors
    ///
    /// When the name is empty, or cannot be stored.
    pub fn set_name(&self, name: &str, source: TitleSource) -> Result<(), ConversationError> {
        let now = self.inner.agent.clock.now();
        Ok(self.live().session.set_name(name, source, now)?)
    }

    /// Waits until everything is on disk.
    ///
    /// # Errors
    ///
    /// When anything could not be stored, now or earlier.
    pub fn flush(&self) -> Result<(), ConversationError> {
        Ok(self.live().session.flush()?)
    }

    /// Stores a session that has nothing worth storing yet.
    ///
    /// # Errors
    ///
    /// When it cannot be stored.
    pub fn ensure_stored(&self) -> Result<(), ConversationError> {
        Ok(self.live().session.ensure_stored()?)
    }

    /// Goes on in another session.
    pub(super) fn install(&self, _busy: &Busy, session: Session, waiting: Waiting) -> Result<(), ConversationError> {
        let Equipment { pipeline, system_prompt } =
            self.inner.bench.equip(&session).map_err(ConversationError::Bench)?;
        if let Some(add) = self.inner.equipping.get() {
            add(&pipeline);
        }
        self.add_held_back();
        {
            let live = &mut *self.live();
            if let Err(error) = live.session.flush() {
                tracing::warn!(%error, "the session that is left is not stored whole");
            }
            live.cache_key = Some(session.id().as_str().into());
            (live.session, live.pipeline, live.system_prompt) = (session, pipeline, system_prompt.into());
            live.offer = Offer::default();
        }
        *self.inner.answered_before.lock().unwrap_or_else(PoisonError::into_inner) = None;
        match waiting {
            Waiting::Forgotten => self.forget_waiting(),
            Waiting::Kept => {}
        }
        self.restore(Standing::Default, Standing::Default);
        Ok(())
    }
}

/// Whether a path names the file of this session.
fn is_same(session: &Session, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    session.file().is_some_and(|file| real(file) == real(path))
}

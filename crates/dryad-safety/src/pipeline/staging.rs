//! What is staged instead of done, and how.

use super::record::Doer;
use super::{Done, Judged, Pipeline, Refusal, Way};
use crate::gate::Origin;
use crate::plan::{Contents, Effect};
use crate::preview;
use crate::rehearsal::Rehearsed;
use crate::spec::SafetyLevel;
use crate::tool::ToolError;
use dryad_protocol::action::{ActionBody, PendingAction, Preview, Resolver};
use dryad_protocol::call::ToolResult;
use dryad_protocol::change_set::ChangeSet;
use dryad_protocol::command::CommandSpec;
use dryad_protocol::id::ActionId;
use dryad_protocol::image::Image;
use dryad_protocol::operation::CallEnd;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Which calls are staged without their tool asking for it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoPreview {
    /// None.
    #[default]
    Off,
    /// Those that may destroy something.
    Destructive,
    /// All that can be previewed.
    All,
}

/// What is staged without its tool asking for it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Staging {
    /// Which calls.
    pub auto_preview: AutoPreview,
    /// Who resolves them.
    pub resolver: Resolver,
    /// Whether a question that nobody can answer now is kept for a person instead of refused.
    pub keeps_questions: bool,
}

impl Pipeline {
    /// Stages the effect if its tool, the settings or an open question ask for it.
    pub(super) async fn stage_if_asked(
        &self,
        way: Way<'_>,
        effect: &Effect,
        judged: Judged,
        proposal: Option<(ToolResult, String)>,
    ) -> Result<Option<Done>, Refusal> {
        let question = self.question(effect, judged)?;
        if question.is_none() && proposal.is_none() && !self.is_auto_staged(way, effect) {
            return Ok(None);
        }
        let preview = preview::of(effect, self.workdir_of(way.context)).await?;
        let (own_preview, own_label) = proposal.unzip();
        let action = self.action(way, body_of(effect)?, preview, question.as_ref(), own_label);
        self.keep(&action, effect).await?;
        Ok(Some(staged(&action, question.as_ref(), own_preview)))
    }

    /// Stages what a command has changed in a rehearsal; without any changes, the command itself.
    pub(super) async fn stage_rehearsed(
        &self,
        way: Way<'_>,
        command: CommandSpec,
        rehearsed: Rehearsed,
        foretold: (Preview, ToolResult),
        question: Option<Question>,
    ) -> Result<Done, Refusal> {
        let (preview, result) = foretold;
        let label = self.label(way.tool.spec(), &Effect::Command(command.clone()));
        let facts = self.facts(&command, &rehearsed);
        let has_changes = !rehearsed.changes.is_empty();
        let body = if has_changes { ActionBody::Files { result } } else { ActionBody::Command { command } };
        let mut action = self.action(way, body, preview, question.as_ref(), Some(label));
        action.audit.metadata.extend(facts);
        let (pending, kept) = (self.pending.clone(), action.clone());
        let keep = move || match has_changes {
            true => pending.stage_rehearsed(&kept, &rehearsed),
            false => pending.stage(&kept, None),
        };
        let kept = tokio::task::spawn_blocking(keep).await;
        let kept = kept.map_err(|error| super::planning::crashed("staging", error))?;
        kept.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(staged(&action, question.as_ref(), None))
    }

    /// Keeps a command that nobody could rehearse.
    pub(super) async fn stage_unrehearsed(
        &self,
        way: Way<'_>,
        effect: &Effect,
        question: Question,
    ) -> Result<Done, Refusal> {
        let preview = preview::of(effect, self.workdir_of(way.context)).await?;
        let action = self.action(way, body_of(effect)?, preview, Some(&question), None);
        self.keep(&action, effect).await?;
        Ok(staged(&action, Some(&question), None))
    }

    /// The question that stays open, if it can wait for a person. One that cannot is a denial.
    pub(super) fn question(&self, effect: &Effect, judged: Judged) -> Result<Option<Question>, Refusal> {
        match judged {
            Judged::Allowed => Ok(None),
            Judged::Open(reason, tool) if self.staging.keeps_questions && can_wait(effect) => {
                Ok(Some(Question { reason, tool }))
            }
            open @ Judged::Open(..) => Err(open.allowed().err().unwrap_or_else(|| ToolError::aborted().into())),
        }
    }

    pub(super) fn is_auto_staged(&self, way: Way<'_>, effect: &Effect) -> bool {
        let spec = way.tool.spec();
        if way.origin != Origin::Call || spec.capability.safety_level() != SafetyLevel::Previewable {
            return false;
        }
        match self.staging.auto_preview {
            AutoPreview::Off => false,
            AutoPreview::Destructive => spec.metadata.destructive || destroys(effect),
            AutoPreview::All => true,
        }
    }

    fn action(
        &self,
        way: Way<'_>,
        body: ActionBody,
        mut preview: Preview,
        question: Option<&Question>,
        label: Option<String>,
    ) -> PendingAction {
        preview.text = self.surroundings.mask.text(&preview.text).into_owned();
        preview.would_affect = self.surroundings.mask.text(&preview.would_affect).into_owned();
        let tool = &way.tool.spec().name;
        let label = label.unwrap_or_else(|| format!("{tool}: {}", preview.would_affect));
        PendingAction {
            id: ActionId::from(crate::oplog::new_id().as_str()),
            operation_id: crate::oplog::new_id(),
            label,
            source_tool_name: tool.clone(),
            resolver: if question.is_some() { Resolver::User } else { self.staging.resolver },
            reason: question.map(|question| question.reason.clone()),
            preview,
            timestamp: self.clock.now(),
            session_id: self.session_id.clone(),
            message_id: way.call.message_id.clone(),
            call_id: Some(way.call.id.clone()),
            audit: self.audit(&Doer::of_call(way)),
            body,
        }
    }

    async fn keep(&self, action: &PendingAction, effect: &Effect) -> Result<(), ToolError> {
        let files: Option<(ChangeSet, Contents)> = match effect {
            Effect::Files(files) => Some((files.changes.clone(), files.contents.clone())),
            Effect::Command(_) | Effect::Foreign(_) | Effect::Resolve(_) => None,
        };
        let (pending, action) = (self.pending.clone(), action.clone());
        let staged = tokio::task::spawn_blocking(move || {
            pending.stage(&action, files.as_ref().map(|(changes, contents)| (changes, contents)))
        });
        let staged = staged.await.map_err(|error| super::planning::crashed("staging", error))?;
        staged.map_err(|error| ToolError::new(error.to_string()))
    }
}

/// A question that nobody has answered.
#[derive(Clone, Debug)]
pub(super) struct Question {
    reason: String,
    tool: String,
}

fn body_of(effect: &Effect) -> Result<ActionBody, ToolError> {
    match effect {
        Effect::Files(files) => Ok(ActionBody::Files { result: files.result.clone() }),
        Effect::Command(command) => Ok(ActionBody::Command { command: command.clone() }),
        Effect::Foreign(foreign) => Ok(ActionBody::Foreign { arguments: foreign.arguments.clone() }),
        Effect::Resolve(_) => Err(ToolError::new("a resolution cannot be staged")),
    }
}

fn staged(action: &PendingAction, question: Option<&Question>, own_preview: Option<ToolResult>) -> Done {
    match question {
        Some(question) => kept_for_user(action, &question.reason, &question.tool),
        None => previewed(action, own_preview),
    }
}

/// Whether somebody can resolve it later, in another process too.
fn can_wait(effect: &Effect) -> bool {
    match effect {
        Effect::Files(_) | Effect::Command(_) => true,
        Effect::Foreign(_) | Effect::Resolve(_) => false,
    }
}

/// Whether something that is there is gone afterwards.
fn destroys(effect: &Effect) -> bool {
    match effect {
        Effect::Files(files) => files.changes.iter().any(|change| {
            let kinds = (&change.before, &change.after);
            matches!(kinds, (Image::File(_) | Image::Symlink { .. } | Image::Directory { .. }, Image::Absent))
        }),
        Effect::Command(_) | Effect::Foreign(_) | Effect::Resolve(_) => false,
    }
}

fn previewed(action: &PendingAction, own: Option<ToolResult>) -> Done {
    let mut result = own.unwrap_or_else(|| {
        let Preview { would_affect, text, .. } = &action.preview;
        ToolResult::text(format!("Preview of {}: this will touch {would_affect}\n\n{text}", action.source_tool_name))
    });
    add_details(&mut result, action);
    Done { end: CallEnd::Staged, ..Done::answer(result) }
}

fn kept_for_user(action: &PendingAction, reason: &str, tool: &str) -> Done {
    let id = &action.id;
    let text = format!(
        "Permission denied for tool \"{tool}\": {reason}. It waits for the user as pending action {id}: \
         `dryad apply {id}` does it, `dryad discard {id}` drops it"
    );
    let mut result = ToolResult::error(text);
    add_details(&mut result, action);
    Done { end: CallEnd::Staged, ..Done::answer(result) }
}

fn add_details(result: &mut ToolResult, action: &PendingAction) {
    let pending = json!({"id": action.id, "label": action.label, "resolver": action.resolver});
    match result.details.get_or_insert_with(|| json!({})).as_object_mut() {
        Some(details) => drop(details.insert("pendingAction".to_owned(), pending)),
        None => result.details = Some(json!({"pendingAction": pending})),
    }
}

//! What is staged instead of done, and how.

use super::record::Doer;
use super::{Done, Judged, Pipeline, Refusal, Way};
use crate::gate::Origin;
use crate::plan::{Contents, Effect};
use crate::preview;
use crate::spec::SafetyLevel;
use crate::tool::ToolError;
use dryad_protocol::action::{ActionBody, PendingAction, Preview, Resolver};
use dryad_protocol::call::ToolResult;
use dryad_protocol::change_set::ChangeSet;
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
        let question = match judged {
            Judged::Allowed => None,
            Judged::Open(reason, tool) if self.staging.keeps_questions && can_wait(effect) => Some((reason, tool)),
            open @ Judged::Open(..) => return Err(open.allowed().err().unwrap_or_else(|| ToolError::aborted().into())),
        };
        if question.is_none() && proposal.is_none() && !self.is_auto_staged(way, effect) {
            return Ok(None);
        }
        let preview = preview::of(effect, self.workdir_of(way.context)).await?;
        let resolver = if question.is_some() { Resolver::User } else { self.staging.resolver };
        let reason = question.as_ref().map(|(reason, _)| reason.clone());
        let (own_preview, own_label) = proposal.unzip();
        let action = self.action(way, effect, preview, resolver, reason, own_label)?;
        self.keep(&action, effect).await?;
        Ok(Some(match question {
            Some((reason, tool)) => kept_for_user(&action, &reason, &tool),
            None => previewed(&action, own_preview),
        }))
    }

    fn is_auto_staged(&self, way: Way<'_>, effect: &Effect) -> bool {
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
        effect: &Effect,
        mut preview: Preview,
        resolver: Resolver,
        reason: Option<String>,
        label: Option<String>,
    ) -> Result<PendingAction, ToolError> {
        preview.text = self.surroundings.mask.text(&preview.text).into_owned();
        preview.would_affect = self.surroundings.mask.text(&preview.would_affect).into_owned();
        let body = match effect {
            Effect::Files(files) => ActionBody::Files { result: files.result.clone() },
            Effect::Command(command) => ActionBody::Command { command: command.clone() },
            Effect::Foreign(foreign) => ActionBody::Foreign { arguments: foreign.arguments.clone() },
            Effect::Resolve(_) => return Err(ToolError::new("a resolution cannot be staged")),
        };
        let tool = &way.tool.spec().name;
        let label = label.unwrap_or_else(|| format!("{tool}: {}", preview.would_affect));
        Ok(PendingAction {
            id: ActionId::from(crate::oplog::new_id().as_str()),
            operation_id: crate::oplog::new_id(),
            label,
            source_tool_name: tool.clone(),
            resolver,
            reason,
            preview,
            timestamp: self.clock.now(),
            session_id: self.session_id.clone(),
            message_id: way.call.message_id.clone(),
            call_id: Some(way.call.id.clone()),
            audit: self.audit(&Doer::of_call(way)),
            body,
        })
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

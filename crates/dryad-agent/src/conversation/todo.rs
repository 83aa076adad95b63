//! How the list of what is to be done leads the model.

use super::Conversation;
use crate::todos::TOOL;
use dryad_protocol::content::UserBlock;
use dryad_protocol::event::GuideEvent;
use dryad_protocol::message::{Message, UserMessage};
use dryad_protocol::todo::{TodoStorage, TodoTask};
use dryad_provider::request::ToolChoice;
use dryad_safety::choice_queue::Choice;
use dryad_session::kind::Kind;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// Told before the first prompt, where the list is to be written first.
const PRELUDE: &str =
    "<system-reminder>\nBegin by writing down the steps of this with `todo_write`.\n</system-reminder>";

/// Ends a task when it is dropped.
pub(super) struct Keeper(AbortHandle);

impl Keeper {
    pub(super) fn new(task: AbortHandle) -> Self {
        Self(task)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Conversation {
    /// Starts taking finished tasks off the list, where that is wanted and something runs tasks.
    pub(super) fn keep_todos(&self) -> Option<Keeper> {
        let delay = self.settings().todo.clear_delay?;
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let (todos, sink) = (self.inner.todos.clone(), self.inner.agent.sink.clone());
        Some(Keeper::new(runtime.spawn(todos.clear_finished(sink, delay)).abort_handle()))
    }

    /// Whether the list is remembered with the session.
    pub(super) fn todo_storage(&self) -> TodoStorage {
        self.with_session(|session| if session.file().is_some() { TodoStorage::Session } else { TodoStorage::Memory })
    }

    /// What the model left undone, when it is to be reminded of it once more.
    pub(super) fn left_undone(&self, reminders: u32) -> Option<Vec<TodoTask>> {
        let settings = self.settings().todo.clone();
        if !settings.reminders || reminders >= settings.max_reminders || self.live().tool_choice != ToolChoice::Auto {
            return None;
        }
        Some(self.inner.todos.open_tasks()).filter(|tasks| !tasks.is_empty())
    }

    /// Reminds the model of what it left undone. People see the event, the model the message.
    pub(super) fn remind(&self, tasks: &[TodoTask], attempt: u32) {
        let max_attempts = self.settings().todo.max_reminders;
        self.inner.agent.emit(GuideEvent::TodoReminder { todos: tasks, attempt, max_attempts });
        let lines: Vec<_> = tasks.iter().map(|task| format!("- {}: {}", task.id, task.content)).collect();
        let text = format!(
            "<system-reminder>\nYou stopped, but the todo list has open tasks:\n{}\n\nGo on with them. If one is done or \
             no longer needed, mark it with `{TOOL}`. If you need the user, say what for. (Reminder {attempt} of \
             {max_attempts})\n</system-reminder>",
            lines.join("\n")
        );
        self.inner.agent.remember(&self.developer(&text));
    }

    /// Has the model write the list first, where that is wanted. What goes before the prompt.
    pub(super) fn todo_prelude(&self, prompt: &UserMessage) -> Option<Arc<Message>> {
        let text: String = prompt.content.iter().filter_map(UserBlock::as_text).collect();
        let first = self.with_session(|session| !session.tree().branch().iter().any(|node| node.kind == Kind::User));
        let pipeline = self.pipeline();
        let wanted = self.settings().todo.eager && first && !text.trim_end().ends_with(['?', '!']);
        if !wanted || pipeline.registry.get(TOOL).is_none() {
            return None;
        }
        pipeline.pending.choices(|choices| choices.push_once("todo-eager", Choice::Tool(TOOL.to_owned()), false));
        Some(self.inner.agent.hidden("todo-prelude", PRELUDE, None))
    }
}

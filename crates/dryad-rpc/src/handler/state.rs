//! What there is, and what the host brings along.

use crate::command::StateCommand;
use crate::data::{Todos, ToolNames};
use crate::desk::Desk;
use crate::outbox::UpdateMode;
use crate::response::Reply;
use dryad_agent::conversation::State;
use serde_json::value::RawValue;
use std::sync::{Arc, Mutex, PoisonError};

/// The state as a host was told it last.
#[derive(Default)]
pub(crate) struct ToldState {
    last: Mutex<Option<(State, Arc<RawValue>)>>,
}

impl ToldState {
    /// The state as JSON, written anew only when it has changed: hosts ask often, and it is long.
    fn tell(&self, state: State) -> Reply {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, told)) = &*last
            && of.is_same(&state)
        {
            return Reply::Data(told.clone());
        }
        let reply = Reply::data(&state);
        if let Reply::Data(told) = &reply {
            *last = Some((state, told.clone()));
        }
        reply
    }
}

pub(crate) fn handle(desk: &Desk, command: StateCommand) -> Reply {
    match command {
        StateCommand::GetState => desk.told_state.tell(desk.conversation.state()),
        StateCommand::SetTodos { phases } => Reply::data(&Todos { todo_phases: desk.conversation.set_todos(phases) }),
        StateCommand::SetHostTools { tools } => match desk.host_tools.replace(tools, &desk.conversation.pipeline()) {
            Ok(tool_names) => Reply::data(&ToolNames { tool_names }),
            Err(error) => Reply::Threw(error.to_string()),
        },
        StateCommand::SetUpdateMode { mode } => match mode.known("mode", &UpdateMode::ALL) {
            Ok(mode) => {
                desk.outbox.set_update_mode(mode);
                Reply::Done
            }
            Err(error) => Reply::Refused(error),
        },
        StateCommand::SetLocale { locale: _ } => Reply::Done,
    }
}

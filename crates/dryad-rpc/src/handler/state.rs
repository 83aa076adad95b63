//! What there is, and what the host brings along.

use crate::command::StateCommand;
use crate::data::{Todos, ToolNames};
use crate::desk::Desk;
use crate::outbox::UpdateMode;
use crate::response::Reply;

pub(crate) fn handle(desk: &Desk, command: StateCommand) -> Reply {
    match command {
        StateCommand::GetState => Reply::data(&desk.conversation.state()),
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

//! The context, and requests that are made again.

use crate::command::ContextCommand;
use crate::desk::Desk;
use crate::response::Reply;

pub(crate) async fn handle(desk: &Desk, command: ContextCommand) -> Reply {
    let conversation = &desk.conversation;
    match command {
        ContextCommand::Compact { custom_instructions } => {
            desk.dialogs.withdraw_all();
            match conversation.compact(custom_instructions.as_deref()).await {
                Ok(compaction) => Reply::data(&compaction),
                Err(error) => Reply::Threw(error.to_string()),
            }
        }
        ContextCommand::SetAutoCompaction { enabled } => {
            conversation.set_auto_compaction(enabled);
            Reply::Done
        }
        ContextCommand::SetAutoRetry { enabled } => {
            conversation.set_auto_retry(enabled);
            Reply::Done
        }
        ContextCommand::AbortRetry => {
            conversation.abort_retry();
            Reply::Done
        }
    }
}

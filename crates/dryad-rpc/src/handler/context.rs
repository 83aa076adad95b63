//! The context, and requests that are made again.

use crate::command::ContextCommand;
use crate::desk::Desk;
use crate::response::Reply;
use dryad_agent::conversation::ConversationError;

pub(crate) async fn handle(desk: &Desk, command: ContextCommand) -> Reply {
    let conversation = &desk.conversation;
    match command {
        ContextCommand::Compact { custom_instructions } => {
            let compacted = conversation.compact(custom_instructions.as_deref()).await;
            if !matches!(compacted, Err(ConversationError::Blocked { .. })) {
                desk.dialogs.withdraw_all();
            }
            match compacted {
                Ok(compaction) => Reply::data(&compaction),
                Err(error @ ConversationError::Blocked { .. }) => Reply::Refused(error.to_string()),
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

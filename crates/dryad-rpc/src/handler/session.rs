//! The conversation and its file.

use super::safety;
use crate::command::SessionCommand;
use crate::data::{
    BranchMessages, Branched, Changed, Commands, Exported, LastText, Messages, Navigated, SessionStats, SessionTree,
};
use crate::desk::Desk;
use crate::response::Reply;
use dryad_agent::conversation::{ConversationError, Summary};
use dryad_protocol::entry::TitleSource;
use dryad_protocol::id::EntryId;
use dryad_session::kind::Kind;
use dryad_session::stats::Scope;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) async fn handle(desk: &Arc<Desk>, command: SessionCommand) -> Reply {
    let conversation = &desk.conversation;
    match command {
        SessionCommand::NewSession { parent_session } => changed(desk, conversation.new_session(parent_session).await),
        SessionCommand::SwitchSession { session_path } if session_path.is_empty() => {
            Reply::Refused("sessionPath is empty".to_owned())
        }
        SessionCommand::SwitchSession { session_path } => {
            let path = conversation.pipeline().workdir.join(session_path);
            changed(desk, conversation.switch(&path).await)
        }
        SessionCommand::Branch { entry_id, undo } => branch(desk, entry_id, undo.unwrap_or(false)).await,
        SessionCommand::Clone => changed(desk, conversation.clone_branch().await),
        SessionCommand::NavigateTree { entry_id, summarize, custom_instructions } => {
            let summary = match summarize.unwrap_or(false) {
                true => Summary::Make { wishes: custom_instructions },
                false => Summary::Skip,
            };
            navigate(desk, entry_id, summary).await
        }
        SessionCommand::SetLabel { entry_id, label } => set_label(desk, entry_id, label.as_deref()),
        SessionCommand::GetTree => tree(desk).await,
        SessionCommand::GetBranchMessages => Reply::data(&BranchMessages { messages: conversation.branch_messages() }),
        SessionCommand::GetSessionStats => {
            let (stats, usage) = (conversation.stats(Scope::Context), conversation.context_usage());
            Reply::data(&SessionStats::new(stats, usage))
        }
        SessionCommand::ExportHtml { output_path } => export(desk, output_path).await,
        SessionCommand::GetLastAssistantText => Reply::data(&LastText { text: conversation.last_assistant_text() }),
        SessionCommand::SetSessionName { name } => match conversation.set_name(&plain(&name), TitleSource::User) {
            Ok(()) => Reply::Done,
            Err(error) => Reply::Refused(error.to_string()),
        },
        SessionCommand::GetMessages => Reply::data(&Messages { messages: conversation.messages() }),
        SessionCommand::GetCommands => Reply::data(&Commands { commands: Vec::new() }),
    }
}

fn changed(desk: &Desk, outcome: Result<(), ConversationError>) -> Reply {
    match outcome {
        Ok(()) => {
            desk.session_changed();
            Reply::data(&Changed { cancelled: false })
        }
        Err(ConversationError::Blocked { reason }) => {
            desk.notify_blocked(&reason);
            Reply::data(&Changed { cancelled: true })
        }
        Err(error) => Reply::Threw(error.to_string()),
    }
}

async fn branch(desk: &Desk, entry_id: String, undo: bool) -> Reply {
    let entry = EntryId::from(entry_id);
    let said = if undo { said_since(desk, &entry) } else { Vec::new() };
    let branched = match desk.conversation.branch(&entry).await {
        Ok(branched) => branched,
        Err(ConversationError::Blocked { reason }) => {
            desk.notify_blocked(&reason);
            return Reply::data(&Branched { text: String::new(), cancelled: true, undone: None });
        }
        Err(error) => return Reply::Threw(error.to_string()),
    };
    desk.session_changed();
    let undone = match undo {
        true => match safety::undo_messages(desk, said).await {
            Ok(undone) => Some(undone),
            Err(error) => {
                return Reply::Refused(format!("the session was branched, but not everything undone: {error}"));
            }
        },
        false => None,
    };
    Reply::data(&Branched { text: branched.text, cancelled: false, undone })
}

async fn navigate(desk: &Desk, entry_id: String, summary: Summary) -> Reply {
    let nowhere = Navigated { text: None, cancelled: true, summary_entry_id: None };
    match desk.conversation.navigate(&EntryId::from(entry_id), summary).await {
        Ok(navigated) => {
            desk.place_changed();
            let (text, summary_entry_id) = (navigated.text, navigated.summary);
            Reply::data(&Navigated { text, cancelled: false, summary_entry_id })
        }
        Err(ConversationError::Blocked { reason }) => {
            desk.notify_blocked(&reason);
            Reply::data(&nowhere)
        }
        Err(ConversationError::Cancelled) => Reply::data(&nowhere),
        Err(error) => Reply::Refused(error.to_string()),
    }
}

fn set_label(desk: &Desk, entry_id: String, label: Option<&str>) -> Reply {
    let labelled = desk.conversation.set_label(&EntryId::from(entry_id), label);
    match labelled.and_then(|()| desk.conversation.flush()) {
        Ok(()) => Reply::Done,
        Err(error) => Reply::Refused(error.to_string()),
    }
}

/// Every entry may have to be read for it.
async fn tree(desk: &Desk) -> Reply {
    let conversation = desk.conversation.clone();
    let read = tokio::task::spawn_blocking(move || conversation.with_session(SessionTree::of)).await;
    match read {
        Ok(tree) => Reply::data(&tree),
        Err(error) => Reply::Refused(error.to_string()),
    }
}

/// What the user has said at an entry and after it, on all branches.
fn said_since(desk: &Desk, entry: &EntryId) -> Vec<String> {
    desk.conversation.with_session(|session| {
        let nodes = session.tree().subtree(entry).unwrap_or_default();
        let said = nodes.iter().filter(|node| node.kind == Kind::User);
        said.map(|node| node.id.as_str().to_owned()).collect()
    })
}

async fn export(desk: &Arc<Desk>, output_path: Option<String>) -> Reply {
    let (program, conversation) = (desk.program.clone(), desk.conversation.clone());
    let path = output_path.filter(|path| !path.is_empty()).map(PathBuf::from);
    let exported = tokio::task::spawn_blocking(move || program.export_html(&conversation, path)).await;
    match exported {
        Ok(Ok(path)) => Reply::data(&Exported { path }),
        Ok(Err(error)) => Reply::Threw(error),
        Err(error) => Reply::Refused(error.to_string()),
    }
}

/// The name with spaces in the place of control characters.
fn plain(name: &str) -> String {
    name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

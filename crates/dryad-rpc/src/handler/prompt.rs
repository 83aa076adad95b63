//! Prompts, and what reaches into a run.

use crate::command::{Given, PromptCommand, StreamingBehavior};
use crate::data::{Disposed, Disposition};
use crate::desk::Desk;
use crate::dispatch::Outcome;
use crate::id::Id;
use crate::response::Reply;
use dryad_agent::conversation::{Accepted, ConversationError, Delivery};
use dryad_protocol::content::{ImageBlock, UserBlock};
use dryad_protocol::message::{FileMentionMessage, Message, UserMessage};

pub(crate) async fn handle(desk: &Desk, command: PromptCommand, id: Option<Id>) -> Outcome {
    match command {
        PromptCommand::Prompt { message, images, streaming_behavior } => {
            prompt(desk, said(desk, message, images), streaming_behavior, id)
        }
        PromptCommand::Steer { message, images } => queue(desk, said(desk, message, images), Delivery::Steer),
        PromptCommand::FollowUp { message, images } => queue(desk, said(desk, message, images), Delivery::FollowUp),
        PromptCommand::Abort => {
            desk.dialogs.withdraw_all();
            desk.conversation.abort().await;
            Outcome::Answer(Reply::Done)
        }
        PromptCommand::AbortAndPrompt { message, images } => {
            desk.dialogs.withdraw_all();
            let message = said(desk, message, images);
            match desk.conversation.abort_and_accept(message.clone()).await {
                Ok(accepted) => Outcome::Start(with_files(desk, &message, accepted)),
                Err(error) => Outcome::Answer(Reply::Refused(error.to_string())),
            }
        }
    }
}

fn prompt(desk: &Desk, message: UserMessage, behavior: Option<Given<StreamingBehavior>>, id: Option<Id>) -> Outcome {
    let behavior = behavior.map(|given| given.known("streamingBehavior", &StreamingBehavior::ALL)).transpose();
    let behavior = match behavior {
        Ok(behavior) => behavior,
        Err(error) => return Outcome::Answer(Reply::Refused(error)),
    };
    let delivery = match (desk.conversation.accept(message.clone()), behavior) {
        (Ok(accepted), _) => return Outcome::Start(with_files(desk, &message, accepted)),
        (Err(ConversationError::Busy), Some(StreamingBehavior::Steer)) => Delivery::Steer,
        (Err(ConversationError::Busy), Some(StreamingBehavior::FollowUp)) => Delivery::FollowUp,
        (Err(error), _) => return late(&error),
    };
    // No run goes on between this and the answer, so none can end with it before it is acknowledged.
    desk.queue_prompt(id, message, delivery);
    queued()
}

/// A prompt that is acknowledged and comes to nothing.
fn late(error: &ConversationError) -> Outcome {
    Outcome::Late { error: error.to_string(), retryable: matches!(error, ConversationError::Busy) }
}

/// The prompt with the files that it names.
fn with_files(desk: &Desk, message: &UserMessage, accepted: Accepted) -> Accepted {
    let texts: String = message.content.iter().filter_map(UserBlock::as_text).collect();
    match desk.program.mentioned(&texts) {
        files if files.is_empty() => accepted,
        files => accepted.after(Message::FileMention(FileMentionMessage { files, timestamp: message.timestamp })),
    }
}

fn queue(desk: &Desk, message: UserMessage, delivery: Delivery) -> Outcome {
    desk.conversation.queue(message, delivery);
    queued()
}

fn queued() -> Outcome {
    Outcome::Answer(Reply::data(&Disposed { disposition: Disposition::Queued }))
}

fn said(desk: &Desk, message: String, images: Option<Vec<ImageBlock>>) -> UserMessage {
    let images = images.unwrap_or_default().into_iter().map(UserBlock::Image).collect();
    UserMessage::prompt(message, images, desk.clock.now())
}

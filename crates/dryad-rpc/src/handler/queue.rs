//! How waiting messages are taken.

use crate::command::{InterruptModeName, QueueCommand, QueueModeName};
use crate::desk::Desk;
use crate::response::Reply;

pub(crate) fn handle(desk: &Desk, command: QueueCommand) -> Reply {
    let conversation = &desk.conversation;
    let done = match command {
        QueueCommand::SetSteeringMode { mode } => {
            mode.known("mode", &QueueModeName::ALL).map(|mode| conversation.set_steering_mode(mode.into()))
        }
        QueueCommand::SetFollowUpMode { mode } => {
            mode.known("mode", &QueueModeName::ALL).map(|mode| conversation.set_follow_up_mode(mode.into()))
        }
        QueueCommand::SetInterruptMode { mode } => {
            mode.known("mode", &InterruptModeName::ALL).map(|mode| conversation.set_interrupt_mode(mode.into()))
        }
    };
    done.map_or_else(Reply::Refused, |()| Reply::Done)
}

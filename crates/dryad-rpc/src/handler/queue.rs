//! How waiting messages are taken.

use crate::command::QueueCommand;
use crate::desk::Desk;
use crate::response::Reply;
use dryad_agent::queue::{InterruptMode, QueueMode};

pub(crate) fn handle(desk: &Desk, command: QueueCommand) -> Reply {
    let conversation = &desk.conversation;
    let done = match command {
        QueueCommand::SetSteeringMode { mode } => {
            mode.known("mode", &QueueMode::ALL).map(|mode| conversation.set_steering_mode(mode))
        }
        QueueCommand::SetFollowUpMode { mode } => {
            mode.known("mode", &QueueMode::ALL).map(|mode| conversation.set_follow_up_mode(mode))
        }
        QueueCommand::SetInterruptMode { mode } => {
            mode.known("mode", &InterruptMode::ALL).map(|mode| conversation.set_interrupt_mode(mode))
        }
    };
    done.map_or_else(Reply::Refused, |()| Reply::Done)
}

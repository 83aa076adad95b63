//! The model and how hard it thinks.

use crate::command::ModelCommand;
use crate::data::{CycledLevel, CycledModel, Models};
use crate::desk::Desk;
use crate::response::Reply;
use dryad_protocol::thinking::ThinkingLevel;

pub(crate) fn handle(desk: &Desk, command: ModelCommand) -> Reply {
    let conversation = &desk.conversation;
    match command {
        ModelCommand::SetModel { provider, model_id } => match conversation.set_model(&provider, &model_id) {
            Ok(model) => Reply::data(&model),
            Err(error) => Reply::Refused(error.to_string()),
        },
        ModelCommand::CycleModel => Reply::data(&conversation.cycle_model().map(|model| CycledModel {
            model,
            thinking_level: conversation.thinking(),
            is_scoped: conversation.has_scope(),
        })),
        ModelCommand::GetAvailableModels => Reply::data(&Models { models: conversation.available_models() }),
        ModelCommand::SetThinkingLevel { level } => match level.known("level", &ThinkingLevel::ALL) {
            Ok(level) => {
                conversation.set_thinking(level);
                Reply::Done
            }
            Err(error) => Reply::Refused(error),
        },
        ModelCommand::CycleThinkingLevel => {
            Reply::data(&conversation.cycle_thinking().map(|level| CycledLevel { level }))
        }
    }
}

//! The list of names and the types cannot disagree.

use super::*;
use schemars::{JsonSchema, schema_for};
use serde_json::json;
use std::collections::BTreeSet;

fn names_of<T: JsonSchema>() -> BTreeSet<String> {
    let schema = schema_for!(T).to_value();
    let variants = schema["oneOf"].as_array().unwrap().clone();
    variants.iter().map(|variant| variant["properties"]["type"]["const"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_command_has_its_name_in_the_list() {
    let groups = [
        (Group::Prompt, names_of::<PromptCommand>()),
        (Group::State, names_of::<StateCommand>()),
        (Group::Model, names_of::<ModelCommand>()),
        (Group::Queue, names_of::<QueueCommand>()),
        (Group::Context, names_of::<ContextCommand>()),
        (Group::Bash, names_of::<BashCommand>()),
        (Group::Session, names_of::<SessionCommand>()),
        (Group::Safety, names_of::<SafetyCommand>()),
    ];
    for (group, names) in groups {
        let mut listed: BTreeSet<String> =
            NAMES.iter().filter(|(_, of)| *of == group).map(|(name, _)| (*name).to_owned()).collect();
        for alias in ["fork", "get_fork_messages"] {
            listed.remove(alias);
        }
        assert_eq!(listed, names, "{group:?}");
    }
}

#[test]
fn other_names_and_absent_or_null_fields_are_read() {
    let read = |fields: Value| {
        let name = fields["type"].as_str().unwrap().to_owned();
        let Value::Object(fields) = fields else { panic!("no object") };
        Command::read(&name, fields)
    };
    assert!(matches!(
        read(json!({"type": "fork", "entryId": "a"})),
        Ok(Command::Session(SessionCommand::Branch { .. }))
    ));
    let prompt = read(json!({"type": "prompt", "message": "hi", "images": null, "locale": "de", "id": "1"}));
    assert!(matches!(prompt, Ok(Command::Prompt(PromptCommand::Prompt { images: None, .. }))));
    assert!(matches!(read(json!({"type": "prompt"})), Err(NoCommand::Malformed(_))));
    assert!(matches!(read(json!({"type": "dance"})), Err(NoCommand::Unknown)));
}

#[test]
fn a_word_that_is_not_in_the_list_is_told_with_the_list() {
    let Ok(Command::Queue(QueueCommand::SetSteeringMode { mode })) = Command::read(
        "set_steering_mode",
        json!({"type": "set_steering_mode", "mode": "some"}).as_object().unwrap().clone(),
    ) else {
        panic!("not read")
    };
    let told = mode.known("mode", &dryad_agent::queue::QueueMode::ALL).unwrap_err();
    assert_eq!(told, r#"Invalid mode "some": expected one of "all", "one-at-a-time""#);
}

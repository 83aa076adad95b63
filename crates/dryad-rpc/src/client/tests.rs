//! The client, with the test in the program's place.

use super::*;
use crate::command::{PromptCommand, StateCommand};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream};

struct Program {
    input: tokio::io::Lines<BufReader<DuplexStream>>,
    output: DuplexStream,
}

impl Program {
    async fn command(&mut self) -> Value {
        serde_json::from_str(&self.input.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn say(&mut self, frame: Value) {
        self.output.write_all(&encode_frame(&frame).unwrap()).await.unwrap();
    }
}

fn stage() -> (Client, Events, Program) {
    let (ours, theirs) = (tokio::io::duplex(1024), tokio::io::duplex(1024));
    let (client, events) = Client::over(ours.0, theirs.0);
    (client, events, Program { input: BufReader::new(theirs.1).lines(), output: ours.1 })
}

#[tokio::test]
async fn an_answer_reaches_the_one_who_asked_and_the_rest_are_events() {
    let (client, mut events, mut program) = stage();
    let get_state = Command::State(StateCommand::GetState);
    let (answer, ()) = tokio::join!(client.send(&get_state), async {
        program.say(json!({"type": "ready", "version": "7"})).await;
        let command = program.command().await;
        assert_eq!(command, json!({"type": "get_state", "id": "req_1"}));
        program.say(json!({"type": "agent_start"})).await;
        program
            .say(json!({"id": "req_1", "type": "response", "command": "get_state", "success": true, "data": {"a": 1}}))
            .await;
    });
    assert_eq!(answer.unwrap(), json!({"a": 1}));
    assert_eq!(client.ready().await.unwrap(), "7");
    assert_eq!(events.until("agent_start").await.len(), 2);
}

#[tokio::test]
async fn a_refusal_is_an_error_and_a_late_one_an_event() {
    let (client, mut events, mut program) = stage();
    let prompt = Command::Prompt(PromptCommand::Abort);
    let (answer, ()) = tokio::join!(client.send(&prompt), async {
        program.command().await;
        let parse = json!({"type": "response", "command": "parse", "success": false, "error": "no"});
        program.say(parse).await;
    });
    assert_eq!(answer.unwrap_err().to_string(), "no", "an answer without id goes to the only one who waits");
    program.say(json!({"id": "req_1", "type": "response", "command": "prompt", "success": false, "error": "x"})).await;
    assert_eq!(events.next().await.unwrap()["error"], "x");
}

#[tokio::test]
async fn nobody_waits_for_a_program_that_has_ended() {
    let (client, mut events, mut program) = stage();
    let get_state = Command::State(StateCommand::GetState);
    let (answer, ()) = tokio::join!(client.send(&get_state), async {
        program.command().await;
        drop(program);
    });
    assert!(matches!(answer, Err(ClientError::Ended)));
    assert!(events.next().await.is_none());
    assert!(client.ready().await.is_err());
}

//! Thresholds, cuts, files, pruning and figures, told as short stories.

use super::branch::Left;
use super::plan::{Answers, NothingToCompact, Plan};
use super::*;
use crate::context;
use crate::kind::Kind;
use crate::session::Session;
use crate::stats::{Scope, Stats};
use dryad_protocol::entry::EntryBody;
use dryad_protocol::id::EntryId;
use dryad_protocol::message::Message;
use dryad_protocol::time::Timestamp;
use serde_json::{Value, json};
use std::path::Path;

struct Story(Session);

impl Story {
    fn new() -> Self {
        Self(Session::in_memory(Path::new("/"), Timestamp::default()))
    }

    fn say(&mut self, message: Value) -> EntryId {
        let message = serde_json::from_value::<Message>(message).unwrap();
        self.0.append(EntryBody::Message { message: message.into() }, Timestamp::default())
    }

    fn user(&mut self, tokens: usize) -> EntryId {
        self.say(json!({"role": "user", "content": "u".repeat(tokens * 4)}))
    }

    fn answer(&mut self, tokens: usize) -> EntryId {
        self.answers(json!([{"type": "text", "text": "a".repeat(tokens * 4)}]), 0)
    }

    fn answers(&mut self, content: Value, used: u64) -> EntryId {
        self.say(json!({"role": "assistant", "content": content, "provider": "p", "model": "m", "stopReason": "stop",
            "usage": {"totalTokens": used, "input": used, "cost": {"total": 0.5}}}))
    }

    fn call(&mut self, id: &str, tool: &str, path: &str) -> EntryId {
        self.answers(json!([{"type": "toolCall", "id": id, "name": tool, "arguments": {"path": path}}]), 0)
    }

    fn result(&mut self, id: &str, tool: &str, tokens: usize, error: bool) -> EntryId {
        self.say(json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "isError": error,
            "content": [{"type": "text", "text": "r".repeat(tokens * 4)}]}))
    }

    fn compact(&mut self, keep: u64, summary: &str) -> EntryId {
        let plan = self.plan(keep).unwrap();
        let answers = Answers {
            history: plan.history_prompt(None).map(|_| summary.to_owned()),
            turn: plan.turn_prompt().map(|_| format!("{summary}, under way")),
        };
        self.0.append(EntryBody::Compaction(plan.finish(answers)), Timestamp::default())
    }

    fn plan(&self, keep: u64) -> Result<Plan, NothingToCompact> {
        Plan::new(&self.0, &Settings { keep_recent_tokens: keep, ..Settings::default() })
    }

    fn kind(&self, id: &EntryId) -> Kind {
        self.0.tree().get(id).unwrap().kind
    }
}

#[test]
fn the_threshold_leaves_the_larger_of_two_reserves() {
    let settings = Settings::default();
    assert_eq!(settings.threshold(200_000), 170_000);
    assert_eq!(settings.threshold(32_000), 15_616);
    assert_eq!(Settings { threshold_percent: Some(50.0), ..settings }.threshold(200_000), 100_000);
    let tokens = Settings { threshold_tokens: Some(7), threshold_percent: Some(50.0), ..settings };
    assert_eq!(tokens.threshold(200_000), 7);
    assert!(settings.is_due(170_001, 200_000) && !settings.is_due(170_000, 200_000));
    assert!(!Settings { enabled: false, ..settings }.is_due(u64::MAX, 200_000));
}

#[test]
fn tokens_are_what_the_provider_said_and_an_estimate_of_the_rest() {
    let mut story = Story::new();
    story.user(10);
    assert_eq!(tokens::of_context(&story.0), 10);
    story.answers(json!([{"type": "text", "text": "x"}]), 5000);
    story.user(20);
    assert_eq!(tokens::of_context(&story.0), 5020);
    story.say(json!({"role": "assistant", "content": [], "provider": "p", "model": "m", "stopReason": "error",
        "usage": {"totalTokens": 9}}));
    assert_eq!(tokens::of_context(&story.0), 5020, "an answer that failed counts nothing");
    story.say(json!({"role": "user", "content": [{"type": "image", "data": "", "mimeType": "image/png"}]}));
    assert_eq!(tokens::of_context(&story.0), 6220);
    story.compact(1200, "short");
    assert!(tokens::of_context(&story.0) < 1300, "the figure of before the compaction is of another context");
}

#[test]
fn a_cut_is_never_at_a_tool_result() {
    for size in [1, 50, 400] {
        for keep in (1..900).step_by(7) {
            let mut story = Story::new();
            for round in 0..6 {
                story.user(20);
                story.call(&format!("c{round}"), "bash", "x");
                story.result(&format!("c{round}"), "bash", size, false);
                story.answer(10);
            }
            if let Ok(plan) = story.plan(keep) {
                let kind = story.kind(&plan.first_kept);
                assert!(kind.is_said() && !kind.is_result(), "{size} {keep} {kind:?}");
            }
        }
    }
}

#[test]
fn a_result_larger_than_all_that_is_kept_stays_with_its_call() {
    let mut story = Story::new();
    story.user(100);
    story.answer(100);
    story.user(10);
    let call = story.call("c", "bash", "x");
    story.result("c", "bash", 5000, false);
    assert_eq!(story.plan(1000).unwrap().first_kept, call);
}

#[test]
fn silent_entries_before_the_cut_are_kept() {
    let mut story = Story::new();
    story.user(100);
    story.answer(100);
    let change = EntryBody::ThinkingLevelChange { thinking_level: dryad_protocol::thinking::ThinkingLevel::Low };
    let silent = story.0.append(change, Timestamp::default());
    story.user(100);
    story.answer(100);
    assert_eq!(story.plan(150).unwrap().first_kept, silent);
}

#[test]
fn a_divided_turn_is_told_under_its_own_heading() {
    let mut story = Story::new();
    story.user(100);
    story.answer(100);
    story.user(100);
    story.call("c", "read", "a.rs");
    story.result("c", "read", 100, false);
    let kept = story.answer(100);
    let plan = story.plan(50).unwrap();
    assert_eq!((&plan.first_kept, plan.summarised.len(), plan.turn_start.len()), (&kept, 2, 3));
    assert!(plan.turn_prompt().unwrap().text.contains("[Assistant calls]: read(path=\"a.rs\")"));
    story.compact(50, "sum");
    let first = context::messages(&story.0).remove(0);
    let text = serde_json::to_string(first.as_ref()).unwrap();
    assert!(text.contains("sum\\n\\n## The step that is under way\\n\\nsum, under way"), "{text}");
}

#[test]
fn a_second_compaction_takes_the_first_up_with_what_it_kept() {
    let mut story = Story::new();
    story.user(100);
    story.answer(100);
    let kept = story.user(100);
    story.answer(100);
    story.compact(200, "first");
    assert_eq!(story.plan(10), Err(NothingToCompact::JustCompacted));
    story.user(100);
    story.answer(100);
    let plan = story.plan(200).unwrap();
    assert_eq!((plan.earlier.as_deref(), plan.summarised.len()), (Some("first"), 2));
    let prompt = plan.history_prompt(Some("keep numbers")).unwrap();
    assert!(prompt.text.contains("<earlier-summary>\nfirst\n</earlier-summary>"));
    assert!(prompt.text.ends_with("The user asks for this in particular: keep numbers"));
    assert!(story.0.tree().branch_to(&plan.first_kept).unwrap().iter().any(|node| node.id == kept));
    story.compact(200, "second");
    assert_eq!(context::messages(&story.0).len(), 3);
}

#[test]
fn a_short_conversation_is_not_compacted() {
    let mut story = Story::new();
    assert_eq!(story.plan(10), Err(NothingToCompact::TooShort));
    story.user(100);
    story.answer(100);
    assert_eq!(story.plan(20_000), Err(NothingToCompact::TooShort));
}

#[test]
fn a_file_that_was_staged_is_modified_when_that_is_applied() {
    let answer = |id: &str, path: &str| {
        let call = json!({"type": "toolCall", "id": id, "name": "ast_edit", "arguments": {"paths": [path]}});
        json!({"role": "assistant", "content": [call], "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 1})
    };
    let result = |id: &str, tool: &str, details: serde_json::Value| {
        json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "content": [], "isError": false,
            "details": details, "timestamp": 1})
    };
    let staged = |label: &str| json!({"pendingAction": {"id": "1", "label": label, "resolver": "agent"}});
    let resolved = |action: &str, label: &str| json!({"action": action, "label": label, "sourceToolName": "ast_edit"});
    let messages: Vec<std::sync::Arc<Message>> = [
        answer("1", "applied.rs"),
        result("1", "ast_edit", staged("one")),
        answer("2", "discarded.rs"),
        result("2", "ast_edit", staged("two")),
        answer("3", "waiting.rs"),
        result("3", "ast_edit", staged("three")),
        result("4", "resolve", resolved("apply", "one")),
        result("5", "resolve", resolved("discard", "two")),
    ]
    .into_iter()
    .map(|message| std::sync::Arc::new(serde_json::from_value(message).unwrap()))
    .collect();
    let mut files = super::files::Files::default();
    files.add(&messages);
    assert_eq!(files.to_details(), json!({"readFiles": [], "modifiedFiles": ["applied.rs"]}));
}

#[test]
fn files_are_told_across_compactions() {
    let mut story = Story::new();
    for (id, tool, path, error) in [
        ("1", "read", "a.rs", false),
        ("2", "read", "b.rs", false),
        ("3", "edit", "b.rs", false),
        ("4", "write", "failed.rs", true),
        ("5", "bash", "no", false),
    ] {
        story.user(50);
        story.call(id, tool, path);
        story.result(id, tool, 10, error);
    }
    story.user(100);
    let first = story.compact(50, "one");
    let EntryBody::Compaction(compaction) = story.0.entry(&first).unwrap().body.clone() else { panic!() };
    assert_eq!(compaction.details, Some(json!({"readFiles": ["a.rs"], "modifiedFiles": ["b.rs"]})));
    assert!(
        compaction.summary.ends_with("<read-files>\na.rs\n</read-files>\n\n<modified-files>\nb.rs\n</modified-files>")
    );
    for number in 0..30 {
        story.call(&format!("w{number}"), "write", &format!("f{number:02}.rs"));
        story.result(&format!("w{number}"), "write", 10, false);
    }
    story.call("again", "write", "a.rs");
    story.result("again", "write", 10, false);
    story.user(100);
    let second = story.compact(50, "two");
    let EntryBody::Compaction(compaction) = story.0.entry(&second).unwrap().body.clone() else { panic!() };
    assert_eq!(compaction.details.unwrap()["modifiedFiles"].as_array().unwrap().len(), 32);
    assert!(compaction.summary.contains("(and 12 more)") && !compaction.summary.contains("<read-files>"));
}

#[test]
fn old_outputs_are_pruned_when_that_is_worth_it() {
    let mut story = Story::new();
    let mut ids = Vec::new();
    for (number, tool) in ["bash", "read", "bash", "grep"].into_iter().enumerate() {
        story.call(&number.to_string(), tool, "x");
        ids.push(story.result(&number.to_string(), tool, 15_000, false));
    }
    assert_eq!(prune::plan(&story.0), None, "15,000 tokens beyond the newest 40,000 are too few");
    story.call("9", "bash", "x");
    story.result("9", "bash", 15_000, false);
    let (body, saved) = prune::plan(&story.0).unwrap();
    let expected = EntryBody::Pruning { entry_ids: vec![ids[0].clone(), ids[2].clone()] };
    assert_eq!((&body, saved), (&expected, 30_000));
    let before = tokens::of_context(&story.0);
    story.0.append(body, Timestamp::default());
    assert!(tokens::of_context(&story.0) < before - 29_000);
    assert_eq!(prune::plan(&story.0), None, "what is gone is not pruned again");
}

#[test]
fn a_branch_that_is_left_is_told_from_where_it_parted() {
    let mut story = Story::new();
    let shared = story.user(5);
    story.answer(1000);
    story.call("c", "edit", "x.rs");
    story.result("c", "edit", 5, false);
    let left = Left::new(&story.0, Some(&shared), 200_000).unwrap();
    assert_eq!(left.said.len(), 3);
    assert!(left.prompt(None).unwrap().text.contains("edit(path=\"x.rs\")"));
    let summary = left.finish(" learned \n");
    assert_eq!(summary.summary, "learned\n\n<modified-files>\nx.rs\n</modified-files>");
    assert_eq!(Left::new(&story.0, Some(&shared), RESERVE + 500).unwrap().said.len(), 2, "the newest part that fits");
    assert_eq!(Left::new(&story.0, None, 200_000).unwrap().said.len(), 4);
    let here = story.0.leaf().cloned();
    assert_eq!(Left::new(&story.0, here.as_ref(), 200_000).unwrap().prompt(None), None);
    Left::new(&story.0, Some(&"nope".into()), 1).unwrap_err();
}

const RESERVE: u64 = 16_384;

#[test]
fn a_record_is_labelled_and_its_results_are_cut() {
    let mut story = Story::new();
    story.say(json!({"role": "user", "content": "do it"}));
    story.say(json!({"role": "assistant", "provider": "p", "model": "m", "stopReason": "stop", "content": [
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ok"}]}));
    story.say(json!({"role": "toolResult", "toolCallId": "c", "toolName": "x", "content": [{"type": "text", "text": "ü".repeat(2003)}]}));
    let said: Vec<_> = context::said(&story.0, &mut Vec::new()).into_iter().map(|(_, message)| message).collect();
    let expected = format!(
        "[User]: do it\n\n[Assistant thinking]: hm\n\n[Assistant]: ok\n\n[Tool result]: {}\n[… 3 more characters]",
        "ü".repeat(2000)
    );
    assert_eq!(transcript::of(&said), expected);
}

#[test]
fn figures_count_branches_models_and_sub_agents() {
    let mut story = Story::new();
    let first = story.user(1);
    story.answers(json!([{"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}]), 100);
    story.say(json!({"role": "toolResult", "toolCallId": "c", "toolName": "task", "content": [],
        "details": {"model": "q/small", "usage": {"input": 7, "output": 3, "cost": {"total": 0.25}}}}));
    story.0.move_leaf(Some(&first)).unwrap();
    story.answers(json!([]), 50);
    let all = Stats::of(&story.0, Scope::All, &|tool| tool == "bash");
    assert_eq!((all.user_messages, all.assistant_messages, all.tool_calls, all.tool_results), (1, 2, 1, 1));
    assert_eq!((all.total_messages, all.tokens.total, all.destructive_calls), (4, 160, 1));
    assert!((all.cost - 1.25).abs() < 1e-9);
    assert_eq!((all.models["q/small"].tokens.total, all.models["p/m"].requests), (10, 2));
    let branch = Stats::of(&story.0, Scope::Branch, &|_| true);
    assert_eq!((branch.total_messages, branch.tokens.input, branch.destructive_calls), (2, 50, 0));
}

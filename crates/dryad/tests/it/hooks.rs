//! Hooks: real programs in the user's `hooks/pre` and `hooks/post`, asked and told by the built program.

mod in_runs;
mod of_hosts;

use crate::scene::Scene;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// Lays out a hook: a shell script that has the event in `$event`, after noting it in the file `heard`.
fn hook(scene: &Scene, side: &str, name: &str, body: &str) {
    let heard = scene.home().join("heard");
    let script = format!("#!/bin/sh\nevent=$(cat)\nprintf '%s\\n' \"$event\" >> {}\n{body}\n", heard.display());
    program(scene, side, name, &script, 0o700);
}

/// Lays out a file among the hooks.
fn program(scene: &Scene, side: &str, name: &str, text: &str, mode: u32) {
    let file = format!("hooks/{side}/{name}");
    scene.write_home(&file, text);
    std::fs::set_permissions(scene.home().join(file), std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A hook that is against events of this name.
pub(crate) fn against(scene: &Scene, event: &str) {
    let body = format!("case \"$event\" in *'\"event\":\"{event}\"'*) echo 'not today' >&2; exit 2;; esac");
    hook(scene, "pre", &format!("no-{event}"), &body);
}

/// Every event that a hook has noted, oldest first.
fn heard(scene: &Scene) -> Vec<Value> {
    let text = std::fs::read_to_string(scene.home().join("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// The names and reasons of those events.
fn names_heard(scene: &Scene) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    heard(scene).iter().map(|event| format!("{} {}", word(&event["event"]), word(&event["reason"]))).collect()
}

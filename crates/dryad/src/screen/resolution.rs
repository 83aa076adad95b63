//! A resolution as one block: accepted, discarded, or failed.

use crate::terminal::Style;
use dryad_protocol::call::ToolResult;
use dryad_protocol::content::UserBlock;
use serde_json::Value;

/// What came of a call of `resolve`, with texts made harmless by `clean`.
pub(super) fn block(result: &ToolResult, is_error: bool, clean: &dyn Fn(&str) -> String, style: Style) -> String {
    let text = || clean(&result.content.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n"));
    if is_error {
        let text = text();
        let reason = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing was said");
        return format!("{} Failed: {reason}\n", style.red("✗"));
    }
    let detail = |name: &str| result.details.as_ref().and_then(|details| details.get(name)).and_then(Value::as_str);
    let done = if detail("action") == Some("discard") { "Discard" } else { "Accept" };
    // What a mode resolves has no label; its reason says what it was about.
    let about = detail("label").or_else(|| detail("reason")).map_or_else(text, clean);
    format!("{} {done}: {}\n", style.green("✓"), about.lines().next().unwrap_or_default())
}

//! What the model is told when a rule matches.

use dryad_protocol::rule::StreamRule;

/// Told in the place of what was interrupted.
pub(crate) fn interruption(rules: &[StreamRule]) -> String {
    let blocks = rules.iter().map(|rule| {
        block(
            "system-interrupt",
            rule,
            "Your answer was interrupted because it goes against this rule. Go on in a way that follows it, without \
             talking about the interruption.",
        )
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

/// Told when the answer has ended.
pub(crate) fn reminder(rules: &[StreamRule]) -> String {
    let blocks = rules.iter().map(|rule| {
        block(
            "system-reminder",
            rule,
            "Something in your last answer goes against this rule. Put it right and follow it.",
        )
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn block(tag: &str, rule: &StreamRule, intro: &str) -> String {
    let (name, path) = (attribute(&rule.name), attribute(&rule.path));
    format!("<{tag} rule=\"{name}\" path=\"{path}\">\n{intro}\n\n{}\n</{tag}>", rule.content.trim())
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

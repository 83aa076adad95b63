//! What a model is asked when something is to be summarised.

/// Told first in every such request.
pub const SYSTEM: &str = include_str!("system.md");
/// The sections of a summary.
const SECTIONS: &str = include_str!("sections.md");
/// Asks for a first summary.
const FRESH: &str = "Above is the record of a coding session up to now. Write the summary from which a colleague who \
    has not seen the record can carry the work on.";
/// Asks for a summary that takes up an earlier one.
const UPDATED: &str = "Above is the record of what happened in a coding session since the summary in \
    <earlier-summary> was written. Write that summary anew so that it covers both: keep what still holds, move what \
    was finished to Done, correct what has changed, and drop only what nobody will need again.";
/// Asks for the beginning of a turn whose end is kept.
const TURN: &str = "Above is the first part of one long step of a coding session; its last part is kept as it is. Say in \
    a few short paragraphs what the user asked for, what was found and done so far, and what the kept part needs to be \
    understood. Do not use headings.";
/// Asks for what a branch was about.
const BRANCH: &str = "Above is the record of a part of a coding session that was left: the conversation goes on from an \
    earlier point. Write the summary that lets it use what was learned there.";
/// Asks for a few sentences.
const SHORT: &str = "Above is the summary of a coding session. Say in two or three sentences what it is about and how far \
    it is.";

/// One request for a summary.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Prompt {
    /// What the model is told first.
    pub system: &'static str,
    /// What it is asked.
    pub text: String,
}

impl Prompt {
    pub(super) fn history(record: &str, earlier: Option<&str>, wishes: Option<&str>) -> Self {
        let (task, earlier) = match earlier {
            Some(earlier) => (UPDATED, format!("<earlier-summary>\n{earlier}\n</earlier-summary>\n\n")),
            None => (FRESH, String::new()),
        };
        let wishes = wished(wishes);
        Self::of(format!("{}{earlier}{task}\n\n{SECTIONS}{wishes}", recorded(record)))
    }

    pub(super) fn turn(record: &str) -> Self {
        Self::of(format!("{}{TURN}", recorded(record)))
    }

    pub(super) fn branch(record: &str, wishes: Option<&str>) -> Self {
        let wishes = wished(wishes);
        Self::of(format!("{}{BRANCH}\n\n{SECTIONS}{wishes}", recorded(record)))
    }

    pub(super) fn short(summary: &str) -> Self {
        Self::of(format!("<summary>\n{summary}\n</summary>\n\n{SHORT}"))
    }

    fn of(text: String) -> Self {
        Self { system: SYSTEM, text }
    }
}

fn recorded(record: &str) -> String {
    format!("<record>\n{record}\n</record>\n\n")
}

fn wished(wishes: Option<&str>) -> String {
    let wishes = wishes.map(str::trim).filter(|wishes| !wishes.is_empty());
    wishes.map(|wishes| format!("\n\nThe user asks for this in particular: {wishes}")).unwrap_or_default()
}

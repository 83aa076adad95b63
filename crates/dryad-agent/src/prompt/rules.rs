//! Rules that speak into the system prompt: those that always hold as a whole, others by what they are for.

use std::fmt::Write as _;
use std::path::PathBuf;

/// A rule that the model is told of first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PromptRule {
    /// It always holds.
    Always {
        /// What it is called.
        name: String,
        /// What it says.
        text: String,
    },
    /// It holds for particular work, and is read then.
    Listed {
        /// What it is called.
        name: String,
        /// What it is for.
        description: String,
        /// Where it can be read.
        path: PathBuf,
    },
}

/// The sections about rules. Those that have to be read are told only to a model that can read.
pub(super) fn sections(rules: &[PromptRule], can_read: bool) -> Vec<String> {
    let (mut always, mut listed) = (String::new(), String::new());
    for rule in rules {
        match rule {
            PromptRule::Always { name, text } => {
                write!(always, "\n<rule name=\"{name}\">\n{}\n</rule>\n", text.trim()).ok();
            }
            PromptRule::Listed { name, description, path } => {
                writeln!(listed, "- {name}: {description} ({})", path.display()).ok();
            }
        }
    }
    let titled =
        |title: &str, text: String| Some(text).filter(|text| !text.is_empty()).map(|text| format!("{title}\n{text}"));
    let always = titled("Rules that always hold:", always);
    let listed = titled("Rules for particular work; read the file before you do such work:", listed);
    [always, listed.filter(|_| can_read)].into_iter().flatten().collect()
}

//! What went wrong with single files while the others were searched.

use crate::scope::Scope;

/// How many are told.
const SHOWN: usize = 20;

/// Problems in words, each told once.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Issues {
    texts: Vec<String>,
    /// Problems beyond those that are told.
    more: usize,
}

impl Issues {
    /// Takes a problem.
    pub(crate) fn add(&mut self, text: String) {
        if self.texts.contains(&text) {
            return;
        }
        if self.texts.len() < SHOWN { self.texts.push(text) } else { self.more += 1 }
    }

    /// Takes what went wrong with the scope itself.
    pub(crate) fn add_scope(&mut self, scope: &Scope) {
        if scope.unread > 0 {
            self.add(format!("{} could not be read", count(scope.unread, "entry", "entries")));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The problems that are told.
    pub(crate) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The paragraph that tells of them, if there is one.
    pub(crate) fn paragraph(&self) -> Option<String> {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        let lines: Vec<String> = self.texts.iter().cloned().chain(more).map(|text| format!("- {text}")).collect();
        (!lines.is_empty()).then(|| format!("Parse issues:\n{}", lines.join("\n")))
    }
}

/// A number with the right form of its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_problems_are_told_once_each() {
        let mut issues = Issues::default();
        assert_eq!(issues.paragraph(), None);
        issues.add("a".to_owned());
        issues.add("a".to_owned());
        assert_eq!(issues.paragraph().unwrap(), "Parse issues:\n- a");
        (0..25).for_each(|number| issues.add(number.to_string()));
        assert_eq!(issues.texts().len(), SHOWN);
        assert!(issues.paragraph().unwrap().ends_with("\n- 18\n- and 6 more"));
    }
}

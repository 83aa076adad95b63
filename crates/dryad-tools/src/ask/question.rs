//! One question, how it is put, and what came of it.

use dryad_safety::dialog::{DialogAnswer, UserInterface};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The option to type an answer.
const OTHER: &str = "Other (type your own)";
/// The option that ends a choice of several.
const DONE: &str = "Done";
/// What marks the option the model would take.
const RECOMMENDED: &str = " (Recommended)";

/// One question.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// A short name.
    id: String,
    /// One sentence.
    question: String,
    /// What to choose from.
    options: Vec<Choice>,
    /// Several can be chosen.
    #[serde(default)]
    multi: bool,
    /// Index of the option you would take, from 0.
    #[serde(default)]
    recommended: Option<usize>,
}

/// One option.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
struct Choice {
    /// A few words.
    label: String,
}

/// What came of a question.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    id: String,
    question: String,
    options: Vec<String>,
    multi: bool,
    selected_options: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_input: Option<String>,
    /// Whether nobody answered in time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
}

impl Question {
    /// Puts the question; nothing when the user does not want to answer.
    pub(super) async fn put(self, user: &dyn UserInterface, timeout: Option<Duration>) -> Option<Asked> {
        let options: Vec<String> = self.options.into_iter().map(|option| option.label).collect();
        let recommended = self.recommended.filter(|&at| at < options.len());
        let Self { id, question, multi, .. } = self;
        let asked = Asked { id, question, options, multi, ..Asked::default() };
        match multi {
            true => asked.choose_several(user, recommended, timeout).await,
            false => asked.choose_one(user, recommended, timeout).await,
        }
    }
}

impl Asked {
    /// The answer to an only question.
    pub(super) fn sentence(&self) -> String {
        match (&self.custom_input, self.timed_out) {
            (Some(text), _) => format!("User answered: {text}"),
            (None, true) => format!("Nobody answered in time; taken: {}", self.chosen()),
            (None, false) => format!("User chose: {}", self.chosen()),
        }
    }

    /// The answer to one of several questions.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.id, self.custom_input.clone().unwrap_or_else(|| self.chosen()))
    }

    async fn choose_one(
        mut self,
        user: &dyn UserInterface,
        recommended: Option<usize>,
        timeout: Option<Duration>,
    ) -> Option<Self> {
        let mut shown = self.shown(recommended);
        shown.push(OTHER.to_owned());
        match user.select(&self.question, &shown, timeout).await {
            DialogAnswer::Given(given) if given == OTHER => return self.typed(user).await,
            DialogAnswer::Given(given) => match shown.iter().position(|label| *label == given) {
                Some(at) => self.selected_options.extend(self.options.get(at).cloned()),
                // A host may let the user type right away.
                None => self.custom_input = Some(given),
            },
            DialogAnswer::Cancelled => return None,
            DialogAnswer::TimedOut => self.take_by_itself(recommended),
        }
        Some(self)
    }

    async fn choose_several(
        mut self,
        user: &dyn UserInterface,
        recommended: Option<usize>,
        timeout: Option<Duration>,
    ) -> Option<Self> {
        let labels = self.shown(recommended);
        let mut chosen = vec![false; labels.len()];
        // Only who has not touched anything can run out of time.
        let mut timeout = timeout;
        loop {
            let marked = labels.iter().zip(&chosen).map(|(label, &on)| format!("{} {label}", mark(on)));
            let shown: Vec<String> = marked.chain([OTHER.to_owned(), DONE.to_owned()]).collect();
            match user.select(&self.question, &shown, timeout.take()).await {
                DialogAnswer::Given(given) if given == OTHER => return self.typed(user).await,
                DialogAnswer::Given(given) if given == DONE => break,
                DialogAnswer::Given(given) => match shown.iter().position(|label| *label == given) {
                    Some(at) => chosen.iter_mut().skip(at).take(1).for_each(|on| *on = !*on),
                    None => {
                        self.custom_input = Some(given);
                        return Some(self);
                    }
                },
                DialogAnswer::Cancelled => return None,
                DialogAnswer::TimedOut => {
                    self.take_by_itself(recommended);
                    return Some(self);
                }
            }
        }
        let options = self.options.iter().zip(&chosen).filter(|(_, on)| **on).map(|(option, _)| option.clone());
        self.selected_options = options.collect();
        Some(self)
    }

    async fn typed(mut self, user: &dyn UserInterface) -> Option<Self> {
        match user.input(&self.question).await {
            DialogAnswer::Given(text) => self.custom_input = Some(text),
            DialogAnswer::Cancelled | DialogAnswer::TimedOut => return None,
        }
        Some(self)
    }

    fn take_by_itself(&mut self, recommended: Option<usize>) {
        self.timed_out = true;
        self.selected_options.extend(self.options.get(recommended.unwrap_or(0)).cloned());
    }

    fn shown(&self, recommended: Option<usize>) -> Vec<String> {
        let mark = |at: usize| if recommended == Some(at) { RECOMMENDED } else { "" };
        self.options.iter().enumerate().map(|(at, label)| format!("{label}{}", mark(at))).collect()
    }

    fn chosen(&self) -> String {
        match self.selected_options.as_slice() {
            [] => "nothing".to_owned(),
            chosen => chosen.join(", "),
        }
    }
}

fn mark(on: bool) -> &'static str {
    if on { "[x]" } else { "[ ]" }
}

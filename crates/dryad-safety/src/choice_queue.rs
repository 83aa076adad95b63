//! Which tool the next model requests must name: a queue of directives.
//!
//! ```text
//! push ─► waiting ─► serve (in flight: one request) ─► resolve          it was followed
//!            ▲                                    └─► reject(reason)   it was not
//!            └────────────── requeue ◄────────────────────┘  if the directive asks for it
//! ```
//!
//! A preview puts its directive at the front, so the newest preview is the one that is resolved first.

use std::collections::VecDeque;

/// The suffix of a directive that came back.
const REQUEUED: &str = "-requeued";

/// What one request must, or must not, name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Choice {
    /// This tool.
    Tool(String),
    /// No tool.
    None,
}

/// Why a directive was not followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Rejection {
    Aborted,
    Error,
    Cleared,
    Removed,
    Unavailable,
    /// The request went through, but what the directive waits for never happened.
    NotInvoked,
}

/// What a directive wants when it was not followed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum AfterRejection {
    /// To be forgotten.
    #[default]
    Drop,
    /// To come back.
    Requeue,
}

/// A sequence of choices for the next requests.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directive {
    /// Whose it is.
    pub label: String,
    /// One per request.
    pub choices: VecDeque<Choice>,
    /// The pending action that waits to be resolved by it; a directive with one counts as followed only
    /// when that has happened.
    pub invoker: Option<String>,
    /// What is done when it was not followed.
    pub after_rejection: AfterRejection,
}

/// The queue.
#[derive(Debug, Default)]
pub struct ChoiceQueue {
    waiting: VecDeque<Directive>,
    in_flight: Option<InFlight>,
    last_served: Option<String>,
}

#[derive(Debug)]
struct InFlight {
    directive: Directive,
    invoked: bool,
}

impl Directive {
    /// A directive for one request.
    pub fn once(label: impl Into<String>, choice: Choice) -> Self {
        Self::sequence(label, [choice])
    }

    /// A directive for several requests.
    pub fn sequence(label: impl Into<String>, choices: impl IntoIterator<Item = Choice>) -> Self {
        let choices = choices.into_iter().collect();
        Self { label: label.into(), choices, invoker: None, after_rejection: AfterRejection::Drop }
    }

    /// The directive of a preview: forced to `resolve`, and back again as long as that has not happened.
    pub fn preview(source_tool: &str, action: &str) -> Self {
        let once = Self::once(format!("pending-action:{source_tool}"), Choice::Tool("resolve".to_owned()));
        Self { invoker: Some(action.to_owned()), after_rejection: AfterRejection::Requeue, ..once }
    }
}

impl ChoiceQueue {
    /// Adds a directive behind the others.
    pub fn push(&mut self, directive: Directive) {
        self.waiting.push_back(directive);
    }

    /// Adds a directive before the others.
    pub fn push_now(&mut self, directive: Directive) {
        self.waiting.push_front(directive);
    }

    /// Adds a choice for one request.
    pub fn push_once(&mut self, label: impl Into<String>, choice: Choice, now: bool) {
        self.push_sequence(label, [choice], now);
    }

    /// Adds choices for several requests.
    pub fn push_sequence(&mut self, label: impl Into<String>, choices: impl IntoIterator<Item = Choice>, now: bool) {
        let directive = Directive::sequence(label, choices);
        if now { self.push_now(directive) } else { self.push(directive) }
    }

    /// The choice for the request that is about to be sent; it is in flight from now on.
    pub fn serve(&mut self) -> Option<Choice> {
        while let Some(head) = self.waiting.front_mut() {
            let Some(choice) = head.choices.pop_front() else {
                self.waiting.pop_front();
                continue;
            };
            let directive = Directive { choices: [choice.clone()].into(), ..head.clone() };
            if head.choices.is_empty() {
                self.waiting.pop_front();
            }
            self.last_served = Some(directive.label.clone());
            self.in_flight = Some(InFlight { directive, invoked: false });
            return Some(choice);
        }
        None
    }

    /// Notes that what the directive in flight waits for has happened.
    pub fn note_invoked(&mut self) {
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.invoked = true;
        }
    }

    /// Ends the request in flight well, unless its directive waits for something that did not happen.
    pub fn resolve(&mut self) {
        match &self.in_flight {
            Some(in_flight) if in_flight.directive.invoker.is_some() && !in_flight.invoked => {
                self.reject(Rejection::NotInvoked);
            }
            Some(_) | None => self.in_flight = None,
        }
    }

    /// Ends the request in flight badly; its directive comes back if it asks for that.
    pub fn reject(&mut self, reason: Rejection) {
        let Some(InFlight { mut directive, .. }) = self.in_flight.take() else { return };
        tracing::debug!(label = directive.label, ?reason, "a tool choice was not followed");
        let gone = matches!(reason, Rejection::Cleared | Rejection::Removed | Rejection::Unavailable);
        match directive.after_rejection {
            AfterRejection::Requeue if !gone => {
                if !directive.label.ends_with(REQUEUED) {
                    directive.label.push_str(REQUEUED);
                }
                self.push_now(directive);
            }
            AfterRejection::Requeue | AfterRejection::Drop => {}
        }
    }

    /// Whether a request with a choice is under way.
    pub fn has_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }

    /// The pending action that the request under way is to resolve.
    pub fn peek_in_flight_invoker(&self) -> Option<&str> {
        self.in_flight.as_ref()?.directive.invoker.as_deref()
    }

    /// Forgets all directives of this label; how many there were.
    pub fn remove_by_label(&mut self, label: &str) -> usize {
        let requeued = format!("{label}{REQUEUED}");
        self.remove_where(|directive| directive.label == label || directive.label == requeued)
    }

    /// Forgets the directives of a pending action.
    pub fn remove_by_invoker(&mut self, action: &str) -> usize {
        self.remove_where(|directive| directive.invoker.as_deref() == Some(action))
    }

    fn remove_where(&mut self, is_meant: impl Fn(&Directive) -> bool) -> usize {
        let before = self.waiting.len() + usize::from(self.in_flight.is_some());
        self.waiting.retain(|directive| !is_meant(directive));
        if self.in_flight.as_ref().is_some_and(|in_flight| is_meant(&in_flight.directive)) {
            self.reject(Rejection::Removed);
        }
        before - self.waiting.len() - usize::from(self.in_flight.is_some())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.reject(Rejection::Cleared);
    }

    /// The label of the directive that was served last, once.
    pub fn consume_last_served_label(&mut self) -> Option<String> {
        self.last_served.take()
    }

    /// The labels that wait, the next first.
    pub fn inspect(&self) -> Vec<&str> {
        self.waiting.iter().map(|directive| directive.label.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve() -> Option<Choice> {
        Some(Choice::Tool("resolve".to_owned()))
    }

    #[test]
    fn a_preview_comes_back_until_it_is_resolved() {
        let mut queue = ChoiceQueue::default();
        queue.push_now(Directive::preview("edit", "1"));
        assert_eq!(queue.serve(), resolve());
        assert_eq!(queue.peek_in_flight_invoker(), Some("1"));
        queue.resolve();
        assert_eq!(queue.inspect(), ["pending-action:edit-requeued"], "the model did not call resolve");
        for reason in [Rejection::Aborted, Rejection::Error, Rejection::NotInvoked] {
            assert_eq!(queue.serve(), resolve());
            queue.reject(reason);
            assert_eq!(queue.inspect(), ["pending-action:edit-requeued"]);
        }
        assert_eq!(queue.serve(), resolve());
        queue.note_invoked();
        queue.resolve();
        assert_eq!((queue.serve(), queue.has_in_flight()), (None, false));
    }

    #[test]
    fn the_newest_preview_is_served_first() {
        let mut queue = ChoiceQueue::default();
        queue.push_once("eager-todo", Choice::Tool("todo_write".to_owned()), false);
        queue.push_now(Directive::preview("edit", "1"));
        queue.push_now(Directive::preview("ast_edit", "2"));
        assert_eq!(queue.inspect(), ["pending-action:ast_edit", "pending-action:edit", "eager-todo"]);
        queue.serve();
        assert_eq!(queue.peek_in_flight_invoker(), Some("2"));
        assert_eq!(queue.consume_last_served_label().as_deref(), Some("pending-action:ast_edit"));
        assert_eq!(queue.consume_last_served_label(), None);
    }

    #[test]
    fn a_sequence_is_served_one_choice_per_request() {
        let mut queue = ChoiceQueue::default();
        queue.push_sequence("user-force", [Choice::Tool("read".to_owned()), Choice::None], true);
        assert_eq!(queue.serve(), Some(Choice::Tool("read".to_owned())));
        queue.resolve();
        assert_eq!(queue.serve(), Some(Choice::None));
        queue.reject(Rejection::Error);
        assert_eq!(queue.serve(), None, "it did not ask to come back");
    }

    #[test]
    fn what_is_removed_or_cleared_does_not_come_back() {
        let mut queue = ChoiceQueue::default();
        queue.push_now(Directive::preview("edit", "1"));
        queue.push_now(Directive::preview("edit", "2"));
        queue.serve();
        assert_eq!(queue.remove_by_invoker("2"), 1);
        assert_eq!((queue.has_in_flight(), queue.inspect()), (false, vec!["pending-action:edit"]));
        queue.serve();
        queue.reject(Rejection::Aborted);
        assert_eq!(queue.remove_by_label("pending-action:edit"), 1, "also under its second name");
        queue.push_now(Directive::preview("edit", "3"));
        queue.serve();
        queue.clear();
        assert_eq!((queue.serve(), queue.has_in_flight()), (None, false));
    }
}

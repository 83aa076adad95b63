//! The engine: one question in, one judgement out.

use super::policy::{Dangerous, Mode, Policy};
use super::rule::Rule;
use super::statistics::Denials;
use super::subject::Subject;
use super::{Judgement, Question, bash, class, file, webfetch};
use crate::gate::Verdict;
use crate::spec::PermissionClass;
use std::sync::{Mutex, PoisonError, RwLock};

/// Judges calls by a policy and by what was granted in this session. Can be shared between threads.
#[derive(Debug, Default)]
pub struct Engine {
    policy: Policy,
    grants: RwLock<Vec<Rule>>,
    denials: Mutex<Denials>,
}

/// What a class says when no rule does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ClassVerdict {
    /// It passes, for this reason.
    Allow(String),
    /// Somebody should be asked, for this reason.
    Ask {
        /// Why.
        reason: String,
        /// Also where everything else passes.
        in_every_mode: bool,
    },
}

impl ClassVerdict {
    pub(super) fn allow(reason: &str) -> Self {
        Self::Allow(reason.to_owned())
    }

    pub(super) fn ask(reason: impl Into<String>) -> Self {
        Self::Ask { reason: reason.into(), in_every_mode: false }
    }

    pub(super) fn in_every_mode(self) -> Self {
        match self {
            Self::Allow(reason) => Self::Allow(reason),
            Self::Ask { reason, .. } => Self::Ask { reason, in_every_mode: true },
        }
    }
}

impl Engine {
    /// An engine that goes by this policy.
    pub fn new(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// What it goes by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Judges a call.
    pub fn judge(&self, question: &Question<'_>) -> Judgement {
        let class = class::of_tool(question.tool);
        let subject = Subject::new(question, class, self.policy.home.as_deref());
        let danger = self.danger(question, class, &subject);
        let judgement = self
            .by_deny_rule(question, &subject)
            .or_else(|| readonly(class))
            .or_else(|| invalid_address(class, &subject))
            .or_else(|| self.by_danger(danger.as_deref()))
            .or_else(|| self.by_ask_rule(question, &subject))
            .or_else(|| self.by_allow_rule(question, class, &subject))
            .unwrap_or_else(|| self.by_class(question, class, &subject));
        Judgement { dangerous: danger.is_some(), ..judgement }
    }

    /// Allows what this rule covers until the session ends.
    pub fn grant(&self, rule: Rule) {
        self.grants.write().unwrap_or_else(PoisonError::into_inner).push(rule);
    }

    /// What was granted in this session.
    pub fn grants(&self) -> Vec<Rule> {
        self.grants.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The narrowest rules that would allow a call: what to grant when the answer is "for this session".
    /// Empty if no rule could.
    pub fn suggest(&self, question: &Question<'_>) -> Vec<Rule> {
        let class = class::of_tool(question.tool);
        let subject = Subject::new(question, class, self.policy.home.as_deref());
        let name = &question.tool.name;
        if let Some(script) = &subject.script {
            return bash::suggest(name, script);
        }
        let contents: Vec<String> = match subject.host() {
            Some(host) => vec![format!("domain:{host}")],
            None => {
                let real = subject.paths.iter().flat_map(|target| &target.real);
                real.map(|path| globset::escape(&path.display().to_string())).collect()
            }
        };
        let texts = match contents.is_empty() {
            true => vec![name.clone()],
            false => contents.iter().map(|content| format!("{name}({content})")).collect(),
        };
        texts.iter().filter_map(|text| Rule::parse(text).ok()).collect()
    }

    /// Counts a call that was denied, by the engine or by a person.
    pub fn note_denial(&self, tool: &str) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).add(tool);
    }

    /// Takes note of a call that passed.
    pub fn note_allowed(&self, tool: &str) {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).pass(tool);
    }

    /// A text for the model, once a tool has been denied several times in a row.
    pub fn reminder(&self, tool: &str) -> Option<String> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).reminder(tool)
    }

    /// What was denied so far.
    pub fn denials(&self) -> Denials {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn by_deny_rule(&self, question: &Question<'_>, subject: &Subject) -> Option<Judgement> {
        let mut rules = self.policy.deny.iter().filter(|rule| rule.names(question.tool));
        let rule = rules.find(|rule| rule.touches(subject))?;
        let verdict = Verdict::Deny(format!("the rule {rule} denies it"));
        Some(Judgement { verdict, source: format!("rule deny {rule}"), dangerous: false })
    }

    fn by_ask_rule(&self, question: &Question<'_>, subject: &Subject) -> Option<Judgement> {
        let mut rules = self.policy.ask.iter().filter(|rule| rule.names(question.tool));
        let rule = rules.find(|rule| rule.touches(subject))?;
        let verdict = Verdict::Ask(format!("the rule {rule} asks"));
        Some(Judgement { verdict, source: format!("rule ask {rule}"), dangerous: false })
    }

    fn by_danger(&self, danger: Option<&str>) -> Option<Judgement> {
        let danger = danger?;
        let verdict = match (self.policy.dangerous, self.policy.headless) {
            (Dangerous::Allow, _) => return None,
            (Dangerous::Ask, false) => Verdict::Ask(danger.to_owned()),
            (Dangerous::Ask, true) => Verdict::Deny(format!("{danger}; nobody can be asked")),
            (Dangerous::Deny, _) => Verdict::Deny(danger.to_owned()),
        };
        Some(Judgement { verdict, source: format!("dangerous: {danger}"), dangerous: true })
    }

    fn danger(&self, question: &Question<'_>, class: PermissionClass, subject: &Subject) -> Option<String> {
        match class {
            PermissionClass::Bash => bash::find_danger(subject.script.as_ref()?, question, &self.policy),
            PermissionClass::File if reads(question) => None,
            PermissionClass::File => file::find_danger(subject, self.policy.home.as_deref()),
            PermissionClass::Webfetch => webfetch::find_danger(subject.url.as_ref()?.as_ref().ok()?),
            PermissionClass::Readonly | PermissionClass::Generic | PermissionClass::Undeclared => None,
        }
    }

    fn by_allow_rule(&self, question: &Question<'_>, class: PermissionClass, subject: &Subject) -> Option<Judgement> {
        let grants = self.grants.read().unwrap_or_else(PoisonError::into_inner);
        let named = |rule: &&Rule| rule.names(question.tool);
        let granted: Vec<&Rule> = grants.iter().filter(named).collect();
        let mut rules: Vec<&Rule> = self.policy.allow.iter().filter(named).collect();
        let covered = |rules: &[&Rule]| match class {
            PermissionClass::Bash => bash::is_covered(subject, rules, question, &self.policy),
            PermissionClass::File
            | PermissionClass::Webfetch
            | PermissionClass::Readonly
            | PermissionClass::Generic
            | PermissionClass::Undeclared => subject.is_covered_by(rules),
        };
        // What needs no rule is not said to come from one.
        if rules.is_empty() && granted.is_empty() || class == PermissionClass::Bash && covered(&[]) {
            return None;
        }
        let kind = match covered(&rules) {
            true => "rule allow",
            false => {
                rules.extend(&granted);
                covered(&rules).then_some("session grant")?
            }
        };
        let used: Vec<String> =
            rules.iter().filter(|rule| rule.touches(subject)).map(|rule| rule.to_string()).collect();
        Some(Judgement { verdict: Verdict::Allow, source: format!("{kind} {}", used.join(", ")), dangerous: false })
    }

    fn by_class(&self, question: &Question<'_>, class: PermissionClass, subject: &Subject) -> Judgement {
        let said = match class {
            PermissionClass::Bash => subject.script.as_ref().map(|script| {
                let mut rules = self.policy.deny.iter().chain(&self.policy.ask);
                let looks_closer = rules.any(|rule| rule.names(question.tool) && bash::looks_at_commands(rule));
                bash::judge(script, question, looks_closer)
            }),
            PermissionClass::File if reads(question) => Some(ClassVerdict::allow("class file: reads")),
            PermissionClass::File => Some(file::judge(subject, &self.policy)),
            PermissionClass::Webfetch => subject.url.as_ref().and_then(|url| url.as_ref().ok()).map(webfetch::judge),
            PermissionClass::Readonly | PermissionClass::Generic | PermissionClass::Undeclared => None,
        };
        let name = &question.tool.name;
        match said.unwrap_or_else(|| ClassVerdict::ask(format!("no rule says whether {name} may be used"))) {
            ClassVerdict::Allow(source) => Judgement { verdict: Verdict::Allow, source, dangerous: false },
            ClassVerdict::Ask { in_every_mode: false, .. } if self.policy.mode == Mode::Yolo => {
                Judgement { verdict: Verdict::Allow, source: "mode yolo".to_owned(), dangerous: false }
            }
            ClassVerdict::Ask { reason, .. } => {
                let source = format!("class {}", class_name(class));
                Judgement { verdict: Verdict::Ask(reason), source, dangerous: false }
            }
        }
    }
}

/// Everything of this class that is not denied passes.
fn readonly(class: PermissionClass) -> Option<Judgement> {
    let judgement = || Judgement { verdict: Verdict::Allow, source: "class readonly".to_owned(), dangerous: false };
    (class == PermissionClass::Readonly).then(judgement)
}

/// What is no web address is not fetched in any mode.
fn invalid_address(class: PermissionClass, subject: &Subject) -> Option<Judgement> {
    let problem = subject.url.as_ref().filter(|_| class == PermissionClass::Webfetch)?.as_ref().err()?;
    Some(Judgement { verdict: Verdict::Deny(problem.clone()), source: "class webfetch".to_owned(), dangerous: false })
}

/// Whether a tool of the file class only reads.
fn reads(question: &Question<'_>) -> bool {
    question.tool.metadata.audit_operation == "read" && question.effect.is_none()
}

fn class_name(class: PermissionClass) -> &'static str {
    match class {
        PermissionClass::Bash => "bash",
        PermissionClass::File => "file",
        PermissionClass::Webfetch => "webfetch",
        PermissionClass::Readonly => "readonly",
        PermissionClass::Generic | PermissionClass::Undeclared => "generic",
    }
}

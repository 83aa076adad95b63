//! The models to change between, as `--models` names them.

use crate::output;
use dryad_agent::models::ModelList;
use dryad_protocol::model::Model;

/// The models that can be asked and that one of the names fits, in the order of the names. A name that fits none
/// is told and left out.
pub(super) fn scope(names: &[String], models: &dyn ModelList) -> Vec<Model> {
    if names.is_empty() {
        return Vec::new();
    }
    let (available, mut scope) = (models.available(), Vec::<Model>::new());
    for name in names {
        let fitting: Vec<&Model> = available.iter().filter(|model| is_called(model, name)).collect();
        if fitting.is_empty() {
            output::note(&format!("--models: no model that can be asked is called {name}"));
        }
        for model in fitting {
            if !scope.iter().any(|known| known.full_name() == model.full_name()) {
                scope.push(model.clone());
            }
        }
    }
    scope
}

/// Whether a name means this model: `provider/id` or `id`, where `*` stands for anything.
fn is_called(model: &Model, name: &str) -> bool {
    fits(name, &model.full_name()) || fits(name, &model.id)
}

fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.trim().to_lowercase(), text.to_lowercase());
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for pattern in ["mock-a", "MOCK-A", "*", "m*", "*a", "m*-*", "mo*k*a", "mock-a*"] {
            assert!(fits(pattern, "mock-a"), "{pattern}");
        }
        for pattern in ["mock", "a*", "*b", "m*x*a", "", "mock-a*a"] {
            assert!(!fits(pattern, "mock-a"), "{pattern}");
        }
    }
}

//! Ids as short as they can be while they still name one operation.
//!
//! Ids rise with time, so those that begin alike stand beside each other: it is enough to know an
//! id's neighbours.

use dryad_protocol::id::OperationId;
use dryad_safety::oplog::FileLog;
use std::collections::BTreeSet;
use std::ops::Bound;

/// Shorter beginnings are not shown: with every new operation they would be less unique.
const SHORTEST: usize = 10;

/// So much of an id names an operation for ever: the moment, and what tells those of one moment apart.
const LASTING: usize = 24;

/// The beginning of `id` that no other operation will ever have, for words that are to be used later.
pub(in crate::mode) fn lasting(id: &OperationId) -> String {
    id.as_str().chars().take(LASTING).collect()
}

/// Knows how much of each id is needed.
#[derive(Clone, Debug, Default)]
pub(in crate::mode) struct ShortIds {
    known: BTreeSet<String>,
}

impl ShortIds {
    /// Knows the ids of a log from the newest down to the last of `wanted`, and one more.
    pub(in crate::mode) fn reaching(log: &FileLog, wanted: &[&OperationId]) -> Self {
        let mut ids = Self::default();
        let mut missing: BTreeSet<&str> = wanted.iter().map(|id| id.as_str()).collect();
        for entry in log.newest_first().filter_map(Result::ok) {
            let was_last = missing.is_empty();
            missing.remove(entry.head.id.as_str());
            ids.add(&entry.head.id);
            if was_last {
                break;
            }
        }
        ids
    }

    /// Takes one more id into account.
    pub(in crate::mode) fn add(&mut self, id: &OperationId) {
        self.known.insert(id.as_str().to_owned());
    }

    /// The beginning of `id` that no other known id has. Of one that is not known itself, the neighbours are not
    /// known either.
    pub(in crate::mode) fn short(&self, id: &OperationId) -> String {
        if !self.known.contains(id.as_str()) {
            return lasting(id);
        }
        let id = id.as_str();
        let below = self.known.range::<str, _>((Bound::Unbounded, Bound::Excluded(id))).next_back();
        let above = self.known.range::<str, _>((Bound::Excluded(id), Bound::Unbounded)).next();
        let shared = [below, above].into_iter().flatten().map(|other| shared_start(id, other)).max();
        let needed = shared.map_or(SHORTEST, |shared| SHORTEST.max(shared + 1));
        id.chars().take(needed).collect()
    }
}

/// How many characters two texts have in common at their beginning.
fn shared_start(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_moment_differ_where_they_are_to_last() {
        let made: Vec<OperationId> = (0..1000).map(|_| dryad_safety::oplog::new_id()).collect();
        let beginnings: BTreeSet<String> = made.iter().map(lasting).collect();
        assert_eq!(beginnings.len(), made.len());
    }

    #[test]
    fn an_id_is_as_long_as_its_neighbours_make_it() {
        let mut ids = ShortIds::default();
        for id in ["0123456789abcd", "0123456789abff", "5123456789abff"] {
            ids.add(&id.into());
        }
        assert_eq!(ids.short(&"0123456789abcd".into()), "0123456789abc");
        assert_eq!(ids.short(&"0123456789abff".into()), "0123456789abf");
        assert_eq!(ids.short(&"5123456789abff".into()), "5123456789");
        assert_eq!(ids.short(&"7".into()), "7");
    }
}

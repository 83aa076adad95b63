//! Takes a change of owner, group or attributes back: each of them by itself, and what was changed since stays.

use super::{Bearing, NotGiven, Owner, USER};
use rustix::process::{geteuid, getgroups};
use std::collections::BTreeSet;

/// What taking back comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Everything is as it was before the change.
    Restored,
    /// What the change did is gone, and what was changed since is there.
    Merged,
    /// It was so already.
    AlreadySo,
    /// All that the change did was changed since.
    KeptYours,
}

/// A change of a bearing that is taken back.
#[derive(Clone, Debug)]
pub(crate) struct Return {
    pub(crate) kind: Kind,
    /// What is to be borne then.
    pub(crate) wanted: Bearing,
    /// What is borne now.
    pub(crate) now: Bearing,
}

/// What was found of the parts of a bearing.
#[derive(Debug, Default)]
struct Tally {
    taken_back: bool,
    yours: bool,
}

impl Tally {
    /// What is to be there where `before` became `after` and `now` is there.
    fn back<T: PartialEq>(&mut self, before: T, after: T, now: T) -> T {
        if before == after || now == before {
            return now;
        }
        let is_untouched = now == after;
        self.taken_back |= is_untouched;
        self.yours |= !is_untouched;
        if is_untouched { before } else { now }
    }
}

impl Return {
    /// Takes back that `before` became `after` where `now` is borne.
    pub(crate) fn new(before: &Bearing, after: &Bearing, now: Bearing) -> Self {
        let mut tally = Tally::default();
        let user = tally.back(before.owner.0, after.owner.0, now.owner.0);
        let group = tally.back(before.owner.1, after.owner.1, now.owner.1);
        let sides = [before, after, &now];
        let names: BTreeSet<&Vec<u8>> =
            sides.into_iter().flat_map(|side| side.attributes.iter().map(|(name, _)| name)).collect();
        let value = |name: &Vec<u8>| {
            let [before, after, now] = sides.map(|side| side.value(name));
            Some((name.clone(), tally.back(before, after, now)?.to_vec()))
        };
        let attributes = names.into_iter().filter_map(value).collect();
        let wanted = Bearing { owner: (user, group), attributes };
        let kind = match tally {
            Tally { taken_back: true, .. } if wanted == *before => Kind::Restored,
            Tally { taken_back: true, .. } => Kind::Merged,
            Tally { yours: true, .. } => Kind::KeptYours,
            Tally { .. } => Kind::AlreadySo,
        };
        Self { kind, wanted, now }
    }

    /// As much of what is wanted as this user can give to what stays where it is, and what is missing.
    pub(crate) fn within_reach(&self) -> (Bearing, Option<NotGiven>) {
        let (wanted, now) = (&self.wanted, &self.now);
        if geteuid().is_root() {
            return (wanted.clone(), None);
        }
        let is_ours = now.owner.0 == geteuid().as_raw();
        let group = if is_ours && is_member(wanted.owner.1) { wanted.owner.1 } else { now.owner.1 };
        let owner: Owner = (now.owner.0, group);
        let can_set = |name: &[u8]| name.starts_with(USER) || (is_ours && name.starts_with(b"system."));
        let given = wanted.attributes.iter().filter(|(name, _)| can_set(name));
        let left = now.attributes.iter().filter(|(name, _)| !can_set(name));
        let mut attributes: Vec<_> = given.chain(left).cloned().collect();
        attributes.sort();
        let reached = Bearing { owner, attributes };
        let missing = match reached.owner == wanted.owner {
            false => Some(NotGiven::Owner),
            true => (reached != *wanted).then_some(NotGiven::Attributes),
        };
        (reached, missing)
    }
}

impl Bearing {
    fn value(&self, name: &[u8]) -> Option<&[u8]> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_slice())
    }

    /// Names of the attributes that differ, for people.
    pub(crate) fn differing(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&Vec<u8>> = self.attributes.iter().chain(&other.attributes).map(|(name, _)| name).collect();
        let differ = names.into_iter().filter(|name| self.value(name) != other.value(name));
        differ.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }
}

/// Whether this user may give what is his to a group.
pub(super) fn is_member(group: u32) -> bool {
    let groups = getgroups().unwrap_or_default();
    group == super::own().1 || groups.iter().any(|member| member.as_raw() == group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearing(owner: Owner, attributes: &[(&str, &str)]) -> Bearing {
        let attributes = attributes.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        Bearing { owner, attributes: attributes.collect() }
    }

    fn check(before: &Bearing, after: &Bearing, now: &Bearing, wanted: &Bearing, kind: Kind) {
        let back = Return::new(before, after, now.clone());
        assert_eq!((back.kind, &back.wanted), (kind, wanted));
    }

    #[test]
    fn each_part_is_taken_back_by_itself() {
        let before = bearing((1, 1), &[("user.a", "1"), ("user.b", "1")]);
        let after = bearing((2, 1), &[("user.a", "2"), ("user.c", "1")]);
        check(&before, &after, &after, &before, Kind::Restored);
        check(&before, &after, &before, &before, Kind::AlreadySo);
        let since = bearing((2, 3), &[("user.a", "2"), ("user.c", "1")]);
        let merged = bearing((1, 3), &[("user.a", "1"), ("user.b", "1")]);
        check(&before, &after, &since, &merged, Kind::Merged);
        let since = bearing((3, 1), &[("user.a", "3"), ("user.c", "1")]);
        let merged = bearing((3, 1), &[("user.a", "3"), ("user.b", "1")]);
        check(&before, &after, &since, &merged, Kind::Merged);
    }

    #[test]
    fn what_was_changed_since_stays() {
        let (before, after) = (bearing((1, 1), &[]), bearing((2, 1), &[]));
        let since = bearing((3, 1), &[]);
        check(&before, &after, &since, &since, Kind::KeptYours);
        // What the change left alone is nobody's business.
        let since = bearing((1, 1), &[("user.own", "x")]);
        check(&before, &after, &since, &since, Kind::AlreadySo);
    }
}

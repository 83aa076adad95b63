//! What an undo may do: the reference's word on every verdict.
//!
//! A verdict is a promise about a path. The judge says whether it could be given in the tree as it was, and what the
//! tree must be if it is kept; whatever the promise does not mention stays.

use super::text;
use super::tree::{Node, Record, Tree, assert_well_formed, has_entries, is_same};
use dryad_safety::undo::{PathReport, Verdict};
use std::path::{Path, PathBuf};

/// The tree that a report promises. Fails if it says what must not be, or leaves something out. `parts` is what was taken
/// back of operations before.
pub(super) fn promised(tree: &Tree, record: &Record, parts: &[&Record], paths: &[PathReport], root: &Path) -> Tree {
    let mut promised = tree.clone();
    let relative = |path: &Path| path.strip_prefix(root).unwrap().to_owned();
    let told: Vec<PathBuf> = paths.iter().map(|report| relative(report.path.as_path())).collect();
    for path in record.keys() {
        assert!(told.contains(path), "{path:?} was changed, and the report does not mention it");
    }
    for (path, report) in told.iter().zip(paths) {
        let Some((before, after)) = record.get(path) else {
            assert_eq!(report.verdict, Verdict::AlreadySo, "{path:?} was not changed");
            continue;
        };
        let case = Case { path, now: tree.get(path), before: before.as_ref(), after: after.as_ref() };
        match &report.verdict {
            Verdict::Restored => case.restored(&mut promised),
            Verdict::RestoredBut(why) => panic!("{path:?} lacks something: {why}"),
            Verdict::AlreadySo => {
                let is_so = is_same(case.now, case.before) || parts.iter().any(|part| case.is_left_by(part));
                assert!(is_so, "{path:?} is not so already");
            }
            Verdict::Merged => case.merged(&mut promised),
            Verdict::KeptYours => {
                let is_taken_back = parts.iter().any(|part| case.is_taken_back_by(part));
                assert!(is_taken_back && !is_same(case.now, case.before), "{path:?} is not the user's");
            }
            Verdict::Conflict { ours_at } => {
                assert!(!is_same(case.now, case.before), "{path:?} is as it was, so there is no conflict");
                match ours_at {
                    Some(place) => case.beside(&mut promised, relative(place.as_path())),
                    None => case.nowhere(),
                }
            }
            Verdict::Cannot(_) => {}
        }
    }
    add_lost_parents(&mut promised);
    assert_well_formed(&promised, "what the report promises");
    for (path, report) in told.iter().zip(paths) {
        assert_needed(tree, &promised, record, path, &report.verdict);
    }
    promised
}

/// A path's past.
struct Case<'a> {
    path: &'a PathBuf,
    now: Option<&'a Node>,
    before: Option<&'a Node>,
    after: Option<&'a Node>,
}

impl Case<'_> {
    fn is_taken_back_by(&self, part: &Record) -> bool {
        part.get(self.path)
            .is_some_and(|(before, after)| is_same(before.as_ref(), self.after) && is_same(after.as_ref(), self.before))
    }

    fn is_left_by(&self, part: &Record) -> bool {
        part.get(self.path).is_some_and(|(_, after)| is_same(after.as_ref(), self.now))
    }

    fn restored(&self, promised: &mut Tree) {
        assert!(
            is_same(self.now, self.after),
            "{:?} is not as the operation left it: somebody's work is lost",
            self.path
        );
        match self.before {
            Some(node) => promised.insert(self.path.clone(), node.clone()),
            None => promised.remove(self.path),
        };
    }

    fn merged(&self, promised: &mut Tree) {
        let (Some(now), Some(Node::File { bytes: ours, mode: our_mode, .. }), Some(after)) =
            (self.now, self.before, self.after)
        else {
            panic!("{:?} cannot be merged", self.path)
        };
        let (Node::File { bytes: theirs, mode: their_mode, .. }, Node::File { bytes: base, mode: base_mode, .. }) =
            (now, after)
        else {
            panic!("{:?} cannot be merged", self.path)
        };
        let bytes = text::merge(base, ours, theirs);
        let bytes = bytes.unwrap_or_else(|| panic!("{:?} was merged, yet the changes contradict", self.path));
        let mode = *text::settle(base_mode, our_mode, their_mode).unwrap_or(their_mode);
        let merged = Node::File { bytes, mode, modified: None };
        if !is_same(Some(&merged), self.now) {
            promised.insert(self.path.clone(), merged);
        }
    }

    fn nowhere(&self) {
        let Some(Node::File { bytes: ours, .. }) = self.before else { return };
        let is_ours = |node: Option<&Node>| matches!(node, Some(Node::File { bytes, .. }) if bytes == ours);
        // Where only bits were changed there may be nothing to keep.
        assert!(is_ours(self.now) || is_ours(self.after), "{:?}: ours is not kept", self.path);
    }

    fn beside(&self, promised: &mut Tree, place: PathBuf) {
        let Some(Node::File { .. }) = self.before else { panic!("{:?} had no content to be put beside", self.path) };
        assert!(place.to_string_lossy().starts_with(&format!("{}.before-", self.path.to_string_lossy())), "{place:?}");
        let replaced = promised.insert(place, self.before.unwrap().clone());
        assert_eq!(replaced, None, "ours has taken somebody's place");
    }
}

/// Directories that are gone come back for what has to lie in them.
fn add_lost_parents(promised: &mut Tree) {
    let paths: Vec<PathBuf> = promised.keys().cloned().collect();
    for above in paths.iter().flat_map(|path| path.ancestors().skip(1)) {
        if !above.as_os_str().is_empty() {
            promised.entry(above.to_owned()).or_insert(Node::Directory { mode: 0o755 });
        }
    }
}

/// Fails if a conflict or an inability is told without need.
fn assert_needed(tree: &Tree, promised: &Tree, record: &Record, path: &PathBuf, verdict: &Verdict) {
    let Some((before, after)) = record.get(path) else { return };
    let is_untouched = is_same(tree.get(path), after.as_ref());
    let is_directory = |node: Option<&Node>| matches!(node, Some(Node::Directory { .. }));
    let holds_others = is_directory(after.as_ref()) && !is_directory(before.as_ref()) && has_entries(promised, path);
    let is_homeless = path
        .ancestors()
        .skip(1)
        .filter(|above| !above.as_os_str().is_empty())
        .any(|above| promised.get(above).is_some_and(|node| !matches!(node, Node::Directory { .. })));
    match verdict {
        Verdict::Restored | Verdict::RestoredBut(_) | Verdict::AlreadySo | Verdict::Merged | Verdict::KeptYours => {}
        Verdict::Conflict { .. } => assert!(!is_untouched || holds_others, "{path:?}: a conflict with nobody"),
        Verdict::Cannot(why) if why.contains("vault") => {}
        Verdict::Cannot(why) => assert!(is_homeless, "{path:?}: it could be undone, but: {why}"),
    }
}

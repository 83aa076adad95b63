//! Branches, late parents and circles.

use super::*;

fn tree(entries: &[(&str, Option<&str>)]) -> (Tree, Vec<Problem>) {
    let (mut tree, mut late, mut problems) = (Tree::default(), LateParents::default(), Vec::new());
    for (id, parent) in entries {
        let parent = parent.map(EntryId::from);
        let known = parent.as_ref().map(|parent| tree.position(parent));
        let found = known.as_ref().and_then(|known| known.as_ref().ok().copied());
        let node =
            Node { id: EntryId::from(*id), parent: found, kind: Kind::Other, line: None, entry: OnceLock::new() };
        let position = tree.push(node);
        if let (Some(Err(_)), Some(parent)) = (known, parent) {
            late.remember(position, parent);
        }
    }
    late.link(&mut tree, &mut problems);
    (tree, problems)
}

fn branch(tree: &Tree, id: &str) -> String {
    tree.branch_to(&EntryId::from(id)).unwrap().iter().map(|node| node.id.as_str()).collect()
}

#[test]
fn a_moved_leaf_starts_another_branch_and_nothing_is_lost() {
    let (mut tree, _) = tree(&[("a", None), ("b", Some("a")), ("c", Some("a"))]);
    assert_eq!((branch(&tree, "b"), branch(&tree, "c")), ("ab".to_owned(), "ac".to_owned()));
    tree.move_leaf(Some(&EntryId::from("b"))).unwrap();
    assert_eq!(tree.leaf(), Some(&EntryId::from("b")));
    let children = tree.children(Some(&EntryId::from("a"))).unwrap();
    assert_eq!(children.iter().map(|node| node.id.as_str()).collect::<String>(), "bc");
    let shared = tree.common_ancestor(&EntryId::from("b"), &EntryId::from("c")).unwrap();
    assert_eq!(shared.unwrap().id.as_str(), "a");
    tree.move_leaf(None).unwrap();
    assert!(tree.branch().is_empty());
}

#[test]
fn an_unknown_entry_is_refused_and_the_leaf_stays() {
    let (mut tree, _) = tree(&[("a", None)]);
    let unknown = EntryId::from("nope");
    assert_eq!(tree.move_leaf(Some(&unknown)), Err(UnknownEntry(unknown.clone())));
    assert_eq!(tree.leaf().map(EntryId::as_str), Some("a"));
}

#[test]
fn a_missing_parent_makes_a_root() {
    let (tree, problems) = tree(&[("a", Some("x")), ("b", Some("a"))]);
    assert_eq!(branch(&tree, "b"), "ab");
    assert_eq!(problems, [Problem::MissingParent { entry: "a".into(), parent: "x".into() }]);
}

#[test]
fn a_parent_that_comes_later_is_found() {
    let (tree, problems) = tree(&[("b", Some("a")), ("a", None)]);
    assert_eq!((branch(&tree, "b"), problems), ("ab".to_owned(), Vec::new()));
}

#[test]
fn circles_are_cut() {
    for circle in [
        vec![("a", Some("a"))],
        vec![("a", Some("b")), ("b", Some("a"))],
        vec![("a", Some("c")), ("b", Some("a")), ("c", Some("b")), ("d", Some("c"))],
        vec![("x", Some("b")), ("a", Some("b")), ("b", Some("a")), ("y", Some("z")), ("z", Some("y"))],
    ] {
        let (tree, problems) = tree(&circle);
        let circles = circle.iter().filter(|(id, _)| ["a", "y"].contains(id)).count();
        assert_eq!(problems.len(), circles, "{circle:?} {problems:?}");
        assert!(problems.iter().all(|problem| matches!(problem, Problem::Cycle { .. })));
        for (id, _) in &circle {
            assert!(tree.branch_to(&EntryId::from(*id)).unwrap().len() <= circle.len());
        }
    }
}

#[test]
fn many_links_to_later_entries_are_followed_in_time() {
    let ids: Vec<String> = (0..50_000).map(|number| format!("e{number}")).collect();
    let entries: Vec<_> = ids
        .iter()
        .zip(ids.iter().skip(1).map(|id| Some(id.as_str())).chain([None]))
        .map(|(id, parent)| (id.as_str(), parent))
        .collect();
    let (tree, problems) = tree(&entries);
    assert_eq!((tree.branch_to(&EntryId::from("e0")).unwrap().len(), problems.len()), (50_000, 0));
}

//! An ordinary user among what belongs to others: root lays it out and starts each of these tests as that user.

use super::changes::said;
use super::place::{Place, is_root, print_of};
use super::user::{SOMEBODY, as_somebody};
use dryad_effects::rehearse::{RehearsalRequest, Rung, Uncarried};
use dryad_protocol::command::CommandEnd;
use dryad_protocol::path::FilePath;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

/// A place for everybody's files with others' in it, and a tree of the user's own in a directory of root's.
fn lay_out(place: &Path) {
    let everybodys = place.join("everybodys");
    fs::create_dir_all(everybodys.join("theirs/tree/deep")).unwrap();
    fs::create_dir(everybodys.join("empty")).unwrap();
    for name in ["gone", "replaced"] {
        fs::write(everybodys.join(name), "root's").unwrap();
    }
    fs::write(everybodys.join("mine"), "mine").unwrap();
    fs::write(everybodys.join("theirs/tree/old"), "old\n").unwrap();
    fs::write(everybodys.join("theirs/tree/deep/old"), "old\n").unwrap();
    for name in ["mine", "theirs/tree", "theirs/tree/old", "theirs/tree/deep", "theirs/tree/deep/old"] {
        chown(everybodys.join(name), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    }
    fs::set_permissions(&everybodys, fs::Permissions::from_mode(0o1777)).unwrap();
    fs::create_dir(place.join("group")).unwrap();
    chown(place.join("group"), Some(SOMEBODY), Some(0)).unwrap();
}

fn start(test: &str) {
    if !is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    lay_out(place.path());
    let said = as_somebody(place.path(), &["--exact", &format!("rehearse::foreign::{test}"), "--nocapture"]);
    assert!(said.contains("1 passed"), "{said}");
}

/// Where root has laid it out, if it has.
fn everybodys() -> Option<PathBuf> {
    let place = std::env::var_os("DRYAD_TEST_PLACE").map(PathBuf::from)?;
    place.join("everybodys").canonicalize().ok().filter(|_| !is_root())
}

#[test]
fn a_tree_of_ones_own_that_has_another_group_can_be_changed_and_is_not_named() {
    start("in_a_tree_of_a_group");
}

#[tokio::test]
async fn in_a_tree_of_a_group() {
    let Some(everybodys) = everybodys() else { return };
    let tree = everybodys.with_file_name("group");
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        let command = format!("echo x > {}/new", tree.display());
        let request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(&command) };
        let request = RehearsalRequest { roots: vec![tree.clone()], ..request };
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!((rehearsed.changes.len(), &rehearsed.limits), (1, &Vec::new()), "{rung}");
        place.apply(&rehearsed).unwrap();
        place.undo(&rehearsed).unwrap();
    }
}

#[test]
fn an_own_tree_below_anothers_directory_gets_a_layer_of_its_own() {
    start("inside_an_own_tree");
}

#[tokio::test]
async fn inside_an_own_tree() {
    let Some(everybodys) = everybodys() else { return };
    let tree = everybodys.join("theirs/tree");
    let before = print_of(&tree);
    let command = "echo more >> old; echo more >> deep/old; mkdir new; echo x > new/x; mv deep moved; \
                   echo y > ../../loose; mv new/x ../../x";
    for (work, rung) in [("", Rung::Overlay), ("", Rung::Tmpfs), ("deep", Rung::Overlay)] {
        let place = Place::new();
        let work = tree.join(work);
        let mut request = RehearsalRequest {
            highest: rung,
            lowest: rung,
            ..place.request(&format!("cd {}; {command}", tree.display()))
        };
        request.command.cwd = FilePath::new(&work);
        request.roots = vec![work, everybodys.clone()];
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!(rehearsed.outcome.output.text, "", "{rung}");
        assert_eq!(rehearsed.outcome.end, CommandEnd::Exited { code: 0 });
        assert_eq!(print_of(&tree), before);
        place.apply(&rehearsed).unwrap();
        assert_eq!(fs::read_to_string(tree.join("moved/old")).unwrap(), "old\nmore\n");
        assert_eq!(fs::read_to_string(everybodys.join("x")).unwrap(), "x\n");
        place.undo(&rehearsed).unwrap();
        assert_eq!(print_of(&tree), before);
    }
}

#[test]
fn a_home_below_anothers_directory_gets_one_as_well() {
    start("inside_a_home");
}

#[tokio::test]
async fn inside_a_home() {
    let Some(everybodys) = everybodys() else { return };
    let home = everybodys.join("theirs/tree");
    let place = Place::new();
    let command = format!("cd {}; echo x > new; echo more >> old; cat old", home.display());
    for granted in [true, false] {
        let mut request = place.request(&command);
        request.watched = vec![home.clone(), everybodys.clone()];
        if granted {
            request.roots.push(everybodys.clone());
        }
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!(rehearsed.outcome.output.text, "old\nmore\n");
        let counts = (rehearsed.changes.len(), rehearsed.outside_writes.len());
        assert_eq!(counts, if granted { (2, 0) } else { (0, 2) });
    }
}

#[test]
fn what_the_sticky_bit_protects_is_told_and_the_rest_is_applied() {
    start("inside_a_sticky_directory");
}

#[tokio::test]
async fn inside_a_sticky_directory() {
    let Some(everybodys) = everybodys() else { return };
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        let command = "rm -f gone; rm -f replaced; echo other > replaced; rmdir empty; mkdir empty; \
                       echo x > empty/x; echo more >> mine; echo new > new";
        let mut request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(command) };
        request.command.cwd = FilePath::new(&everybodys);
        request.roots = vec![everybodys.clone()];
        let look = "ls -lR --time-style=+ .; cat gone replaced mine";
        let before = place.run_directly(look, &everybodys);
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!(place.run_directly(look, &everybodys), before);
        let name = |path: &FilePath| path.as_path().strip_prefix(&everybodys).unwrap().display().to_string();
        let forbidden = ["empty", "gone", "replaced"].map(|name| (name.to_owned(), Uncarried::Forbidden));
        assert_eq!(said(&rehearsed, &everybodys), forbidden);
        let changed: Vec<String> = rehearsed.changes.iter().map(|change| name(&change.path)).collect();
        assert_eq!(changed, ["mine", "new"]);
        place.apply(&rehearsed).unwrap();
        assert_eq!(fs::read_to_string(everybodys.join("replaced")).unwrap(), "root's");
        assert_eq!(fs::read_to_string(everybodys.join("mine")).unwrap(), "minemore\n");
        place.undo(&rehearsed).unwrap();
        assert_eq!(place.run_directly(look, &everybodys), before);
    }
}

#[test]
fn what_may_not_be_made_in_anothers_directory_is_told() {
    start("inside_anothers_directory");
}

#[tokio::test]
async fn inside_anothers_directory() {
    let Some(everybodys) = everybodys() else { return };
    let place = Place::new();
    let theirs = everybodys.join("theirs");
    let mut request = place.request("echo x > new; echo more >> tree/old; chmod 700 .; true");
    request.command.cwd = FilePath::new(&theirs);
    request.roots = vec![theirs.clone()];
    let rehearsed = place.start(&request).await.unwrap();
    assert_eq!(said(&rehearsed, &theirs), ["", "new"].map(|name| (name.to_owned(), Uncarried::Forbidden)));
    assert_eq!(rehearsed.changes.len(), 1, "{:?}", rehearsed.changes);
    place.apply(&rehearsed).unwrap();
    place.undo(&rehearsed).unwrap();
}

#[test]
fn a_rename_that_the_sticky_bit_forbids_fails_and_takes_nothing_away() {
    start("inside_a_sticky_directory_with_renames");
}

#[tokio::test]
async fn inside_a_sticky_directory_with_renames() {
    let Some(everybodys) = everybodys() else { return };
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        let command = "for it in 'mine replaced' 'gone taken' 'empty taken'; do \
                       perl -e 'rename($ARGV[0], $ARGV[1]) or print qq($!\\n)' $it; done; mv mine moved; ls";
        let mut request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(command) };
        request.command.cwd = FilePath::new(&everybodys);
        request.roots = vec![everybodys.clone()];
        let rehearsed = place.start(&request).await.unwrap();
        let refused = "Operation not permitted\n".repeat(3);
        assert_eq!(rehearsed.outcome.output.text, format!("{refused}empty\ngone\nmoved\nreplaced\ntheirs\n"), "{rung}");
        assert_eq!(said(&rehearsed, &everybodys), []);
        let changed: Vec<_> = rehearsed.changes.iter().map(|change| change.path.as_path().to_owned()).collect();
        assert_eq!(changed, [everybodys.join("mine"), everybodys.join("moved")]);
    }
}

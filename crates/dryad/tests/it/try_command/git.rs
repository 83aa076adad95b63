//! What git would drop is in the change set, because its directory is in the tree: nothing is lost.

use super::{ended, print, scene};
use crate::rehearsal::print::print_of;
use crate::scene::Scene;
use std::path::Path;
use std::process::Command;

/// A repository with history, a branch, a stash, staged, changed, untracked and ignored files.
const PREPARE: &str = "
    git init -q -b main . && git config user.name t && git config user.email t@example.org &&
    git config gc.auto 0 && echo '*.log' > .gitignore &&
    echo 1 > tracked && git add . && git commit -qm one &&
    git branch side && echo 2 > tracked && git commit -qam two &&
    git checkout -q side && echo s > side-file && git add . && git commit -qm side && git checkout -q main &&
    git branch doomed side &&
    echo stashed > tracked && git stash -q && echo staged > staged && git add staged &&
    echo changed >> tracked && echo mine > untracked && mkdir dir && echo deep > dir/untracked && echo x > a.log
";

/// What loses something, and how it is seen that it did.
const COMMANDS: [(&str, &str); 7] = [
    ("git reset --hard HEAD~1", "test $(cat tracked) = 1 && test ! -e staged"),
    ("git clean -fd", "test ! -e untracked && test ! -e dir"),
    ("git clean -fdx", "test ! -e a.log"),
    ("git checkout -- .", "test $(cat tracked) = 2"),
    ("git stash drop", "test -z \"$(git stash list)\""),
    ("git branch -D doomed", "! git rev-parse -q --verify doomed"),
    ("git stash -q && git rebase -q main side", "test $(git rev-list --count side) = 3"),
];

fn shell(directory: &Path, home: &Path, script: &str) -> bool {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]).current_dir(directory).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", home);
    let output = command.output().unwrap();
    output.status.success()
        || !String::from_utf8_lossy(&output.stderr).is_empty() && {
            assert!(!script.contains("git init"), "{output:?}");
            false
        }
}

fn repository() -> Scene {
    let scene = scene();
    assert!(shell(&scene.work(), scene.home().parent().unwrap(), PREPARE));
    scene
}

#[test]
fn every_git_command_that_loses_something_is_applied_and_undone_to_the_byte() {
    let scene = repository();
    let home = scene.home().parent().unwrap().to_owned();
    let before = print(&scene);
    for (command, happened) in COMMANDS {
        assert!(!shell(&scene.work(), &home, happened), "{command} has something to do");
        // The check itself may refresh the index; that is no doing of the command.
        let before_command = print(&scene);
        let (_, told) = ended(scene.run(&["try", "--discard", command]), 0);
        assert_eq!(print(&scene), before_command, "{command} was discarded: {told}");
        let (_, told) = ended(scene.run(&["try", "--apply", command]), 0);
        assert!(shell(&scene.work(), &home, happened), "{command} did its work: {told}");
        assert!(shell(&scene.work(), &home, "git fsck --strict >/dev/null"), "{command} left a sound repository");
        scene.run(&["undo"]).done();
        let after = print_of(&scene.work());
        let differing: Vec<_> = before
            .keys()
            .chain(after.keys())
            .filter(|path| {
                let content = |print: &crate::rehearsal::print::Print| {
                    print.get(*path).map(|(mode, _, bytes)| (*mode, bytes.clone()))
                };
                !path.ends_with(".git/index") && content(&before) != content(&after)
            })
            .collect();
        assert!(differing.is_empty(), "{command} was undone: {differing:?}");
        assert!(
            shell(&scene.work(), &home, "git diff --cached --quiet HEAD -- tracked"),
            "{command}: the index is back"
        );
    }
}

#[test]
fn an_index_that_was_only_refreshed_since_does_not_keep_an_undo_from_its_work() {
    let scene = repository();
    let home = scene.home().parent().unwrap().to_owned();
    let index = || std::fs::read(scene.work().join(".git/index")).unwrap();
    let state = "git status --porcelain && git rev-parse HEAD && git ls-files --stage";
    let said = || {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", state]).current_dir(scene.work()).env("HOME", &home).env("GIT_OPTIONAL_LOCKS", "0");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let before = (index(), said());
    ended(scene.run(&["try", "--apply", "echo n > n; git add n; git commit -qm three n"]), 0);
    let applied = index();
    assert!(shell(&scene.work(), &home, "touch -d 2020-01-01 .gitignore; git status"));
    let refreshed = index();
    assert_ne!(refreshed, applied);
    let undone = scene.run(&["undo"]).done();
    assert!(undone.contains(".git/index  restored"), "{undone}");
    assert!(shell(&scene.work(), &home, "git fsck --strict"), "the repository is sound");
    assert_eq!((index(), said()), before);
    scene.run(&["redo"]).done();
    assert_eq!(index(), refreshed, "what stood there is brought back");
    assert!(shell(&scene.work(), &home, "git fsck --strict && git cat-file -e HEAD:n"));
}

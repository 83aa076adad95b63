//! Real programs with their own ideas of files: git, sqlite, a compiler.

use super::place::{Place, print_of};
use std::fs;
use std::path::Path;
use std::process::Command;

const GIT: &str = "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
                   GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='2001-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2001-01-01 00:00:00 +0000'; ";

fn has(program: &str) -> bool {
    Command::new("/bin/sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

fn shell(command: &str, directory: &Path) {
    let command = format!("{GIT}{command}");
    assert!(Command::new("/bin/bash").args(["-c", &command]).current_dir(directory).status().unwrap().success());
}

/// What `git` knows of a work tree, however it stores it.
fn git_state(place: &Place) -> String {
    let command = format!(
        "{GIT} git log --all --format='%H %D'; git status --porcelain=v2; git stash list; git ls-files -s; git fsck 2>&1 | grep -v dangling"
    );
    place.run_directly(&command, &place.work()).1
}

/// A repository with a history, and work that is not committed.
fn repository(place: &Place) {
    shell(
        "git init -q -b main .; mkdir src; for n in 1 2 3; do echo $n > src/$n; git add .; git commit -qm $n; done; \
         git branch side; echo staged > src/1; git add src/1; echo dirty >> src/2; echo untracked > notes; mkdir new; echo x > new/x",
        &place.work(),
    );
}

#[tokio::test]
async fn what_git_would_drop_is_in_the_change_set_and_comes_back() {
    let cases = [
        ("git reset -q --hard HEAD~1", &["src/1", "src/2", "src/3", ".git/index"][..]),
        ("git clean -qfdx", &["notes", "new", "new/x"][..]),
        ("git checkout -q -- .", &["src/2"][..]),
        ("git stash -q; git stash drop -q", &["src/1", "src/2"][..]),
        ("git branch -q -D side", &[".git/refs/heads/side"][..]),
        ("git stash -q; git rebase -q HEAD~2 --exec 'echo r >> log'; true", &[".git/index"][..]),
        ("git mv src lib; git commit -qam moved; git gc -q", &["src/1", "lib/1"][..]),
    ];
    for (command, lost) in cases {
        let place = Place::quick();
        repository(&place);
        let (original, state) = (place.print(), git_state(&place));
        // Looking at the state refreshes the index.
        let original = if place.print() == original { original } else { place.print() };
        let rehearsed = place.rehearse(&format!("{GIT}{command}")).await;
        assert_eq!(place.print(), original, "{command}");
        for name in lost {
            let path = dryad_protocol::path::FilePath::new(place.at(name));
            assert!(rehearsed.changes.iter().any(|change| change.path == path), "{command}: {name}");
        }
        place.apply(&rehearsed).unwrap_or_else(|error| panic!("{command}: {error}"));
        let fsck = place.run_directly(&format!("{GIT}git fsck --no-dangling 2>&1"), &place.work());
        assert_eq!(fsck.0, 0, "{command}: {}", fsck.1);
        // A look may have written the index anew.
        place.undo(&rehearsed).unwrap_or_else(|error| panic!("{command}: {error}"));
        assert_eq!(place.print(), original, "{command}");
        assert_eq!(git_state(&place), state, "{command}");
    }
}

#[tokio::test]
async fn a_database_written_in_a_rehearsal_is_whole_when_applied() {
    assert!(has("sqlite3"), "sqlite3 is needed; `cargo xtask ci` installs it");
    let place = Place::new();
    shell("sqlite3 db 'create table t(n); insert into t values (1)'", &place.work());
    let command = "sqlite3 db 'pragma journal_mode=wal; begin; insert into t select value from generate_series(2, 500); commit' >/dev/null; sqlite3 db 'insert into t values (0)'";
    let rehearsed = place.rehearse(command).await;
    let ask = "sqlite3 db 'pragma integrity_check; select count(*) from t'";
    assert_eq!(place.run_directly(ask, &place.work()).1, "ok\n1\n");
    place.apply(&rehearsed).unwrap();
    assert_eq!(place.run_directly(ask, &place.work()).1, "ok\n501\n");
}

#[tokio::test]
async fn a_build_in_a_rehearsal_is_fresh_when_applied() {
    let place = Place::new();
    fs::create_dir(place.at("src")).unwrap();
    fs::write(
        place.at("Cargo.toml"),
        "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
    )
    .unwrap();
    fs::write(place.at("src/main.rs"), "fn main() { println!(\"built\"); }\n").unwrap();
    let home = place.root().join("home");
    fs::create_dir(&home).unwrap();
    let build = format!("CARGO_HOME={} CARGO_TARGET_DIR=target cargo build --offline 2>&1", home.display());
    if place.run_directly("cargo --version", &place.work()).0 != 0 {
        return;
    }
    let mut request = place.request(&build);
    request.watched = vec![home];
    let rehearsed = place.start(&request).await.unwrap();
    assert!(!place.at("target").exists());
    assert!(rehearsed.outcome.output.text.contains("Finished"), "{}", rehearsed.outcome.output.text);
    place.apply(&rehearsed).unwrap();
    let again = place.run_directly(&build, &place.work()).1;
    assert!(!again.contains("Compiling") && again.contains("Finished"), "{again}");
    assert_eq!(place.run_directly("target/debug/tiny", &place.work()).1, "built\n");
}

#[tokio::test]
async fn a_package_installed_in_a_rehearsal_works_when_applied() {
    assert!(has("npm"), "npm is needed; `cargo xtask ci` installs it");
    let place = Place::new();
    fs::create_dir_all(place.at("local")).unwrap();
    fs::write(place.at("local/package.json"), r#"{"name": "local", "version": "1.0.0", "main": "index.js"}"#).unwrap();
    fs::write(place.at("local/index.js"), "module.exports = 'here';\n").unwrap();
    fs::write(place.at("package.json"), r#"{"name": "top", "version": "1.0.0"}"#).unwrap();
    let install = "HOME=$PWD/.home npm_config_cache=$PWD/.cache npm install --offline --no-audit --no-fund --install-links ./local 2>&1";
    let original = print_of(&place.work());
    let rehearsed = place.rehearse(install).await;
    assert_eq!(print_of(&place.work()), original);
    place.apply(&rehearsed).unwrap();
    let answer = place.run_directly("node -e 'console.log(require(\"local\"))'", &place.work()).1;
    assert_eq!(answer, "here\n", "{}", rehearsed.outcome.output.text);
    place.undo(&rehearsed).unwrap();
    assert_eq!(print_of(&place.work()), original);
}

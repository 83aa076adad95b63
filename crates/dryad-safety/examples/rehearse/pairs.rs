//! The same command plainly and in a rehearsal.

use crate::place::{Place, share};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Rounds of what takes milliseconds.
const MANY: usize = 40;

/// Rounds of what takes longer.
const FEW: usize = 5;

pub(crate) async fn measure(place: &Place, tree: &Path, figures: &mut Map<String, Value>) {
    let (plain, rehearsed) = alternate(place, "true", &place.work, MANY).await;
    add(figures, "true_plain", share(plain.clone(), 0.1));
    add(figures, "true_rehearsed", share(rehearsed.clone(), 0.1));
    add(figures, "true_more", share(rehearsed, 0.1) - share(plain, 0.1));
    let repository = prepare_repository(place, tree).await;
    let tree = repository.as_path();
    for (name, command) in [("grep", "grep -rq no_such_needle . || true"), ("status", "git status --short >/dev/null")]
    {
        let (plain, rehearsed) = alternate(place, command, tree, FEW).await;
        add(figures, &format!("{name}_plain"), share(plain, 0.5));
        add(figures, &format!("{name}_rehearsed"), share(rehearsed, 0.5));
        add(figures, &format!("{name}_warm"), warm(place, command, tree).await);
    }
    let package = place.work.join("package");
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2021\"\n[workspace]\n").unwrap();
    fs::write(package.join("src/main.rs"), "fn main() {\n    println!(\"hello\");\n}\n").unwrap();
    place.plain(&place.request("cargo build -q --offline --target-dir target", &package)).await;
    let build = "echo '// more' >> src/main.rs && cargo build -q --offline --target-dir target";
    let (plain, rehearsed) = alternate(place, build, &package, FEW * 2).await;
    add(figures, "build_plain", share(plain, 0.5));
    add(figures, "build_rehearsed", share(rehearsed, 0.5));
}

/// The milliseconds of both ways, round by round.
async fn alternate(place: &Place, command: &str, root: &Path, rounds: usize) -> (Vec<f64>, Vec<f64>) {
    let request = place.request(command, root);
    let (mut plain, mut rehearsed) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        plain.push(place.plain(&request).await);
        let (elapsed, done) = place.rehearse(&request).await;
        rehearsed.push(elapsed);
        done.discard();
    }
    (plain, rehearsed)
}

/// The milliseconds of a second command in the same rehearsal.
async fn warm(place: &Place, command: &str, root: &Path) -> f64 {
    let request = place.request(&format!("{command}; {command}"), root);
    let once = place.request(command, root);
    let mut second = Vec::new();
    for _ in 0..FEW {
        // What the first half takes is known; the rest was warm.
        let (both, done) = place.rehearse(&request).await;
        done.discard();
        let (cold, done) = place.rehearse(&once).await;
        done.discard();
        second.push(both - cold);
    }
    share(second, 0.5)
}

/// A copy of the tree that is a repository, made once.
async fn prepare_repository(place: &Place, tree: &Path) -> PathBuf {
    let copy = tree.with_file_name("repository");
    if !copy.join(".git/ready").exists() {
        let script = format!(
            "rm -rf '{0}' && cp -r . '{0}' && cd '{0}' && git init -q . && git config user.name b \
             && git config user.email b@example.org && git add -A && git commit -qm tree && touch .git/ready",
            copy.display()
        );
        place.plain(&place.request(&script, tree)).await;
    }
    copy
}

fn add(figures: &mut Map<String, Value>, name: &str, value: f64) {
    figures.insert(name.to_owned(), json!(value));
}

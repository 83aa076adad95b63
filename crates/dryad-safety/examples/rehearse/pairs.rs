//! The same command plainly, in a bare layer, and in a rehearsal.
//!
//! A bare layer is an overlay mount and nothing else: less than that no rehearsal can cost on this kernel.

use crate::place::{Place, share};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Rounds of what takes milliseconds.
const MANY: usize = 40;

/// Rounds of what takes longer.
const FEW: usize = 5;

/// Functions of a small crate: a build of it takes some hundred milliseconds.
const FUNCTIONS: usize = 1200;

/// What a command costs that does nothing.
pub(crate) async fn nothing(place: &Place, figures: &mut Map<String, Value>) {
    let times = alternate(place, "true", &place.work, MANY).await;
    add(figures, "true_plain", share(times.plain.clone(), 0.1));
    add(figures, "true_rehearsed", share(times.rehearsed.clone(), 0.1));
    add(figures, "true_more", share(times.rehearsed, 0.1) - share(times.plain, 0.1));
}

/// Commands that look at every file of a large tree. The last two of them write as well, so that they get a layer.
pub(crate) async fn reading(place: &Place, tree: &Path, figures: &mut Map<String, Value>) {
    let repository = prepare_repository(place, tree).await;
    let tree = repository.as_path();
    for (name, command) in [
        ("grep", "grep -rq no_such_needle . || true"),
        ("status", "git status --short >/dev/null"),
        ("layered_grep", "grep -rq no_such_needle . || touch not_found"),
        ("layered_status", "git status --short >/dev/null; touch .git/seen"),
    ] {
        add_medians(figures, name, alternate(place, command, tree, FEW).await);
        add(figures, &format!("{name}_warm"), warm(place, command, tree).await);
    }
}

/// Builds of one changed file: in a crate of no more than a line, and in a small one.
pub(crate) async fn building(place: &Place, figures: &mut Map<String, Value>) {
    for (name, functions) in [("tiny", 0), ("build", FUNCTIONS)] {
        let package = place.work.join(name);
        fs::create_dir_all(package.join("src")).unwrap();
        fs::write(package.join("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2021\"\n[workspace]\n").unwrap();
        fs::write(package.join("src/main.rs"), program(functions)).unwrap();
        place.plain(&place.request("cargo build -q --offline --target-dir target", &package)).await;
        let build = "echo '// more' >> src/main.rs && cargo build -q --offline --target-dir target";
        add_medians(figures, name, alternate(place, build, &package, FEW * 2).await);
    }
}

/// A program that calls so many functions.
fn program(functions: usize) -> String {
    let calls: String = (0..functions).map(|number| format!("    f{number}({number});\n")).collect();
    let function = |number: usize| {
        format!(
            "fn f{number}(x: u64) {{\n    let all: Vec<u64> = (0..x).map(|y| y * {number}).collect();\n    \
             if all.len() == 77 {{\n        println!(\"{{all:?}}\");\n    }}\n}}\n"
        )
    };
    let functions: String = (0..functions).map(function).collect();
    format!("fn main() {{\n    println!(\"hello\");\n{calls}}}\n{functions}")
}

/// The milliseconds of a command, each way.
#[derive(Default)]
struct Times {
    plain: Vec<f64>,
    bare: Vec<f64>,
    rehearsed: Vec<f64>,
    /// The part of a rehearsal until the command is over.
    played: Vec<f64>,
}

/// Runs a command each way, round by round.
async fn alternate(place: &Place, command: &str, root: &Path, rounds: usize) -> Times {
    let request = place.request(command, root);
    let mut times = Times::default();
    for _ in 0..rounds {
        times.plain.push(place.plain(&request).await);
        times.bare.push(place.in_bare_layer(&request).await);
        let (elapsed, done) = place.rehearse(&request).await;
        times.rehearsed.push(elapsed);
        times.played.push(f64::from(u32::try_from(done.outcome.duration_ms).unwrap()));
        done.discard();
    }
    times
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

fn add_medians(figures: &mut Map<String, Value>, name: &str, times: Times) {
    let ways = [("plain", times.plain), ("bare", times.bare), ("rehearsed", times.rehearsed), ("played", times.played)];
    for (way, times) in ways {
        add(figures, &format!("{name}_{way}"), share(times, 0.5));
    }
}

fn add(figures: &mut Map<String, Value>, name: &str, value: f64) {
    figures.insert(name.to_owned(), json!(value));
}

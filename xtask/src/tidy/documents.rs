//! The documents: all there, and their links lead somewhere.

use super::finding::Finding;

/// Documents every clone must have.
const REQUIRED: [&str; 15] = [
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    ".ci/run",
    "docs/cli.md",
    "docs/config.md",
    "docs/models.md",
    "docs/scripted.md",
    "docs/testing.md",
    "docs/tools.md",
];

/// Finds documents that are missing.
pub(crate) fn check_presence(exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let missing = |path: &&&str| !exists(path);
    REQUIRED.iter().filter(missing).map(|path| Finding::of_file(*path, "the file is missing", "write it")).collect()
}

/// Finds links and code-map paths of a Markdown file that lead nowhere.
///
/// Checked are relative link targets, and paths in backticks that begin with `crates/` or `xtask/`.
pub(crate) fn check_links(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    if !path.ends_with(".md") || path.contains("/fixtures/") || path.starts_with("crates/") {
        return Vec::new();
    }
    let directory = path.rsplit_once('/').map(|(directory, _)| directory);
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let linked = link_targets(line).map(|target| match directory {
            Some(directory) => normalised(&format!("{directory}/{target}")),
            None => target.to_owned(),
        });
        let mapped = line.split('`').skip(1).step_by(2).filter(|code| is_code_path(code)).map(str::to_owned);
        for target in linked.chain(mapped).filter(|target| !exists(target)) {
            let problem = format!("`{target}` does not exist");
            findings.push(Finding::new(path, index + 1, problem, "correct the path or remove it"));
        }
    }
    findings
}

fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let target = |part: &'_ str| part.split_once(')').map_or(0, |(target, _)| target.len());
    line.split("](")
        .skip(1)
        .filter_map(move |part| part.get(..target(part)))
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

fn is_code_path(code: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-".contains(character);
    (code.starts_with("crates/") || code.starts_with("xtask/")) && code.chars().all(plain)
}

/// Resolves `..` within the repository.
fn normalised(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(path: &str, text: &str) -> Vec<(usize, String)> {
        let known = ["README.md", "docs/cli.md", "crates/a/src/b.rs"];
        let findings = check_links(path, text, |target| known.contains(&target));
        findings.into_iter().map(|finding| (finding.line, finding.problem)).collect()
    }

    #[test]
    fn a_missing_document_is_found() {
        assert_eq!(check_presence(|_| true), []);
        let found = check_presence(|path| path != "GLOSSARY.md");
        assert_eq!(found.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(), ["GLOSSARY.md"]);
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text =
            "[a](docs/cli.md#flags) [b](https://example.com/x) [c](#here)\n`crates/a/src/b.rs` `crates/<name>`\n";
        assert_eq!(dead("README.md", text), []);
        assert_eq!(dead("docs/cli.md", "[home](../README.md)\n"), []);
    }

    #[test]
    fn links_and_paths_that_lead_nowhere_are_found() {
        let of = |target: &str| format!("`{target}` does not exist");
        assert_eq!(dead("README.md", "\n[a](gone.md) and [b](README.md)\n"), [(2, of("gone.md"))]);
        assert_eq!(dead("docs/cli.md", "[a](README.md)\n"), [(1, of("docs/README.md"))]);
        assert_eq!(dead("README.md", "see `crates/a/src/c.rs`\n"), [(1, of("crates/a/src/c.rs"))]);
    }
}

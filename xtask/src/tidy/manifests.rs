//! Manifests: versions and features have one home, our crates have no features, no unwanted crates.

use super::finding::Finding;
use serde_json::Value;
use std::path::Path;

/// Crates that must not be in the lock file, each with the reason.
const UNWANTED: [(&str, &str); 1] =
    [("aws-lc-sys", "find who pulls it in with `cargo tree -i aws-lc-sys` and choose ring there")];

/// A crate of the workspace as cargo sees it.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its manifest, relative to the repository.
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: Vec<String>,
}

/// One line of a manifest's dependency tables.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Whether it is a crate of this workspace.
    pub(crate) in_workspace: bool,
}

/// Which table a dependency is in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Normal,
    Development,
    Build,
}

impl Kind {
    /// What is said of it after a dependency's name.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Normal => "",
            Self::Development => " (dev)",
            Self::Build => " (build)",
        }
    }
}

/// The packages in the output of `cargo metadata --no-deps`.
pub(crate) fn packages(metadata: &Value, root: &Path) -> Vec<Package> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependency = |value: &Value| Dependency {
        name: text(&value["name"]),
        kind: match value["kind"].as_str() {
            Some("dev") => Kind::Development,
            Some("build") => Kind::Build,
            _ => Kind::Normal,
        },
        in_workspace: value["path"].is_string(),
    };
    let package = |value: &Value| {
        let manifest = text(&value["manifest_path"]);
        let relative = Path::new(&manifest).strip_prefix(root).unwrap_or(Path::new(&manifest));
        Package {
            name: text(&value["name"]),
            manifest: relative.to_string_lossy().replace('\\', "/"),
            dependencies: list(&value["dependencies"]).iter().map(dependency).collect(),
            features: value["features"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default(),
        }
    };
    list(&metadata["packages"]).iter().map(package).collect()
}

/// Finds features of our own and dependencies that do not come from the root manifest.
pub(crate) fn check(package: &Package, manifest: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(feature) = package.features.first() {
        let line = line_where(manifest, |line| line.trim() == "[features]").unwrap_or(1);
        let problem = format!("the crate has the feature `{feature}`");
        findings.push(Finding::new(
            &package.manifest,
            line,
            problem,
            "make the part a crate, or the behaviour a setting",
        ));
    }
    let mut in_dependencies = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            in_dependencies = section.trim_end_matches(']').ends_with("dependencies");
            if section.contains("dependencies.") {
                findings.push(stray(package, index + 1, line));
            }
        } else if in_dependencies && !line.is_empty() && !line.starts_with('#') && !is_inherited(line) {
            findings.push(stray(package, index + 1, line));
        }
    }
    findings
}

/// Finds unwanted crates in the text of Cargo.lock.
pub(crate) fn check_lock(lock: &str) -> Vec<Finding> {
    let find = |&(name, advice): &(&str, &str)| {
        let line = line_where(lock, |line| line == format!("name = \"{name}\""))?;
        Some(Finding::new("Cargo.lock", line, format!("{name} has come in"), advice))
    };
    UNWANTED.iter().filter_map(find).collect()
}

/// The line on which a manifest names this dependency, or the first.
pub(crate) fn line_of_dependency(manifest: &str, name: &str) -> usize {
    let names_it = |line: &str| line.trim().strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
    line_where(manifest, names_it).unwrap_or(1)
}

fn is_inherited(line: &str) -> bool {
    let spaceless: String = line.chars().filter(|character| !character.is_whitespace()).collect();
    spaceless.contains("workspace=true") && !spaceless.contains("features=")
}

fn stray(package: &Package, line: usize, text: &str) -> Finding {
    let problem = format!("`{text}` does not come from the root manifest");
    Finding::new(
        &package.manifest,
        line,
        problem,
        "put version and features there and write `name.workspace = true` here",
    )
}

fn line_where(text: &str, wanted: impl Fn(&str) -> bool) -> Option<usize> {
    text.lines().position(wanted).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(features: &[&str]) -> Package {
        Package {
            name: "x".to_owned(),
            manifest: "crates/x/Cargo.toml".to_owned(),
            dependencies: Vec::new(),
            features: features.iter().map(|&feature| feature.to_owned()).collect(),
        }
    }

    fn lines(manifest: &str) -> Vec<usize> {
        check(&package(&[]), manifest).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn inherited_dependencies_pass() {
        let manifest = "[package]\nversion.workspace = true\n[dependencies]\n# why\nserde.workspace = true\n\n\
                        [dev-dependencies]\ntempfile = { workspace = true }\n[lints]\nworkspace = true\n";
        assert_eq!(lines(manifest), [0; 0]);
    }

    #[test]
    fn versions_and_features_outside_the_root_manifest_are_found() {
        let manifest = "[dependencies]\nserde = \"1\"\n[target.'cfg(unix)'.dependencies]\nlibc = { version = \"1\" }\n\
                        [build-dependencies]\na = { workspace = true, features = [\"b\"] }\n[dependencies.big]\nversion = \"2\"\n";
        assert_eq!(lines(manifest), [2, 4, 6, 7]);
    }

    #[test]
    fn features_of_our_own_are_found() {
        let found = check(&package(&["fast"]), "[package]\n[features]\nfast = []\n");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].problem.as_str()), (2, "the crate has the feature `fast`"));
    }

    #[test]
    fn an_unwanted_crate_in_the_lock_file_is_found() {
        assert_eq!(check_lock("[[package]]\nname = \"ring\"\n"), []);
        let found = check_lock("[[package]]\nname = \"aws-lc-sys\"\n");
        assert_eq!((found[0].path.as_str(), found[0].line), ("Cargo.lock", 2));
    }

    #[test]
    fn the_metadata_of_cargo_is_understood() {
        let metadata = json!({"packages": [{
            "name": "a", "manifest_path": "/r/crates/a/Cargo.toml", "features": {"f": []},
            "dependencies": [
                {"name": "b", "kind": null, "path": "/r/crates/b"}, {"name": "c", "kind": "dev"}, {"name": "d", "kind": "build"}
            ],
        }]});
        let found = packages(&metadata, Path::new("/r"));
        assert_eq!((found[0].name.as_str(), found[0].manifest.as_str()), ("a", "crates/a/Cargo.toml"));
        assert_eq!(found[0].features, ["f"]);
        let kinds: Vec<_> = found[0].dependencies.iter().map(|it| (it.kind, it.in_workspace)).collect();
        assert_eq!(kinds, [(Kind::Normal, true), (Kind::Development, false), (Kind::Build, false)]);
    }

    #[test]
    fn a_dependency_is_found_by_its_whole_name() {
        assert_eq!(line_of_dependency("a-b.workspace = true\na.workspace = true\n", "a"), 2);
    }
}

//! Which crate may use which: the table, and the check against the manifests.
//!
//! The table is a decision, not a description. `cargo xtask docs` puts it into ARCHITECTURE.md.

use super::finding::Finding;
use super::manifests::{Kind, Package, line_of_dependency};

/// One crate of the workspace and the crates of the workspace it may use.
pub(crate) struct Allowed {
    pub(crate) package: &'static str,
    pub(crate) may_use: &'static [&'static str],
}

/// For tests only: everybody may have it as a dev-dependency, nobody otherwise.
pub(crate) const TESTKIT: &str = "dryad-testkit";

/// Every arrow there may be.
pub(crate) const ARROWS: [Allowed; 12] = [
    Allowed { package: "dryad-protocol", may_use: &[] },
    Allowed { package: "dryad-effects", may_use: &["dryad-protocol"] },
    Allowed { package: "dryad-safety", may_use: &["dryad-protocol", "dryad-effects"] },
    Allowed { package: "dryad-tools", may_use: &["dryad-protocol", "dryad-safety"] },
    Allowed { package: "dryad-ast", may_use: &["dryad-protocol", "dryad-safety"] },
    Allowed { package: "dryad-provider", may_use: &["dryad-protocol"] },
    Allowed { package: "dryad-session", may_use: &["dryad-protocol"] },
    Allowed { package: "dryad-agent", may_use: &["dryad-protocol", "dryad-provider", "dryad-session", "dryad-safety"] },
    Allowed { package: "dryad-rpc", may_use: &["dryad-protocol", "dryad-agent", "dryad-session", "dryad-safety"] },
    Allowed {
        package: "dryad",
        may_use: &[
            "dryad-protocol",
            "dryad-effects",
            "dryad-safety",
            "dryad-tools",
            "dryad-ast",
            "dryad-provider",
            "dryad-session",
            "dryad-agent",
            "dryad-rpc",
        ],
    },
    Allowed { package: TESTKIT, may_use: &["dryad-protocol", "dryad-safety"] },
    Allowed { package: "xtask", may_use: &[] },
];

/// Finds arrows that are not in the table. `manifest` is the text of the package's manifest.
pub(crate) fn check(package: &Package, manifest: &str) -> Vec<Finding> {
    let Some(allowed) = ARROWS.iter().find(|allowed| allowed.package == package.name) else {
        let problem = format!("the crate {} is not in the table of arrows", package.name);
        return vec![Finding::of_file(&package.manifest, problem, "add it to xtask/src/tidy/arrows.rs")];
    };
    let inside = package.dependencies.iter().filter(|dependency| dependency.in_workspace);
    let forbidden = inside.filter(|dependency| match (dependency.name.as_str(), dependency.kind) {
        (TESTKIT, Kind::Development) => package.name == TESTKIT,
        (TESTKIT, Kind::Normal | Kind::Build) => true,
        (name, _) => !allowed.may_use.contains(&name),
    });
    let finding = |dependency: &super::manifests::Dependency| {
        let line = line_of_dependency(manifest, &dependency.name);
        let problem = format!("{} must not use {}{}", package.name, dependency.name, dependency.kind.suffix());
        Finding::new(&package.manifest, line, problem, "take another way, or decide on a new arrow in ARCHITECTURE.md")
    };
    forbidden.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::manifests::Dependency;
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"x\"\n\n[dependencies]\ndryad-effects.workspace = true\n";

    fn problems(name: &str, dependencies: &[(&str, Kind)]) -> Vec<String> {
        let dependency =
            |&(name, kind): &(&str, Kind)| Dependency { name: name.to_owned(), kind, in_workspace: name != "serde" };
        let package = Package {
            name: name.to_owned(),
            manifest: "crates/x/Cargo.toml".to_owned(),
            dependencies: dependencies.iter().map(dependency).collect(),
            features: Vec::new(),
        };
        check(&package, MANIFEST).into_iter().map(|finding| format!("{}: {}", finding.line, finding.problem)).collect()
    }

    #[test]
    fn arrows_of_the_table_pass() {
        let safety = [("dryad-protocol", Kind::Normal), ("dryad-effects", Kind::Normal), ("serde", Kind::Normal)];
        assert_eq!(problems("dryad-safety", &safety), [""; 0]);
        assert_eq!(problems("dryad-provider", &[("dryad-testkit", Kind::Development)]), [""; 0]);
    }

    #[test]
    fn a_tool_cannot_reach_the_hands() {
        let expected = ["5: dryad-tools must not use dryad-effects"];
        assert_eq!(problems("dryad-tools", &[("dryad-effects", Kind::Normal)]), expected);
        let expected = ["5: dryad-tools must not use dryad-effects (dev)"];
        assert_eq!(problems("dryad-tools", &[("dryad-effects", Kind::Development)]), expected);
    }

    #[test]
    fn the_testkit_is_for_tests_alone() {
        let found = problems("dryad", &[("dryad-testkit", Kind::Normal)]);
        assert_eq!(found, ["1: dryad must not use dryad-testkit"]);
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        assert_eq!(problems("dryad-new", &[]), ["1: the crate dryad-new is not in the table of arrows"]);
    }

    #[test]
    fn the_table_has_no_cycle_and_names_known_crates_only() {
        fn reaches(from: &str, to: &str) -> bool {
            let row = ARROWS.iter().find(|row| row.package == from).unwrap();
            row.may_use.iter().any(|used| *used == to || reaches(used, to))
        }
        for row in &ARROWS {
            assert!(!reaches(row.package, row.package), "{} reaches itself", row.package);
        }
        for from in ["dryad-tools", "dryad-ast"] {
            let row = ARROWS.iter().find(|row| row.package == from).unwrap();
            assert!(!row.may_use.contains(&"dryad-effects"), "{from} must not write");
        }
    }
}

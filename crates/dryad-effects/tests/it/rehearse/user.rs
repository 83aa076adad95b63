//! All of this once more as an ordinary user, when root runs the tests.

use super::place::{helper, is_root};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An id that nobody has.
pub(crate) const SOMEBODY: u32 = 61_234;

/// Copies this program and its helper where anybody can run them, beside an open directory for files.
pub(crate) fn public_copy(place: &Path) -> (PathBuf, PathBuf) {
    let (program, helping) = (place.join("tests"), place.join("helper"));
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::copy(helper(), &helping).unwrap();
    fs::create_dir(place.join("files")).unwrap();
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.join("files"), fs::Permissions::from_mode(0o777)).unwrap();
    (program, helping)
}

/// Starts some of these tests as an ordinary user, and gives back what they print; root only.
pub(crate) fn as_somebody(place: &Path, arguments: &[&str]) -> String {
    let (program, helping) = public_copy(place);
    let files = place.join("files");
    let id = SOMEBODY.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all"])
        .arg(program)
        .args(arguments)
        .env("DRYAD_TEST_HELPER", helping)
        .env("DRYAD_TEST_SCRIPTS", "10")
        .env("DRYAD_TEST_PLACE", place)
        .env("TMPDIR", &files)
        .env("HOME", &files)
        .current_dir(&files)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

#[test]
fn an_ordinary_user_can_do_all_of_it() {
    if !is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let said = as_somebody(
        place.path(),
        &[
            "rehearse::",
            "--test-threads=2",
            "--skip",
            "ten_thousand",
            "--skip",
            "tools::",
            "--skip",
            "real::generated",
            "--skip",
            "foreign::",
        ],
    );
    assert!(said.contains("rehearsed_and_applied_equals_run_directly_and_undone_equals_the_original ... ok"), "{said}");
}

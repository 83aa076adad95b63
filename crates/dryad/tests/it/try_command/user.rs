//! All of this once more as an ordinary user, when root runs the tests.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

/// An id that nobody has.
const SOMEBODY: u32 = 61_234;

/// Puts a program where anybody can run it.
fn publish(program: &Path, place: &Path) {
    if fs::hard_link(program, place).is_err() {
        fs::copy(program, place).unwrap();
    }
}

#[test]
fn an_ordinary_user_can_do_all_of_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let (tests, program, files) = (place.path().join("tests"), place.path().join("dryad"), place.path().join("files"));
    publish(&std::env::current_exe().unwrap(), &tests);
    publish(Path::new(env!("CARGO_BIN_EXE_dryad")), &program);
    fs::create_dir(&files).unwrap();
    for directory in [place.path(), &files] {
        chown(directory, Some(SOMEBODY), Some(SOMEBODY)).unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let id = SOMEBODY.to_string();
    let output = Command::new("setpriv")
        .args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all"])
        .arg(tests)
        .args(["try_command::", "undo::hard::", "--test-threads=2"])
        .envs([("DRYAD_TEST_PROGRAM", &program), ("TMPDIR", &files), ("HOME", &files)])
        .current_dir(&files)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("without_a_terminal_it_is_kept_and_applied_later_without_running_again ... ok"), "{said}");
}

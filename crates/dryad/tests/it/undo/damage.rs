//! What is lost or garbled is told, and costs no more than itself.

use super::failed;
use crate::scene::Scene;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Flips a bit so many bytes before the end of a file.
fn flip_before_end(path: &Path, distance: usize) {
    let mut bytes = fs::read(path).unwrap();
    let position = bytes.len() - distance;
    bytes[position] ^= 1;
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A scene in which three files were changed at once, and what one of them held is damaged.
fn damaged() -> Scene {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.write(name, format!("{name} before\n"));
    }
    scene.run(&["try", "--apply", "for name in a b c; do echo after > $name; done"]).done();
    let blob = dryad_effects::fingerprint::blob_id(b"b before\n").to_string();
    let digits = blob.rsplit(':').next().unwrap().to_owned();
    let shard: String = digits.chars().take(2).collect();
    flip_before_end(&scene.home().join("vault/blobs").join(shard).join(digits), 3);
    scene
}

#[test]
fn a_damaged_content_costs_its_own_path_and_the_dry_run_knows() {
    let scene = damaged();
    for arguments in [&["undo", "--dry-run"][..], &["undo"]] {
        let told = failed(scene.run(arguments), 1);
        assert_eq!(told.matches("  restored\n").count(), 2, "{told}");
        assert!(told.contains("  b  cannot (its former content is damaged in the vault)\n"), "{told}");
    }
    assert_eq!(["a", "b", "c"].map(|name| scene.read(name)), ["a before\n", "after\n", "c before\n"]);
}

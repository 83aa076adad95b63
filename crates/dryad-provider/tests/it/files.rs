//! Files as they lie on a disk: absent, open to others, of the wrong kind.

use dryad_provider::keys::AuthFile;
use dryad_provider::models_file::ModelsFile;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn absent_files_are_empty_ones() {
    let home = tempfile::tempdir().unwrap();
    let auth = AuthFile::load(&home.path().join("auth.json")).unwrap();
    assert_eq!((auth.providers().count(), auth.notes().len()), (0, 0));
    assert_eq!(ModelsFile::load(&home.path().join("models.json")).unwrap().provider_ids().count(), 0);
}

#[test]
fn an_auth_file_that_others_can_read_is_used_and_noted() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("auth.json");
    std::fs::write(&path, r#"{"openai": "sk-secret"}"#).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let open = AuthFile::load(&path).unwrap();
    assert_eq!(open.providers().collect::<Vec<_>>(), ["openai"]);
    let note = format!("{0} is open to other users (mode 0640); close it with: chmod 600 {0}", path.display());
    assert_eq!(open.notes(), [note]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(AuthFile::load(&path).unwrap().notes().is_empty());
}

#[test]
fn a_directory_is_no_file() {
    let home = tempfile::tempdir().unwrap();
    let start = format!("cannot read {}: ", home.path().display());
    assert!(AuthFile::load(home.path()).unwrap_err().to_string().starts_with(&start));
    assert!(ModelsFile::load(home.path()).unwrap_err().to_string().starts_with(&start));
}

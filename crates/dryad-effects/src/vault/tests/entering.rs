//! Contents coming in.

use super::*;

#[test]
fn a_new_content_is_moved_in_and_an_equal_one_becomes_a_link() {
    let bench = Bench::new();
    let (first, id) = bench.file("first", "old text");
    let (second, _) = bench.file("second", "old text");
    let first_inode = inode(&first);
    bench.vault.absorb(&first, id).unwrap();
    bench.vault.absorb(&second, id).unwrap();
    assert!(!first.exists() && !second.exists());
    let shard = id.to_string().chars().take(2).collect::<String>();
    assert_eq!(bench.names(), [format!("{shard}/{id}"), format!("{shard}/{id}.1")]);
    assert_eq!(inode(&bench.plain_name(id)), first_inode);
    assert_eq!(inode(&bench.vault.layout.path(id, 1)), first_inode);
    assert_eq!(bench.vault.references(id).unwrap(), 2);
    assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 1, bytes: 8 });
    assert_eq!(bench.vault.read(id).unwrap(), b"old text");
}

#[test]
fn bytes_and_files_that_are_put_are_references_too() {
    let bench = Bench::new();
    let (path, id) = bench.file("file", "text");
    bench.vault.put_file(&path, id).unwrap();
    assert_eq!(bench.vault.put(b"text").unwrap(), id);
    bench.vault.put_file(&path, id).unwrap();
    assert_eq!(bench.vault.references(id).unwrap(), 3);
    assert_eq!(fs::metadata(&path).unwrap().nlink(), 1, "the user's file must not be linked");
    fs::write(&path, "changed in place").unwrap();
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
    assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 1, bytes: 4 });
}

#[test]
fn an_empty_content_is_a_content() {
    let bench = Bench::new();
    let id = bench.vault.put(b"").unwrap();
    assert_eq!(bench.vault.read(id).unwrap(), b"");
    assert_eq!(bench.vault.references(id).unwrap(), 1);
}

#[test]
fn put_file_refuses_a_file_that_holds_something_else() {
    let bench = Bench::new();
    let (path, _) = bench.file("file", "new");
    let error = bench.vault.put_file(&path, blob_id(b"old")).unwrap_err();
    assert!(matches!(error, VaultError::Mismatch { expected, found, .. }
        if expected == blob_id(b"old") && found == blob_id(b"new")));
    assert_eq!(bench.names(), [""; 0], "nothing may be left behind");
}

#[test]
fn a_slot_that_holds_something_else_is_not_unlinked_for_a_kept_content() {
    let bench = Bench::new();
    let id = bench.vault.put(b"old").unwrap();
    let (slot, _) = bench.file("slot", "the user's last word");
    assert!(matches!(bench.vault.absorb(&slot, id).unwrap_err(), VaultError::Mismatch { .. }));
    assert_eq!(fs::read(&slot).unwrap(), b"the user's last word");
    assert_eq!(bench.vault.references(id).unwrap(), 1);
}

#[test]
fn a_file_with_another_name_is_copied_because_it_can_change_in_place() {
    let bench = Bench::new();
    let (slot, id) = bench.file("slot", "shared");
    let other = bench.path("other");
    fs::hard_link(&slot, &other).unwrap();
    bench.vault.absorb(&slot, id).unwrap();
    assert!(!slot.exists());
    assert_ne!(inode(&other), inode(&bench.plain_name(id)));
    fs::write(&other, "changed").unwrap();
    assert_eq!(bench.vault.read(id).unwrap(), b"shared");

    let (slot, _) = bench.file("slot", "shared");
    fs::remove_file(&other).unwrap();
    fs::hard_link(&slot, &other).unwrap();
    bench.vault.absorb(&slot, id).unwrap();
    assert!(!slot.exists() && other.exists());
    assert_eq!(bench.vault.references(id).unwrap(), 2);
    assert_eq!(fs::metadata(&other).unwrap().nlink(), 1);
}

#[test]
fn what_is_not_a_file_is_refused_and_what_is_not_there_is_named() {
    let bench = Bench::new();
    let (file, id) = bench.file("file", "x");
    let link = bench.path("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [link.as_path(), bench.directory.path()] {
        assert!(matches!(bench.vault.absorb(path, id).unwrap_err(), VaultError::NotAFile { .. }));
    }
    let error = bench.vault.absorb(&bench.path("absent"), id).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::NotFound));
    let said = error.to_string();
    assert!(said.starts_with("cannot look at ") && said.contains("absent: No such file or directory"), "{said}");
}

#[test]
fn a_file_that_nobody_may_read_comes_in_and_goes_out() {
    let bench = Bench::new();
    for former in [0o000, 0o200, 0o4011] {
        let (slot, id) = bench.file("slot", "locked away");
        fs::set_permissions(&slot, fs::Permissions::from_mode(former)).unwrap();
        bench.vault.absorb(&slot, id).unwrap();
        assert_eq!(mode(&bench.plain_name(id)), former | 0o400);
        assert_eq!(bench.vault.read(id).unwrap(), b"locked away");
        assert_eq!(bench.vault.take(id, &slot).unwrap(), Taken::Moved);
        assert_eq!(fs::read(&slot).unwrap(), b"locked away");
        fs::remove_file(&slot).unwrap();
    }
}

#[test]
fn a_refused_file_has_its_mode_back() {
    let bench = Bench::new();
    let id = bench.vault.put(b"old").unwrap();
    let (slot, _) = bench.file("slot", "other");
    fs::set_permissions(&slot, fs::Permissions::from_mode(0o000)).unwrap();
    bench.vault.absorb(&slot, id).unwrap_err();
    assert_eq!(mode(&slot), 0);
}

#[test]
fn where_links_are_refused_every_reference_is_a_file() {
    for errno in [libc::EMLINK, libc::EPERM, libc::EOPNOTSUPP] {
        let refuse = match errno {
            libc::EMLINK => |_: &Path, _: &Path| Err(io::Error::from_raw_os_error(libc::EMLINK)),
            libc::EPERM => |_: &Path, _: &Path| Err(io::Error::from_raw_os_error(libc::EPERM)),
            _ => |_: &Path, _: &Path| Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        };
        let bench = Bench::with_calls(Calls { link: refuse, ..Calls::system() });
        let id = bench.absorbed("text", 2);
        bench.vault.put(b"text").unwrap();
        assert_eq!(bench.vault.references(id).unwrap(), 3);
        assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 1, bytes: 12 });
        for number in 0..3 {
            let to = bench.path(&format!("to-{number}"));
            assert_eq!(bench.vault.take(id, &to).unwrap(), Taken::Moved);
            assert_eq!(fs::read(&to).unwrap(), b"text");
        }
        assert!(!bench.vault.contains(id).unwrap());
    }
}

#[test]
fn a_full_disk_leaves_the_slot_and_says_so() {
    let full = |_: &Path, _: &Path| Err(io::Error::from_raw_os_error(libc::ENOSPC));
    let bench = Bench::with_calls(Calls { rename_new: full, ..Calls::system() });
    let (slot, id) = bench.file("slot", "text");
    let error = bench.vault.absorb(&slot, id).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::StorageFull));
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert_eq!(fs::read(&slot).unwrap(), b"text");
    assert_eq!(bench.vault.put(b"other").unwrap_err().io_kind(), Some(io::ErrorKind::StorageFull));
    assert_eq!(bench.names(), [""; 0]);
}

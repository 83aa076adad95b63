//! The vault on one file system, the files on another.

use super::*;

/// Files whose path has a component `far` behave as if they lay on another device.
fn far_away() -> Calls {
    let rename_new = |from: &Path, to: &Path| {
        let far = |path: &Path| path.components().any(|component| component.as_os_str() == "far");
        if far(from) == far(to) {
            (Calls::system().rename_new)(from, to)
        } else {
            Err(io::Error::from_raw_os_error(libc::EXDEV))
        }
    };
    Calls { rename_new, ..Calls::system() }
}

/// In and out again: `far` is a directory on the other device.
fn comes_and_goes_by_copying(bench: &Bench, far: &Path) {
    let (slot, to) = (far.join("slot"), far.join("to"));
    let id = blob_id(b"text");
    for references in [1, 2] {
        fs::write(&slot, "text").unwrap();
        fs::set_permissions(&slot, fs::Permissions::from_mode(0o000)).unwrap();
        bench.vault.absorb(&slot, id).unwrap();
        assert!(!slot.exists());
        assert_eq!(bench.vault.references(id).unwrap(), references);
        assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 1, bytes: 4 });
    }
    for references in [1, 0] {
        assert_eq!(bench.vault.take(id, &to).unwrap(), Taken::Copied);
        assert_eq!(fs::read(&to).unwrap(), b"text");
        assert_eq!(bench.vault.references(id).unwrap(), references);
        fs::remove_file(&to).unwrap();
    }
    fs::write(&slot, "something else").unwrap();
    assert!(matches!(bench.vault.absorb(&slot, id), Err(VaultError::Mismatch { .. })));
    assert_eq!(fs::read(&slot).unwrap(), b"something else");
    fs::remove_file(&slot).unwrap();
    assert_eq!(bench.names(), [""; 0], "nothing unfinished may be left");
}

#[test]
fn a_refused_rename_becomes_a_copy() {
    let bench = Bench::with_calls(far_away());
    let far = bench.path("far");
    fs::create_dir(&far).unwrap();
    comes_and_goes_by_copying(&bench, &far);
}

#[test]
fn a_real_other_device_is_served_by_copying() {
    let bench = Bench::new();
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let memory = Path::new("/dev/shm");
    let Some(far) =
        tempfile::tempdir_in(memory).ok().filter(|far| device(far.path()) != device(bench.directory.path()))
    else {
        eprintln!("note: no second device at {}, nothing to try", memory.display());
        return;
    };
    comes_and_goes_by_copying(&bench, far.path());
}

#[test]
fn a_damaged_content_is_healed_from_elsewhere_and_does_not_go_there() {
    let bench = Bench::with_calls(far_away());
    let far = bench.path("far");
    fs::create_dir(&far).unwrap();
    let id = bench.absorbed("text", 1);
    bench.damage(id);
    assert!(matches!(bench.vault.take(id, &far.join("to")), Err(VaultError::Damaged { .. })));
    assert!(!far.join("to").exists());
    fs::write(far.join("slot"), "text").unwrap();
    bench.vault.absorb(&far.join("slot"), id).unwrap();
    assert!(!far.join("slot").exists());
    assert_eq!(bench.vault.references(id).unwrap(), 2);
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
}

#[test]
fn an_occupied_place_elsewhere_is_left_alone() {
    let bench = Bench::with_calls(far_away());
    let far = bench.path("far");
    fs::create_dir(&far).unwrap();
    let id = bench.absorbed("text", 1);
    fs::write(far.join("to"), "the user's").unwrap();
    assert!(matches!(bench.vault.take(id, &far.join("to")), Err(VaultError::Occupied { .. })));
    assert_eq!(fs::read(far.join("to")).unwrap(), b"the user's");
    assert_eq!(bench.vault.references(id).unwrap(), 1);
}

#[test]
fn a_clone_is_used_where_it_works_and_verified_all_the_same() {
    use std::os::unix::fs::FileExt as _;
    // Stands for FICLONE on a file system that has it: first a true one, then one that lies.
    let sound = |from: &File, to: &File| io::copy(&mut { from }, &mut { to }).map(|_| ());
    let lying = |_: &File, to: &File| to.write_all_at(b"nonsense", 0);
    let bench = Bench::with_calls(Calls { reflink: sound, ..Calls::system() });
    let (path, id) = bench.file("file", "text");
    bench.vault.put_file(&path, id).unwrap();
    bench.vault.copy_out(id, &bench.path("out")).unwrap();
    assert_eq!(fs::read(bench.path("out")).unwrap(), b"text");
    let bench = Bench::with_calls(Calls { reflink: lying, ..Calls::system() });
    let (path, id) = bench.file("file", "text");
    assert!(matches!(bench.vault.put_file(&path, id), Err(VaultError::Mismatch { .. })));
    bench.vault.put(b"text").unwrap();
    assert!(matches!(bench.vault.copy_out(id, &bench.path("out")), Err(VaultError::Damaged { .. })));
    assert!(!bench.path("out").exists());
}

#[test]
fn zeros_survive_being_left_out_of_a_copy() {
    let bench = Bench::new();
    let piece = super::stream::PIECE;
    let shapes: [&[(u8, usize)]; 6] = [
        &[(0, 1)],
        &[(0, piece)],
        &[(0, piece), (1, 1)],
        &[(1, piece), (0, piece)],
        &[(1, piece), (0, piece + 1)],
        &[(0, 2 * piece), (1, 5), (0, 2 * piece)],
    ];
    for (number, shape) in shapes.iter().enumerate() {
        let bytes: Vec<u8> = shape.iter().flat_map(|(byte, count)| vec![*byte; *count]).collect();
        let (path, id) = bench.file("file", &bytes);
        bench.vault.put_file(&path, id).unwrap();
        let to = bench.path(&format!("to-{number}"));
        bench.vault.copy_out(id, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), bytes, "shape {number}");
        assert_eq!(bench.vault.read(id).unwrap(), bytes, "shape {number}");
    }
}

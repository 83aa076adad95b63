//! What is damaged is told, never handed out, and replaced when the sound content comes again.

use super::*;

#[test]
fn a_damaged_content_is_never_handed_out() {
    for references in [1, 2] {
        let bench = Bench::new();
        let id = bench.absorbed("the truth", references);
        bench.damage(id);
        let to = bench.path("to");
        let damaged = |result: Result<(), VaultError>| {
            assert!(matches!(result, Err(VaultError::Damaged { id: which }) if which == id), "{result:?}");
        };
        damaged(bench.vault.read(id).map(|_| ()));
        damaged(bench.vault.copy_to(id, &mut io::sink()).map(|_| ()));
        damaged(bench.vault.copy_out(id, &to));
        damaged(bench.vault.take(id, &to).map(|_| ()));
        let error = io::copy(&mut bench.vault.reader(id).unwrap(), &mut io::sink()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(!to.exists());
        assert_eq!(bench.vault.references(id).unwrap(), references, "the evidence stays");
    }
}

#[test]
fn the_sound_content_heals_every_name() {
    type Way = fn(&Bench, BlobId);
    let ways: [Way; 3] = [
        |bench, id| assert_eq!(bench.absorbed("the truth", 1), id),
        |bench, id| assert_eq!(bench.vault.put(b"the truth").unwrap(), id),
        |bench, id| bench.vault.put_file(&bench.file("file", "the truth").0, id).unwrap(),
    ];
    for way in ways {
        let bench = Bench::new();
        let id = bench.absorbed("the truth", 2);
        bench.damage(id);
        way(&bench, id);
        assert_eq!(bench.vault.references(id).unwrap(), 3);
        assert_eq!(bench.vault.read(id).unwrap(), b"the truth");
        assert!(bench.vault.verify(&|_, _| ()).is_empty());
        assert_eq!(bench.vault.usage().unwrap(), Usage { blobs: 1, bytes: 9 });
    }
}

#[test]
fn a_cut_off_content_is_damaged_even_if_empty() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 1);
    File::options().write(true).open(bench.plain_name(id)).unwrap().set_len(0).unwrap();
    assert!(matches!(bench.vault.read(id), Err(VaultError::Damaged { .. })));
    bench.absorbed("text", 1);
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
}

#[test]
fn checking_names_each_file_that_is_wrong() {
    let bench = Bench::new();
    let sound = bench.absorbed("sound", 2);
    let bad = bench.absorbed("bad", 2);
    let stray = bench.absorbed("in the wrong place", 1);
    bench.damage(bad);
    let blobs = bench.vault.layout.blobs();
    let wrong_shard = blobs.join("zz");
    fs::create_dir(&wrong_shard).unwrap();
    let wrong_place = bench.plain_name(sound).with_file_name(stray.to_string());
    fs::rename(bench.plain_name(stray), &wrong_place).unwrap();
    let foreign = bench.plain_name(sound).with_file_name("notes.txt");
    fs::write(&foreign, "").unwrap();
    fs::write(blobs.join(".tmp-1-1"), "unfinished").unwrap();

    let told = std::cell::RefCell::new(Vec::new());
    let problems = bench.vault.verify(&|done, total| told.borrow_mut().push((done, total)));
    assert_eq!(told.into_inner(), [(1, 2), (2, 2)]);
    let mut misplaced = Vec::new();
    let mut damaged = Vec::new();
    for problem in problems {
        match problem {
            Problem::Damaged { path, id, found } => damaged.push((path.as_path().to_owned(), id, found)),
            Problem::Misplaced { path } => misplaced.push(path.as_path().to_owned()),
            Problem::Unreadable { path, source } => panic!("{path}: {source}"),
            Problem::Strange { path, found } => panic!("{path}: {found}"),
        }
    }
    misplaced.sort();
    let mut expected = [wrong_shard, wrong_place, foreign];
    expected.sort();
    assert_eq!(misplaced, expected);
    let [(path, id, found)] = damaged.as_slice() else { panic!("one file is damaged: {damaged:?}") };
    assert_eq!((*id, *found), (bad, blob_id(b"bae")));
    assert_eq!(inode(path), inode(&bench.plain_name(bad)));
}

//! Contents going out.

use super::*;

#[test]
fn the_last_reference_moves_the_file_itself() {
    let bench = Bench::new();
    let (slot, id) = bench.file("slot", "text");
    fs::set_permissions(&slot, fs::Permissions::from_mode(0o751)).unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 987_654_321);
    File::options().write(true).open(&slot).unwrap().set_modified(long_ago).unwrap();
    let original = inode(&slot);
    bench.vault.absorb(&slot, id).unwrap();
    let to = bench.path("to");
    assert_eq!(bench.vault.take(id, &to).unwrap(), Taken::Moved);
    assert_eq!((inode(&to), mode(&to)), (original, 0o751));
    assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), long_ago);
    assert_eq!(fs::read(&to).unwrap(), b"text");
    assert!(!bench.vault.contains(id).unwrap());
    assert_eq!(bench.names(), [""; 0]);
}

#[test]
fn while_others_need_it_a_copy_goes_out() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 3);
    let original = inode(&bench.plain_name(id));
    for (number, taken) in [Taken::Copied, Taken::Copied, Taken::Moved].into_iter().enumerate() {
        assert_eq!(bench.vault.references(id).unwrap(), 3 - number);
        let to = bench.path(&format!("to-{number}"));
        assert_eq!(bench.vault.take(id, &to).unwrap(), taken);
        assert_eq!(fs::read(&to).unwrap(), b"text");
        assert_eq!(fs::metadata(&to).unwrap().nlink(), 1);
        assert_eq!(inode(&to) == original, taken == Taken::Moved);
    }
    assert_eq!(bench.vault.references(id).unwrap(), 0);
    assert!(matches!(bench.vault.take(id, &bench.path("to")), Err(VaultError::Missing { .. })));
}

#[test]
fn copying_out_keeps_the_reference() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 1);
    let to = bench.path("to");
    bench.vault.copy_out(id, &to).unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"text");
    assert_eq!(mode(&to), 0o600);
    assert_ne!(inode(&to), inode(&bench.plain_name(id)));
    assert_eq!(bench.vault.references(id).unwrap(), 1);
}

#[test]
fn nothing_is_overwritten_and_no_reference_is_lost() {
    let bench = Bench::new();
    let (to, _) = bench.file("to", "the user's");
    for references in [1, 2] {
        let id = bench.absorbed("text", 1);
        assert!(matches!(bench.vault.take(id, &to), Err(VaultError::Occupied { .. })));
        assert!(matches!(bench.vault.copy_out(id, &to), Err(VaultError::Occupied { .. })));
        assert_eq!(bench.vault.references(id).unwrap(), references);
    }
    assert_eq!(fs::read(&to).unwrap(), b"the user's");
}

#[test]
fn without_a_directory_to_go_to_the_content_stays() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 1);
    let error = bench.vault.take(id, &bench.path("no/such/directory")).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::NotFound));
    assert_eq!(bench.vault.references(id).unwrap(), 1);
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
}

#[test]
fn forgetting_drops_one_reference_at_a_time() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 2);
    bench.vault.forget(id).unwrap();
    assert_eq!(bench.vault.references(id).unwrap(), 1);
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
    bench.vault.forget(id).unwrap();
    assert!(!bench.vault.contains(id).unwrap());
    assert!(matches!(bench.vault.forget(id), Err(VaultError::Missing { id: missing }) if missing == id));
}

#[test]
fn any_name_will_do() {
    let bench = Bench::new();
    let id = bench.absorbed("text", 4);
    // A gap, and no plain name: what interrupted processes may leave.
    fs::remove_file(bench.plain_name(id)).unwrap();
    fs::remove_file(bench.vault.layout.path(id, 2)).unwrap();
    assert!(bench.vault.contains(id).unwrap());
    assert_eq!(bench.vault.references(id).unwrap(), 2);
    assert_eq!(bench.vault.read(id).unwrap(), b"text");
    assert_eq!(bench.vault.take(id, &bench.path("one")).unwrap(), Taken::Copied);
    assert_eq!(bench.vault.references(id).unwrap(), 1);
    bench.absorbed("text", 1);
    assert_eq!(bench.vault.references(id).unwrap(), 2);
    bench.vault.forget(id).unwrap();
    assert_eq!(bench.vault.take(id, &bench.path("two")).unwrap(), Taken::Moved);
    assert!(!bench.vault.contains(id).unwrap());
    assert_eq!(fs::read(bench.path("two")).unwrap(), b"text");
}

#[test]
fn a_stream_proves_itself() {
    use std::io::Read as _;
    let bench = Bench::new();
    let text = "many words ".repeat(50_000);
    let id = bench.absorbed(&text, 1);
    let mut read = String::new();
    let mut reader = bench.vault.reader(id).unwrap();
    assert_eq!(reader.size(), text.len() as u64);
    reader.read_to_string(&mut read).unwrap();
    assert_eq!(read, text);
    let mut written = Vec::new();
    assert_eq!(bench.vault.copy_to(id, &mut written).unwrap(), text.len() as u64);
    assert_eq!(written, text.as_bytes());
}

#[test]
fn a_writer_that_fails_is_reported_as_such() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let bench = Bench::new();
    let id = bench.absorbed("text", 1);
    let error = bench.vault.copy_to(id, &mut Full).unwrap_err();
    assert_eq!(error.io_kind(), Some(io::ErrorKind::StorageFull));
}

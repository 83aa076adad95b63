//! Torn ends, garbled bytes, damage in the middle, logs of newer versions.

use super::*;
use crate::oplog::chain::Chain;

/// Checks that a log whose last entry became `tail` opens with everything before it, passes the rest
/// over, cuts it off when asked, keeps it aside, and can be appended to.
fn check_mended(kept: &[u8], tail: &[u8], before: &[Operation]) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("oplog");
    fs::write(&path, [kept, tail].concat()).unwrap();
    let log = FileLog::open(directory.path()).unwrap();
    assert_eq!(read_all(&log), before);
    assert_eq!(fs::read(&path).unwrap(), [kept, tail].concat(), "who only reads cuts nothing");
    log.mend().unwrap();
    let kept_at = directory.path().join("oplog.torn.1");
    let mended = (!tail.is_empty()).then(|| Mended { kept_at: kept_at.clone(), bytes: tail.len() as u64 });
    assert_eq!(log.mended(), mended);
    assert_eq!(log.mended(), None, "it is reported once");
    assert_eq!(fs::read(&path).unwrap(), kept);
    if !tail.is_empty() {
        assert_eq!(fs::read(&kept_at).unwrap(), tail);
    }
    log.append(&edit("next")).unwrap();
    assert_eq!(read_all(&log), [before, &[edit("next")]].concat());
    let whole = Verification { entries: before.len() as u64 + 1, first_damage: None };
    assert_eq!(log.verify(|_, _| {}).unwrap(), whole);
}

/// The bytes of a log of these operations, and of its last entry.
fn bytes_of(operations: &[Operation]) -> (Vec<u8>, Vec<u8>) {
    let (_directory, log) = log_of(operations);
    let mut bytes = fs::read(log.file.path()).unwrap();
    let begin = bytes.iter().rposition(|byte| *byte == b'{').unwrap();
    let begin = bytes[..begin].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let last = bytes.split_off(begin);
    (bytes, last)
}

#[test]
fn a_torn_last_entry_is_cut_at_every_byte() {
    let before = [edit("a"), command("b")];
    let (kept, last) = bytes_of(&[edit("a"), command("b"), edit("c")]);
    for length in 0..last.len() {
        check_mended(&kept, &last[..length], &before);
    }
}

#[test]
fn a_torn_first_append_is_cut_at_every_byte() {
    let (header, last) = bytes_of(&[edit("a")]);
    for length in 0..header.len() {
        check_mended(&[], &header[..length], &[]);
    }
    for length in 0..last.len() {
        check_mended(&header, &last[..length], &[]);
    }
}

#[test]
fn a_garbled_last_entry_is_cut_whichever_byte_it_is() {
    let before = [edit("a"), edit("b")];
    let (kept, last) = bytes_of(&[edit("a"), edit("b"), edit("c")]);
    for position in 0..last.len() {
        for garble in [|byte: u8| byte ^ 1, |byte: u8| byte ^ 0x20, |byte: u8| if byte == b'\n' { 0 } else { b'\n' }] {
            let mut garbled = last.clone();
            garbled[position] = garble(garbled[position]);
            check_mended(&kept, &garbled, &before);
        }
    }
}

#[test]
fn a_tail_of_zeros_is_cut() {
    let (kept, _) = bytes_of(&[edit("a"), edit("b")]);
    check_mended(&kept, &[0; 300_000], &[edit("a")]);
    check_mended(&kept, "\n\n{}\nnonsense\n".as_bytes(), &[edit("a")]);
}

#[test]
fn an_append_mends_by_itself() {
    let (_directory, log) = log_of(&[edit("a"), edit("b")]);
    let bytes = fs::read(log.file.path()).unwrap();
    fs::write(log.file.path(), &bytes[..bytes.len() - 5]).unwrap();
    log.append(&edit("c")).unwrap();
    assert_eq!(ids(&log), ["c", "a"]);
    assert!(log.mended().is_some());
}

/// An end that another process has mended since may be as long as it was, and is not cut again.
#[test]
fn what_another_process_has_mended_is_not_mended_again() {
    let (_directory, one) = log_of(&[edit("a"), edit("b")]);
    let bytes = fs::read(one.file.path()).unwrap();
    fs::write(one.file.path(), [&bytes[..bytes.len() - 1], b"x"].concat()).unwrap();
    let other = reopen(&one);
    assert_eq!(ids(&other), ["a"]);
    let third = reopen(&one);
    third.append(&edit("b")).unwrap();
    assert_eq!(fs::read(one.file.path()).unwrap(), bytes);
    other.append(&edit("c")).unwrap();
    assert_eq!(ids(&other), ["c", "b", "a"]);
    assert_eq!(other.mended(), None);
}

/// A byte that is wrong before the last two entries costs at most what it is in, and is never cut off.
#[test]
fn damage_in_the_middle_is_named_and_not_cut() {
    let operations: Vec<Operation> = ["a", "b", "c", "d"].map(edit).to_vec();
    let (_directory, log) = log_of(&operations);
    let bytes = fs::read(log.file.path()).unwrap();
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    for position in 0..=ends[2] {
        for wrong in [bytes[position] ^ 1, if bytes[position] == b'\n' { b'x' } else { b'\n' }] {
            let mut damaged = bytes.clone();
            damaged[position] = wrong;
            fs::write(log.file.path(), &damaged).unwrap();
            let again = reopen(&log);
            again.mend().unwrap();
            assert_eq!(fs::read(log.file.path()).unwrap(), damaged, "byte {position}");
            assert!(again.contains_recent(&OperationId::from("d")).unwrap(), "byte {position}");
            let line = ends.iter().filter(|end| **end < position).count();
            let offset = line.checked_sub(1).map_or(0, |previous| ends[previous] as u64 + 1);
            let found = again.verify(|_, _| {}).unwrap();
            let damage = found.first_damage.unwrap();
            assert_eq!((damage.line, damage.offset), (line as u64 + 1, offset), "byte {position}");
            assert_eq!(found.entries, (line as u64).saturating_sub(1));
        }
    }
}

#[test]
fn a_damaged_entry_is_an_error_and_its_neighbours_are_read() {
    let (_directory, log) = log_of(&["a", "b", "c", "d"].map(edit));
    let bytes = fs::read(log.file.path()).unwrap();
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    for position in ends[1] + 1..ends[2] {
        let mut damaged = bytes.clone();
        damaged[position] ^= 1;
        if damaged[position] == b'\n' {
            continue;
        }
        fs::write(log.file.path(), &damaged).unwrap();
        let entries: Vec<Result<Entry, LogError>> = reopen(&log).newest_first().collect();
        let read: Vec<&str> =
            entries.iter().map(|entry| entry.as_ref().map_or("damaged", |entry| entry.head.id.as_str())).collect();
        assert_eq!(read, ["d", "c", "damaged", "a"], "byte {position}");
        let place = ends[1] as u64 + 1;
        assert!(matches!(&entries[2], Err(LogError::Damaged { offset, .. }) if *offset == place), "byte {position}");
    }
}

/// Whatever is wiped out before the newest entry, and however many lines that takes, the newest entry is read.
#[test]
fn damage_across_lines_costs_nothing_that_is_newer() {
    let (_directory, log) = log_of(&["a", "b", "c", "d"].map(edit));
    let bytes = fs::read(log.file.path()).unwrap();
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    for length in [2, 60, 200, 600] {
        for begin in ends[1] + 1..ends[3] {
            let end = (begin + length).min(ends[3]);
            let damaged = [&bytes[..begin], &vec![0; end - begin], &bytes[end..]].concat();
            fs::write(log.file.path(), &damaged).unwrap();
            let again = reopen(&log);
            again.mend().unwrap();
            assert_eq!(fs::read(log.file.path()).unwrap(), damaged, "{length} bytes at {begin}");
            let read: Vec<_> = again.newest_first().filter_map(Result::ok).map(|entry| entry.head.id).collect();
            assert_eq!(read.first().map(OperationId::as_str), Some("d"), "{length} bytes at {begin}");
            assert!(again.verify(|_, _| {}).unwrap().first_damage.is_some());
        }
    }
}

#[test]
fn the_newest_entry_is_garbled_by_its_hash_also_behind_damage() {
    let (_directory, log) = log_of(&["a", "b", "c", "d", "e"].map(edit));
    let mut bytes = fs::read(log.file.path()).unwrap();
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    bytes[ends[2] - 30..ends[2] + 30].fill(0);
    let kept = bytes[..=ends[4]].to_vec();
    let word = memchr::memmem::rfind(&bytes, b"reversible").unwrap();
    bytes[word] = b'R';
    fs::write(log.file.path(), &bytes).unwrap();
    let again = reopen(&log);
    assert_eq!(again.newest_first().next().unwrap().unwrap().head.id.as_str(), "d");
    again.mend().unwrap();
    assert_eq!(fs::read(log.file.path()).unwrap(), kept);
}

/// What is garbled at the end is more than one append: it is left where it is, told, and appended behind.
#[test]
fn two_damaged_entries_at_the_end_are_no_torn_append() {
    let (_directory, log) = log_of(&["a", "b", "c"].map(edit));
    let whole = fs::read(log.file.path()).unwrap();
    let end = whole.iter().take(whole.len() - 1).rposition(|byte| *byte == b'\n').unwrap();
    for is_ended in [true, false] {
        let mut damaged = whole.clone();
        damaged[end - 30..end + 30].fill(0);
        damaged.truncate(whole.len() - usize::from(!is_ended));
        fs::write(log.file.path(), &damaged).unwrap();
        let again = reopen(&log);
        again.mend().unwrap();
        assert_eq!((again.mended(), fs::read(log.file.path()).unwrap()), (None, damaged));
        again.append(&edit("d")).unwrap();
        again.append(&edit("e")).unwrap();
        let read: Vec<_> = reopen(&log)
            .newest_first()
            .map(|entry| entry.map_or_else(|_| "damaged".into(), |entry| entry.head.id))
            .collect();
        assert_eq!(read, ["e", "d", "damaged", "a"].map(OperationId::from));
        assert_eq!(again.verify(|_, _| {}).unwrap().first_damage.unwrap().line, 3);
    }
}

#[test]
fn a_whole_record_that_was_set_aside_is_missed_until_it_is_back() {
    let (_directory, log) = log_of(&["a", "b"].map(edit));
    let bytes = fs::read(log.file.path()).unwrap();
    assert_eq!(log.missed().unwrap(), None);
    let mut garbled = bytes.clone();
    garbled[bytes.len() - 30] ^= 1;
    fs::write(log.file.path(), garbled).unwrap();
    let again = reopen(&log);
    again.mend().unwrap();
    assert_eq!(again.missed().unwrap(), Some(log.file.path().with_file_name("oplog.torn.1")));
    again.append(&edit("b")).unwrap();
    assert_eq!(again.missed().unwrap(), None, "it is back");
    fs::write(log.file.path(), &bytes[..bytes.len() - 5]).unwrap();
    let torn = reopen(&log);
    torn.mend().unwrap();
    fs::remove_file(log.file.path().with_file_name("oplog.torn.1")).unwrap();
    assert_eq!(torn.missed().unwrap(), None, "what was never written whole was never recorded");
}

#[test]
fn a_removed_entry_is_missed() {
    let (_directory, log) = log_of(&["a", "b", "c"].map(edit));
    let text = fs::read_to_string(log.file.path()).unwrap();
    let without: String = text.split_inclusive('\n').filter(|line| !line.contains(r#""id":"b""#)).collect();
    fs::write(log.file.path(), without).unwrap();
    let found = reopen(&log).verify(|_, _| {}).unwrap();
    let damage = found.first_damage.unwrap();
    assert_eq!((found.entries, damage.line, damage.what), (1, 3, DamageKind::HashMismatch));
}

#[test]
fn a_torn_end_is_named_too() {
    let (_directory, log) = log_of(&["a", "b"].map(edit));
    let bytes = fs::read(log.file.path()).unwrap();
    fs::write(log.file.path(), &bytes[..bytes.len() - 1]).unwrap();
    let found = reopen(&log).verify(|_, _| {}).unwrap();
    let damage = found.first_damage.unwrap();
    assert_eq!((found.entries, damage.line, damage.what), (1, 3, DamageKind::Torn));
}

#[test]
fn damage_to_a_huge_change_set_is_found() {
    let huge = Operation { head: head("huge"), effect: OperationEffect::Files { changes: changes(2000) } };
    let (_directory, log) = log_of(&[edit("a"), huge, edit("c")]);
    let path = log.file.path().with_file_name("changes").join("huge");
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    let other = dryad_effects::change_codec::encode(&changes(1));
    for content in [flipped, whole[..1000].to_vec(), Vec::new(), other] {
        fs::write(&path, content).unwrap();
        check_huge_damaged(&log);
    }
    fs::remove_file(&path).unwrap();
    check_huge_damaged(&log);
}

fn check_huge_damaged(log: &FileLog) {
    let found = log.verify(|_, _| {}).unwrap();
    assert_eq!((found.entries, found.first_damage.map(|damage| damage.line)), (1, Some(3)));
    let entry = log.newest_first().nth(1).unwrap().unwrap();
    let error = log.operation(&entry).unwrap_err();
    assert!(matches!(&error, LogError::DamagedChanges { id, .. } if id.as_str() == "huge"), "{error}");
}

#[test]
fn a_log_of_a_newer_version_is_only_read() {
    let directory = tempfile::tempdir().unwrap();
    let header = br#"{"format":"dryad-oplog","version":7,"workspace":"w","more":[1]}"#;
    let (mut bytes, chain) = Chain::START.line(header);
    let entry = changes::ChangeFiles::new(directory.path().join("changes")).store(&edit("a"), None).unwrap();
    bytes.extend(chain.line(&entry.to_json().unwrap()).0);
    bytes.extend(b"what this dryad takes for a torn end");
    let path = directory.path().join("oplog");
    fs::write(&path, &bytes).unwrap();
    let log = FileLog::open(directory.path()).unwrap();
    assert_eq!(read_all(&log), [edit("a")]);
    let refused = log.append(&edit("b")).unwrap_err();
    assert!(matches!(refused, LogError::NewerVersion { found: 7, known: 1 }));
    assert_eq!(refused.to_string(), "the operation log has version 7, while this dryad knows versions up to 1");
    log.mend().unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_newer_version_with_other_lines_is_neither_empty_nor_cut() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("oplog");
    let header = format!("{} {}\nother\n", "f".repeat(32), r#"{"format":"dryad-oplog","version":2,"workspace":"w"}"#);
    fs::write(&path, &header).unwrap();
    let log = FileLog::open(directory.path()).unwrap();
    assert!(matches!(log.newest_first().next(), Some(Err(LogError::NewerVersion { .. }))));
    assert!(matches!(log.append(&edit("b")), Err(LogError::NewerVersion { .. })));
    assert!(matches!(log.verify(|_, _| {}), Err(LogError::NewerVersion { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), header);
}

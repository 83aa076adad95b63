//! Round trips, damage of every kind, and the size that was promised.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn path(bytes: &[u8]) -> FilePath {
    FilePath::new(OsString::from_vec(bytes.to_vec()))
}

fn file(byte: u8, modified: Option<FileTime>) -> Image {
    Image::File(FileImage { blob: BlobId::from_hash([byte; 32]), size: 4096, mode: 0o644, modified })
}

/// A set with every kind of image, small enough to be damaged in every place.
fn sample() -> ChangeSet {
    let images = [
        Image::Absent,
        file(1, FileTime::new(1_700_000_000, 123_456_789)),
        file(2, None),
        Image::Symlink { target: path(b"../a//\xff") },
        Image::Directory { mode: 0o2755 },
        file(3, FileTime::new(-1, 999_999_999)),
    ];
    ChangeSet::new(images.iter().zip(images.iter().cycle().skip(1)).zip(0_u8..).map(|((before, after), number)| {
        Change { path: path(&[b'/', b'a', 0xf0, b'0' + number]), before: before.clone(), after: after.clone() }
    }))
}

/// The body with a header before it and a right checksum after it.
fn sealed(body: &[u8]) -> Vec<u8> {
    let mut bytes = [MAGIC.as_slice(), &[VERSION], body].concat();
    bytes.extend_from_slice(&checksum(&bytes));
    bytes
}

/// The changes with every path and target as raw bytes: paths compare equal that are not written alike.
fn raw(set: &ChangeSet) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
    let bytes = |path: &FilePath| path.as_path().as_os_str().as_bytes().to_vec();
    let target = |image: &Image| match image {
        Image::Symlink { target } => Some(bytes(target)),
        Image::Absent | Image::File(_) | Image::Directory { .. } => None,
    };
    let targets = |change: &Change| [&change.before, &change.after].into_iter().filter_map(target).collect();
    set.iter().map(|change| (bytes(&change.path), targets(change))).collect()
}

#[test]
fn every_kind_of_image_comes_back() {
    let set = sample();
    let decoded = decode(&encode(&set)).unwrap();
    assert_eq!(decoded, set);
    assert_eq!(raw(&decoded), raw(&set));
}

#[test]
fn the_form_on_disk_stays_what_it_is() {
    let set = ChangeSet::new([
        Change { path: path(b"/tmp/one"), before: Image::Absent, after: file(7, FileTime::new(-3, 200)) },
        Change {
            path: path(b"/tmp/two"),
            before: Image::Directory { mode: 0o755 },
            after: Image::Symlink { target: path(b"x") },
        },
    ]);
    let blob = [7; 32];
    let body = [
        b"\x02\x00\x08/tmp/one\x00\x05".as_slice(),
        &blob,
        b"\x80\x20\xa4\x03\x05\xc8\x01",
        b"\x05\x03two\x03\xed\x03\x02\x01x",
    ];
    assert_eq!(encode(&set), sealed(&body.concat()));
}

#[test]
fn every_single_byte_corruption_is_an_error() {
    let encoded = encode(&sample());
    for position in 0..encoded.len() {
        for flip in 1..=255 {
            let mut damaged = encoded.clone();
            damaged[position] ^= flip;
            let expected = match position {
                0..4 => CodecError::NotAChangeSet,
                4 if damaged[4] > VERSION => CodecError::NewerVersion { found: damaged[4], known: VERSION },
                _ => CodecError::ChecksumMismatch,
            };
            assert_eq!(decode(&damaged), Err(expected), "byte {position} with {flip:#x} flipped");
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let encoded = encode(&sample());
    for length in 0..encoded.len() {
        let expected = if length < SHORTEST { CodecError::TooShort { length } } else { CodecError::ChecksumMismatch };
        assert_eq!(decode(&encoded[..length]), Err(expected), "cut to {length} bytes");
    }
}

#[test]
fn a_right_checksum_does_not_make_nonsense_a_change_set() {
    let far = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    let cases: [(&str, Vec<u8>, usize); 13] = [
        ("no count", b"".to_vec(), 5),
        ("more changes than bytes", far.to_vec(), 5),
        ("a count beyond 64 bits", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02".to_vec(), 5),
        ("a count with a byte too many", b"\x80\x00".to_vec(), 5),
        ("a path longer than the rest", [b"\x01\x00".as_slice(), far].concat(), 7),
        ("a prefix that nothing has", b"\x01\x01\x00\x00\x00".to_vec(), 6),
        ("an image of no kind", b"\x01\x00\x01/\x09\x00".to_vec(), 9),
        ("a link beyond the rest", b"\x01\x00\x01/\x02\x7f".to_vec(), 10),
        ("a mode beyond 32 bits", b"\x01\x00\x01/\x03\x80\x80\x80\x80\x10\x00".to_vec(), 10),
        ("half a blob", [b"\x01\x00\x01/\x01".as_slice(), &[1; 16]].concat(), 10),
        ("bytes left over", b"\x00\x00".to_vec(), 6),
        ("a path twice", b"\x02\x00\x01/\x00\x00\x01\x00\x00\x00".to_vec(), 15),
        ("a prefix not shared as far as it could", b"\x02\x00\x01/\x00\x00\x00\x02/a\x00\x00".to_vec(), 11),
    ];
    for (what, body, offset) in cases {
        assert_eq!(decode(&sealed(&body)), Err(CodecError::Malformed { offset }), "{what}");
    }
}

#[test]
fn nanoseconds_that_make_a_second_are_malformed() {
    let time = b"\x00\x80\x94\xeb\xdc\x03";
    let body = [b"\x01\x00\x01/\x00\x05".as_slice(), &[1; 32], b"\x00\x00", time].concat();
    assert_eq!(decode(&sealed(&body)), Err(CodecError::Malformed { offset: 46 }));
}

#[test]
fn a_version_before_the_first_is_malformed() {
    let mut bytes = [MAGIC.as_slice(), &[0, 0]].concat();
    bytes.extend_from_slice(&checksum(&bytes));
    assert_eq!(decode(&bytes), Err(CodecError::Malformed { offset: 4 }));
}

#[test]
fn errors_say_what_is_wrong() {
    let newer = CodecError::NewerVersion { found: 3, known: 1 };
    assert_eq!(newer.to_string(), "a change set of version 3, while this dryad knows versions up to 1");
    assert_eq!(CodecError::Malformed { offset: 9 }.to_string(), "a malformed change set, at byte 9");
}

#[test]
fn paths_longer_than_the_shared_part_may_be_come_back() {
    let long = |end: u8| [vec![b'a'; 2 * LONGEST_SHARED], vec![end]].concat();
    let change =
        |end| Change { path: path(&long(end)), before: Image::Absent, after: Image::Directory { mode: 0o755 } };
    let set = ChangeSet::new([change(b'x'), change(b'y')]);
    assert_eq!(decode(&encode(&set)).unwrap(), set);
}

/// Bytes per change of a set of 10,000 files in one tree, with hashes and times as arbitrary as real ones.
fn average(before: impl Fn(&Image) -> Image) -> usize {
    let changes = (0..10_000_u32).map(|number| {
        let hash = blake3::hash(&number.to_le_bytes());
        let noise = u32::from_le_bytes(*hash.as_bytes().first_chunk().unwrap());
        let after = Image::File(FileImage {
            blob: BlobId::from_hash(*hash.as_bytes()),
            size: u64::from(noise % 20_000),
            mode: 0o644,
            modified: FileTime::new(1_700_000_000 + i64::from(noise % 5000), noise % 1_000_000_000),
        });
        let name = format!("/home/somebody/project/src/module_{}/file_{}.rs", number / 100, number % 100);
        Change { path: FilePath::new(name), before: before(&after), after }
    });
    let set = ChangeSet::new(changes);
    let encoded = encode(&set);
    assert_eq!(decode(&encoded).unwrap(), set);
    encoded.len().div_ceil(10_000)
}

#[test]
fn ten_thousand_similar_paths_take_little_room() {
    let created = average(|_| Image::Absent);
    assert!(created < 70, "{created} bytes per created file");
    // Two hashes alone are 64 bytes, which no form can make shorter.
    let modified = average(Image::clone);
    assert!(modified < 64 + 32, "{modified} bytes per modified file");
}

fn name() -> impl Strategy<Value = FilePath> {
    vec(prop_oneof![Just(b'/'), Just(b'a'), Just(b'.'), Just(0xff), any::<u8>()], 0..8).prop_map(|bytes| path(&bytes))
}

fn time() -> impl Strategy<Value = Option<FileTime>> {
    let seconds = prop_oneof![any::<i64>(), -3..3_i64, Just(i64::MIN), Just(i64::MAX)];
    (any::<bool>(), seconds, 0..1_000_000_000_u32)
        .prop_map(|(known, seconds, rest)| FileTime::new(seconds, rest).filter(|_| known))
}

fn image() -> impl Strategy<Value = Image> {
    prop_oneof![
        Just(Image::Absent),
        (any::<[u8; 32]>(), any::<u64>(), any::<u32>(), time()).prop_map(|(hash, size, mode, modified)| {
            Image::File(FileImage { blob: BlobId::from_hash(hash), size, mode, modified })
        }),
        name().prop_map(|target| Image::Symlink { target }),
        any::<u32>().prop_map(|mode| Image::Directory { mode }),
    ]
}

fn change_set() -> impl Strategy<Value = ChangeSet> {
    let change = (name(), image(), image()).prop_map(|(path, before, after)| Change { path, before, after });
    vec(change, 0..12).prop_map(ChangeSet::new)
}

proptest! {
    #[test]
    fn any_set_comes_back(set in change_set()) {
        let decoded = decode(&encode(&set)).unwrap();
        prop_assert_eq!(raw(&decoded), raw(&set));
        prop_assert_eq!(decoded, set);
    }

    #[test]
    fn a_damaged_byte_or_a_cut_is_an_error(set in change_set(), position: prop::sample::Index, flip in 1..=255_u8) {
        let mut encoded = encode(&set);
        let position = position.index(encoded.len());
        prop_assert!(decode(&encoded[..position]).is_err());
        encoded[position] ^= flip;
        prop_assert!(decode(&encoded).is_err());
    }

    #[test]
    fn a_body_of_any_bytes_is_refused_or_is_the_one_encoding_of_its_set(
        set in change_set(), position: prop::sample::Index, new in vec(any::<u8>(), 0..4),
    ) {
        let encoded = encode(&set);
        let body = &encoded[5..encoded.len() - CHECKSUM];
        let position = position.index(body.len());
        let rest = body.get(position + new.len()..).unwrap_or_default();
        let changed = sealed(&[&body[..position], &new, rest].concat());
        if let Ok(set) = decode(&changed) {
            prop_assert_eq!(encode(&set), changed);
        }
    }
}

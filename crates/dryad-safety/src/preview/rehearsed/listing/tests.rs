//! Lists of paths, short and long.

use super::*;
use dryad_protocol::image::FileImage;
use dryad_protocol::path::FilePath;
use expect_test::expect;

fn file(content: u8, size: u64) -> Image {
    Image::File(FileImage { blob: BlobId::from_hash([content; 32]), size, mode: 0o644, modified: None })
}

fn change(path: &str, before: Image, after: Image) -> Change {
    Change { path: FilePath::new(format!("/w/{path}")), before, after }
}

#[test]
fn every_kind_of_change_has_its_line() {
    let executable = match file(5, 9) {
        Image::File(file) => Image::File(FileImage { mode: 0o755, ..file }),
        other => other,
    };
    let changes = ChangeSet::new([
        change("new.txt", Image::Absent, file(1, 12)),
        change("notes.txt", file(2, 10), file(3, 2048)),
        change("old.txt", file(4, 5), Image::Absent),
        change("run.sh", file(5, 9), executable),
        change("a.txt", file(6, 7), Image::Absent),
        change("b.txt", Image::Absent, file(6, 7)),
        change("link", Image::Absent, Image::Symlink { target: FilePath::new("b.txt") }),
        change("sub", Image::Absent, Image::Directory { mode: 0o755 }),
    ]);
    expect![[r#"

        changes: 7 paths (3 new, 2 changed, 1 deleted, 1 moved)
          R a.txt → b.txt
          A link (link to b.txt)
          A new.txt (12 bytes)
          M notes.txt (10 bytes to 2.0 KB)
          D old.txt (5 bytes)
          M run.sh (mode 644 to 755)
          A sub (directory)

        lost: 1 file, 5 bytes
          old.txt (5 bytes)
    "#]]
    .assert_eq(&Listing::new(&changes, Path::new("/w")).render());
}

#[test]
fn bits_that_come_or_go_with_a_content_are_told() {
    let with = |mode: u32, image: Image| match image {
        Image::File(file) => Image::File(FileImage { mode, ..file }),
        other => other,
    };
    let changes = ChangeSet::new([
        change("gained", Image::Absent, with(0o4755, file(1, 2))),
        change("kept", with(0o755, file(2, 2)), with(0o755, file(3, 2))),
        change("lost", with(0o4755, file(4, 2)), with(0o755, file(5, 4))),
    ]);
    expect![[r#"

        changes: 3 paths (1 new, 2 changed)
          A gained (2 bytes, mode 4755)
          M kept (2 bytes to 2 bytes)
          M lost (2 bytes to 4 bytes, mode 4755 to 755)
    "#]]
    .assert_eq(&Listing::new(&changes, Path::new("/w")).render());
}

#[test]
fn many_paths_are_counted_by_directory_and_the_largest_losses_are_named() {
    let gone = |number: u8| change(&format!("build/{number}.o"), file(number, u64::from(number)), Image::Absent);
    let some = [change("src/a.c", file(200, 1), file(201, 1)), change("top", Image::Absent, file(202, 1))];
    let changes = ChangeSet::new((1..=60).map(gone).chain(some));
    let listing = Listing::new(&changes, Path::new("/w"));
    expect![[r#"

        changes: 62 paths (1 new, 1 changed, 60 deleted)
          A top (1 byte)
          build/  60 paths (60 deleted)
          M src/a.c (1 byte to 1 byte)

        lost: 60 files, 1.8 KB
          build/60.o (60 bytes)
          build/59.o (59 bytes)
          build/58.o (58 bytes)
          build/57.o (57 bytes)
          build/56.o (56 bytes)
          build/55.o (55 bytes)
          build/54.o (54 bytes)
          build/53.o (53 bytes)
          build/52.o (52 bytes)
          build/51.o (51 bytes)
          … and 50 more, each smaller
    "#]]
    .assert_eq(&listing.render());
    assert_eq!(listing.in_a_few_words(), "build/1.o and 61 more");
    assert_eq!((listing.lost_files(), listing.lost_bytes()), (60, 1830));
}

#[test]
fn no_change_is_told() {
    let listing_of_nothing = ChangeSet::default();
    let listing = Listing::new(&listing_of_nothing, Path::new("/w"));
    assert_eq!(listing.render(), "\nno file in the granted roots is changed\n");
    assert_eq!(listing.in_a_few_words(), "nothing");
}

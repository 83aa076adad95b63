//! Names of what lies beside a file.
//!
//! Invariant: such a name is never longer than file systems allow, with room for what is appended to it in turn.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// As many bytes a name has at most.
const LONGEST: usize = 255;

/// Kept free for what is appended to a name that was made here: a number, a mark.
const ROOM: usize = 16;

/// As many bytes of a long name are kept.
const KEPT: usize = 160;

/// `<path><suffix>`. Of a name that would be too long the beginning stays, and a hash stands for the rest.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    if name.len() + suffix.len() + ROOM <= LONGEST {
        let mut whole = OsString::from(path.as_os_str());
        whole.push(suffix);
        return PathBuf::from(whole);
    }
    let begin = match std::str::from_utf8(name) {
        Ok(text) => text.get(..text.floor_char_boundary(KEPT)).unwrap_or_default().as_bytes(),
        Err(_) => name.get(..KEPT).unwrap_or(name),
    };
    let hash: String = blake3::hash(name).to_hex().chars().take(16).collect();
    let short = [begin, b"~", hash.as_bytes(), suffix.as_bytes()].concat();
    path.with_file_name(OsString::from_vec(short))
}

/// The first of `<path><suffix>`, `<path><suffix>.1`, … that is free.
pub fn free_beside(path: &Path, suffix: &str, is_free: impl Fn(&Path) -> bool) -> PathBuf {
    let first = beside(path, suffix);
    let name = |number: u32| {
        let mut name = OsString::from(first.as_os_str());
        if number > 0 {
            name.push(format!(".{number}"));
        }
        PathBuf::from(name)
    };
    (0..).map(name).find(|place| is_free(place)).unwrap_or_else(|| name(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_name_is_kept_whole_where_it_fits() {
        assert_eq!(beside(Path::new("/a/b.txt"), ".edit.tmp"), Path::new("/a/b.txt.edit.tmp"));
        let fits = "n".repeat(LONGEST - ROOM - 9);
        assert_eq!(beside(Path::new(&fits), ".edit.tmp"), Path::new(&format!("{fits}.edit.tmp")));
    }

    #[test]
    fn the_first_free_name_is_taken() {
        let taken = [Path::new("/a/b.before"), Path::new("/a/b.before.1")];
        let free = |taken: &[&Path]| free_beside(Path::new("/a/b"), ".before", |place| !taken.contains(&place));
        assert_eq!((free(&[]), free(&taken)), ("/a/b.before".into(), "/a/b.before.2".into()));
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let names: [Vec<u8>; 4] =
            ["n".repeat(255).into(), "n".repeat(254).into(), "\u{e4}".repeat(127).into(), vec![0xff; 250]];
        let places: Vec<PathBuf> =
            names.iter().map(|name| beside(&Path::new("/d").join(OsStr::from_bytes(name)), ".edit.tmp")).collect();
        for place in &places {
            let name = place.file_name().unwrap().as_bytes();
            assert!(name.len() + ROOM <= LONGEST && name.ends_with(b".edit.tmp"), "{place:?}");
            assert_eq!(place.parent(), Some(Path::new("/d")));
            assert_eq!(places.iter().filter(|other| *other == place).count(), 1);
        }
        assert!(places[2].to_str().is_some(), "text stays text");
    }
}

//! Texts of a few numbered lines, and how two changes of one are put together.
//!
//! Every line has its number in it, so where a line belongs is never in doubt: the reference merge looks
//! at one line after the other and needs no comparison of texts.

/// How many lines a text has at most.
pub(super) const LINES: usize = 7;

/// For each number the version of its line; 0 when the line is not there.
pub(super) type Versions = [u8; LINES];

/// The bytes of a text.
pub(super) fn write(versions: &Versions) -> Vec<u8> {
    let lines = versions.iter().enumerate().filter(|(_, version)| **version > 0);
    lines.map(|(number, version)| format!("line {number}, version {version}\n")).collect::<String>().into_bytes()
}

/// The text that these bytes are, if they are one.
pub(super) fn read(bytes: &[u8]) -> Option<Versions> {
    let mut versions = Versions::default();
    for line in std::str::from_utf8(bytes).ok()?.lines() {
        let (number, version) = line.strip_prefix("line ")?.split_once(", version ")?;
        *versions.get_mut(number.parse::<usize>().ok()?)? = version.parse().ok()?;
    }
    Some(versions)
}

/// Both differences from `base`; nothing if they contradict each other.
pub(super) fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
    if let Some(whole) = settle(base, ours, theirs) {
        return Some(whole.to_vec());
    }
    let (base, ours, theirs) = (read(base)?, read(ours)?, read(theirs)?);
    let mut merged = Versions::default();
    for (number, line) in merged.iter_mut().enumerate() {
        *line = *settle(&base[number], &ours[number], &theirs[number])?;
    }
    Some(write(&merged))
}

/// What one side changed alone, or both alike.
pub(super) fn settle<'a, T: PartialEq + ?Sized>(base: &T, ours: &'a T, theirs: &'a T) -> Option<&'a T> {
    if base == theirs || ours == theirs {
        Some(ours)
    } else if base == ours {
        Some(theirs)
    } else {
        None
    }
}

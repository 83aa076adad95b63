//! Points in time: as the wire knows them, and as file systems do.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
///
/// Reading a clock is not this crate's business; `dryad_safety::clock` does that.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A timestamp of so many milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Milliseconds from `earlier` to this one; negative when a clock went back.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0 - earlier.0
    }
}

/// When a file was last modified, as exactly as the file system says it.
///
/// Serialised as `{"seconds": …, "nanoseconds": …}`; nanoseconds that make a second are refused.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "Parts")]
pub struct FileTime {
    seconds: i64,
    nanoseconds: u32,
}

impl FileTime {
    /// So many whole seconds since 1970, rounded down, and the nanoseconds that follow them;
    /// nothing when these make a second or more.
    pub const fn new(seconds: i64, nanoseconds: u32) -> Option<Self> {
        if nanoseconds < 1_000_000_000 { Some(Self { seconds, nanoseconds }) } else { None }
    }

    /// Whole seconds since 1970, rounded down: negative before.
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// Nanoseconds after the second, fewer than a second has.
    pub const fn nanoseconds(self) -> u32 {
        self.nanoseconds
    }
}

/// The serde form of a [`FileTime`] before it is checked.
#[derive(Deserialize)]
struct Parts {
    seconds: i64,
    nanoseconds: u32,
}

impl TryFrom<Parts> for FileTime {
    type Error = &'static str;

    fn try_from(parts: Parts) -> Result<Self, Self::Error> {
        Self::new(parts.seconds, parts.nanoseconds).ok_or("a second has fewer nanoseconds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_time_keeps_its_nanoseconds_in_json() {
        let time = FileTime::new(-2, 999_999_999).unwrap();
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, r#"{"seconds":-2,"nanoseconds":999999999}"#);
        assert_eq!(serde_json::from_str::<FileTime>(&json).unwrap(), time);
    }

    #[test]
    fn refuses_nanoseconds_that_make_a_second() {
        assert_eq!(FileTime::new(0, 1_000_000_000), None);
        let error = serde_json::from_str::<FileTime>(r#"{"seconds":0,"nanoseconds":1000000000}"#).unwrap_err();
        assert_eq!(error.to_string(), "a second has fewer nanoseconds");
    }

    #[test]
    fn file_times_are_ordered_across_1970() {
        let times = [(-1, 0), (-1, 5), (0, 0), (0, 1)].map(|(seconds, rest)| FileTime::new(seconds, rest).unwrap());
        assert!(times.is_sorted());
    }
}

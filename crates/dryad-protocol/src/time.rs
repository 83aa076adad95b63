//! Points in time as the wire knows them: milliseconds since 1970.

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

//! The one home of the wall clock.

use dryad_protocol::time::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the time comes from: the system, or a test that fixes it.
#[derive(Clone, Copy, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// Always this time.
    Fixed(Timestamp),
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => system_now(),
            Self::Fixed(time) => *time,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one home of the wall clock")]
fn system_now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

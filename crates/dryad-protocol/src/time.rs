//! Points in time: as the wire knows them, and as file systems do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch.
///
/// Reading a clock is not this crate's business; `dryad_safety::clock` does that.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
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

impl Timestamp {
    /// The time in UTC as `2025-01-31T09:05:00.000Z`.
    pub fn to_iso(self) -> String {
        let (days, millis) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        let (hour, minute) = (millis / 3_600_000, millis / 60_000 % 60);
        let (second, rest) = (millis / 1000 % 60, millis % 1000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
    }

    /// Reads what `to_iso` writes, with any number of decimals of a second, and an offset in the place of `Z`.
    pub fn from_iso(text: &str) -> Option<Self> {
        let (date, clock) = text.split_once(['T', ' '])?;
        let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let (clock, offset) = split_offset(clock)?;
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let mut clock = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
        let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next().unwrap_or(Some(0))?);
        let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && (-9999..=9999).contains(&year);
        if !in_range || !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
            return None;
        }
        let digit =
            |place: usize| fraction.as_bytes().get(place).copied().unwrap_or(b'0').checked_sub(b'0').map(i64::from);
        let millis = digit(0)? * 100 + digit(1)? * 10 + digit(2)?;
        let minutes = hour * 60 + minute - offset;
        Some(Self(days_to(year, month, day) * DAY + minutes * 60_000 + second * 1000 + millis))
    }
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Splits off `Z` or an offset from UTC, which is given in minutes.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(sign) = clock.rfind(['+', '-']) else { return Some((clock, 0)) };
    let (clock, offset) = clock.split_at_checked(sign)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    Some((clock, sign * (hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?)))
}

/// Days since 1970 of a date of the Gregorian calendar. A year is taken to begin in March, so that
/// the leap day is its last.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that is so many days after 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Writes a [`Timestamp`] as ISO text and reads that or milliseconds: the form of session files.
pub mod iso {
    use super::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes ISO text.
    pub fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time.to_iso())
    }

    /// Reads ISO text or milliseconds; text that tells no time is read as 1970.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Millis(f64),
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(text) => Timestamp::from_iso(&text).unwrap_or_default(),
            Form::Millis(millis) => Timestamp(millis as i64),
        })
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
    fn iso_text_tells_the_same_time() {
        let known = [(0, "1970-01-01T00:00:00.000Z"), (1_709_210_096_789, "2024-02-29T12:34:56.789Z")];
        for (millis, text) in known {
            assert_eq!(Timestamp::from_millis(millis).to_iso(), text);
        }
        for millis in (-4_000_000_000_000..8_000_000_000_000).step_by(86_400_000 * 17 + 12_345) {
            let time = Timestamp::from_millis(millis);
            assert_eq!(Timestamp::from_iso(&time.to_iso()), Some(time));
        }
    }

    #[test]
    fn iso_text_of_other_programs_is_read() {
        let noon = Timestamp::from_iso("2025-06-01T12:00:00.000Z");
        for text in
            ["2025-06-01T12:00:00Z", "2025-06-01 12:00:00", "2025-06-01T14:00:00.0001+02:00", "2025-06-01T12:00Z"]
        {
            assert_eq!(Timestamp::from_iso(text), noon, "{text}");
        }
        for text in ["", "yesterday", "2025-13-01T00:00:00Z", "2025-06-01T25:00:00Z", "2025-06-01Tü:00:00Z"] {
            assert_eq!(Timestamp::from_iso(text), None, "{text}");
        }
    }

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

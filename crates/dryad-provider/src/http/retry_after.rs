//! How long a server asks to wait.
//!
//! A date is measured against the answer's own `Date`: no clock of ours, and no quarrel between
//! two clocks.

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::Duration;

/// The wait that an answer's headers ask for.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |value: &reqwest::header::HeaderValue| value.to_str().ok().map(|text| text.trim().to_owned());
    if let Some(millis) = headers.get("retry-after-ms").and_then(text).and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let value = headers.get(RETRY_AFTER).and_then(text)?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let now = http_date(&headers.get(DATE).and_then(text)?)?;
    Some(Duration::from_secs(http_date(&value)?.saturating_sub(now)))
}

/// Seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next()? != "GMT" || !(1970..10_000).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Counts years from March, so that the leap day is a year's last.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let before_month = (153 * month + 2) / 5;
    // From the first of March of year 0 to 1970 it is 719 468 days.
    year * 365 + leap_days + before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        retry_after(&map)
    }

    #[test]
    fn reads_seconds_and_milliseconds() {
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "1500")]), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn reads_a_date_against_the_date_of_the_answer() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT"), date]), Some(Duration::from_secs(23)));
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date]), Some(Duration::ZERO));
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:50:00 GMT")]), None);
    }

    #[test]
    fn nonsense_asks_for_no_wait() {
        for value in ["soon", "-1", "NaN", "Sun, 40 Nov 1994 08:50:00 GMT", "Sun, 06 Foo 1994 08:50:00 GMT", ""] {
            assert_eq!(wait(&[("retry-after", value), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")]), None, "{value}");
        }
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(http_date("Tue, 29 Feb 2000 12:00:00 GMT"), Some(951_825_600));
        assert_eq!(http_date("Fri, 01 Mar 2024 00:00:01 GMT"), Some(1_709_251_201));
    }
}

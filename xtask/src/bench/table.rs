//! Figures beside their limits, as a table.

use std::fmt::Write as _;

/// One figure and what it may be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// Our figure; absent when it could not be measured.
    pub(crate) ours: Option<f64>,
    /// What it stands beside: the floor program, rg, fd.
    pub(crate) theirs: Option<f64>,
    pub(crate) limit: Limit,
}

/// What a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// So many times the other's figure.
    Times(f64),
    /// Not under so many times the other's figure: rates.
    TimesAtLeast(f64),
    /// This much, whatever the other's figure is: sizes and counts, and times only where that is what was promised.
    AtMost(f64),
    /// Anything: it is told for the record, and need only be measured.
    None,
}

impl Row {
    /// Our figure as a multiple of theirs.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let theirs = self.theirs.filter(|theirs| *theirs > 0.0)?;
        Some(self.ours? / theirs)
    }

    /// Whether the figure was measured and is within its limit.
    pub(crate) fn is_kept(&self) -> bool {
        let is_kept = |figure: Option<f64>, limit: f64| figure.is_some_and(|figure| figure <= limit);
        match self.limit {
            Limit::Times(limit) => is_kept(self.ratio(), limit),
            Limit::TimesAtLeast(limit) => self.ratio().is_some_and(|ratio| ratio >= limit),
            Limit::AtMost(limit) => is_kept(self.ours, limit),
            Limit::None => self.ours.is_some(),
        }
    }
}

/// The table as text.
pub(crate) fn render(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut line = |cells: [&str; 6]| {
        let [what, ours, theirs, ratio, limit, verdict] = cells;
        // Writing to a String cannot fail.
        writeln!(text, "{what:<44} {ours:>10} {theirs:>10} {ratio:>8} {limit:>9}  {verdict}").unwrap_or_default();
    };
    line(["figure", "dryad", "beside", "ratio", "limit", ""]);
    for row in rows {
        let what = if row.unit.is_empty() { row.what.to_owned() } else { format!("{} ({})", row.what, row.unit) };
        let ratio = row.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
        let limit = match row.limit {
            Limit::Times(limit) => format!("{limit}x"),
            Limit::TimesAtLeast(limit) => format!(">={limit}x"),
            Limit::AtMost(limit) => format!("{limit}"),
            Limit::None => "-".to_owned(),
        };
        let verdict = match (row.is_kept(), row.ours) {
            (true, _) => "ok",
            (false, Some(_)) => "OVER",
            (false, None) => "NOT MEASURED",
        };
        line([&what, &figure(row.ours), &figure(row.theirs), &ratio, &limit, verdict]);
    }
    text
}

/// The middle value; of an even number the upper one of the two.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn figure(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: Option<f64>, theirs: Option<f64>, limit: Limit) -> Row {
        Row { what: "a", unit: "ms", ours, theirs, limit }
    }

    #[test]
    fn a_limit_is_kept_up_to_and_including_itself() {
        assert!(row(Some(6.0), Some(1.0), Limit::Times(6.0)).is_kept());
        assert!(!row(Some(6.1), Some(1.0), Limit::Times(6.0)).is_kept());
        assert!(row(Some(20.0), None, Limit::AtMost(20.0)).is_kept());
        assert!(row(Some(6.0), Some(10.0), Limit::TimesAtLeast(0.6)).is_kept());
        assert!(!row(Some(5.9), Some(10.0), Limit::TimesAtLeast(0.6)).is_kept());
        assert!(!row(Some(20.5), Some(1.0), Limit::AtMost(20.0)).is_kept());
    }

    #[test]
    fn what_was_not_measured_is_not_kept() {
        assert!(!row(None, Some(1.0), Limit::Times(6.0)).is_kept());
        assert!(!row(Some(1.0), None, Limit::Times(6.0)).is_kept());
        assert!(!row(Some(1.0), Some(0.0), Limit::Times(6.0)).is_kept());
        assert!(!row(None, None, Limit::AtMost(6.0)).is_kept());
    }

    #[test]
    fn the_table_says_what_is_over() {
        let rows = [
            row(Some(9.0), Some(2.0), Limit::Times(6.0)),
            row(Some(14.0), Some(2.0), Limit::Times(6.0)),
            row(None, None, Limit::AtMost(1.0)),
        ];
        let text = render(&rows);
        let ends: Vec<&str> = text.lines().skip(1).map(|line| line.split("  ").last().unwrap().trim()).collect();
        assert_eq!(ends, ["ok", "OVER", "NOT MEASURED"]);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }
}

//! `--list-models [SEARCH]`: what can be asked now, or everything that matches.

use crate::output;
use crate::report::{Exit, Failure};
use crate::wiring::{Access, Workshop, local_models};
use dryad_protocol::model::Model;
use dryad_provider::registry::ListedModel;
use serde::Serialize;
use std::path::Path;

/// One model as programs read it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    /// Whether it can be asked now.
    available: bool,
    #[serde(flatten)]
    model: &'a Model,
}

/// Prints the list.
///
/// # Errors
///
/// When a file cannot be understood.
pub(super) async fn run(search: &str, json: bool, workdir: &Path) -> Result<Exit, Failure> {
    let workshop = Workshop::open(workdir)?;
    let access = Access::load(&workshop.home)?;
    let local = local_models(&access).await;
    let all = access.models().with_discovered(local).list(search);
    let wanted = |listed: &&ListedModel| listed.is_available || !search.is_empty();
    let shown: Vec<&ListedModel> = all.iter().filter(wanted).collect();
    if json {
        let rows: Vec<Row<'_>> =
            shown.iter().map(|listed| Row { available: listed.is_available, model: &listed.model }).collect();
        output::print_json(&rows)?;
        return Ok(Exit::Done);
    }
    if shown.is_empty() {
        return Err(Failure::failed(format!("no model matches `{search}`")));
    }
    output::print(&table(&shown))?;
    let hidden = all.len() - shown.len();
    if hidden > 0 {
        output::note(&format!("{hidden} more models need a key; `dryad --list-models WORD` searches all"));
    }
    Ok(Exit::Done)
}

fn table(rows: &[&ListedModel]) -> String {
    let head = ["MODEL", "WINDOW", "OUTPUT", "THINKS", "SEES", "READY"].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows.iter().map(|row| cells(row))).collect();
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
    let render = |line: &[String; 6]| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(render).collect()
}

fn cells(row: &ListedModel) -> [String; 6] {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let model = &row.model;
    [
        model.full_name(),
        tokens(model.context_window),
        tokens(model.max_tokens),
        yes(model.reasoning),
        yes(model.has_vision()),
        yes(row.is_available),
    ]
}

fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}K", count / 1_000),
        _ => format!("{:.1}M", count as f64 / 1e6).replace(".0M", "M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_are_short() {
        let shown = [0, 999, 8_192, 200_000, 1_000_000, 1_500_000].map(tokens);
        assert_eq!(shown, ["0", "999", "8K", "200K", "1M", "1.5M"]);
    }
}

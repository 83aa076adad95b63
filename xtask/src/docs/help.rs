//! What the binary says of itself: its help and that of each of its commands.

use crate::process;
use anyhow::{Result, bail};
use std::path::Path;

/// The width the texts are wrapped to, whatever terminal this runs in.
const COLUMNS: &str = "100";

/// The Markdown of all help texts.
pub(crate) fn text(binary: &Path, directory: &Path) -> Result<String> {
    let help = |arguments: &[&str]| {
        process::output(process::command(binary, directory).args(arguments).arg("--help").env("COLUMNS", COLUMNS))
    };
    let main = help(&[])?;
    if !main.contains("Usage:") {
        bail!("`{} --help` printed no help", binary.display());
    }
    let mut markdown = section("dryad", &main);
    for command in commands(&main) {
        let text = help(&[command])?;
        markdown.push_str(&section(&format!("dryad {command}"), &text));
        for below in commands(&text) {
            markdown.push_str(&section(&format!("dryad {command} {below}"), &help(&[command, below])?));
        }
    }
    Ok(markdown)
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // A longer indentation continues the description of the command above.
    let named = listed.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

fn section(title: &str, help: &str) -> String {
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    format!("## `{title}`\n\n```text\n{}\n```\n\n", lines.join("\n").trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_of_a_help_text_are_found() {
        let help = "Usage: dryad\n\nCommands:\n  demo    Shows\n          more\n  doctor  Looks\n  help    Print\n\nOptions:\n  -p  x\n";
        assert_eq!(commands(help), ["demo", "doctor"]);
        assert_eq!(commands("Usage: x\n"), [""; 0]);
    }

    #[test]
    fn a_section_has_no_white_space_at_line_ends() {
        assert_eq!(section("x", "a  \nb\n\n"), "## `x`\n\n```text\na\nb\n```\n\n");
    }
}

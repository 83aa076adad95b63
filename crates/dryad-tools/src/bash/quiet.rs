//! Variables that keep programs from paging, prompting, colouring and drawing progress: nobody sits
//! at the other end.

use std::collections::BTreeMap;

/// Set for every command; settings and the call itself come after them.
const QUIET: [(&str, &str); 31] = [
    // No pagers.
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("PSQL_PAGER", "cat"),
    ("DELTA_PAGER", "cat"),
    ("BAT_PAGER", "cat"),
    ("AWS_PAGER", ""),
    // No editors.
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    // No questions.
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GH_PROMPT_DISABLED", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("POETRY_NO_INTERACTION", "1"),
    ("COMPOSER_NO_INTERACTION", "1"),
    ("CI", "1"),
    // No colours.
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("CLICOLOR", "0"),
    ("CARGO_TERM_COLOR", "never"),
    // No progress bars.
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("PIP_PROGRESS_BAR", "off"),
    ("UV_NO_PROGRESS", "1"),
    ("npm_config_progress", "false"),
    ("YARN_ENABLE_PROGRESS_BARS", "false"),
    ("BUILDKIT_PROGRESS", "plain"),
];

/// The quiet variables.
pub(super) fn environment() -> BTreeMap<String, String> {
    QUIET.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

//! Shows a long text through the user's pager.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Hands `text` to `pager`, a command line for the shell, and waits until the user has read.
///
/// Whether it could: a pager that cannot be started leaves the text to the caller. One that is left before
/// the end of the text has done its work.
pub fn page(pager: &str, text: &str) -> bool {
    let started = Command::new("/bin/sh").arg("-c").arg(pager).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return false };
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    let is_read = match written {
        Err(error) => error.kind() == io::ErrorKind::BrokenPipe,
        Ok(()) => true,
    };
    // A shell says 127 when there is no such program, and 126 when it cannot be run.
    is_read && child.wait().is_ok_and(|status| !matches!(status.code(), Some(126 | 127)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_gets_the_text_and_a_missing_one_is_told() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("seen");
        assert!(page(&format!("cat > '{}'", file.display()), "a long text\n"));
        assert_eq!(std::fs::read_to_string(file).unwrap(), "a long text\n");
        assert!(!page("no-such-pager-anywhere 2> /dev/null", "text"));
        for text in ["text", &"line\n".repeat(100_000)] {
            assert!(!page(&format!("'{}' 2> /dev/null", root.path().display()), text), "a directory is no program");
        }
    }

    #[test]
    fn a_pager_that_is_left_early_is_no_failure() {
        assert!(page("true", &"line\n".repeat(100_000)));
    }
}

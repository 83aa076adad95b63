//! The prompt: attached files, then piped input, then the words of the command line.

mod attachment;

pub(crate) use attachment::{Attachment, attach};

use crate::report::Failure;
use crate::settings::Settings;
use dryad_protocol::content::{ImageBlock, UserBlock};
use dryad_protocol::message::UserMessage;
use dryad_protocol::time::Timestamp;
use rustix::fs::FileType;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// More piped input than this is refused: it would not fit into any model.
const LONGEST_INPUT: u64 = 10 * 1024 * 1024;

/// After so long without an end the user is told what the program waits for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The words of the command line, sorted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Words {
    /// What `@` names.
    pub(crate) files: Vec<PathBuf>,
    /// The rest, joined.
    pub(crate) text: String,
}

/// A prompt, ready to be sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prompt {
    /// Everything in text.
    pub(crate) text: String,
    /// Attached pictures.
    pub(crate) images: Vec<ImageBlock>,
}

impl Words {
    /// Sorts the words.
    ///
    /// # Errors
    ///
    /// When a word of the prompt is no UTF-8; names of files may be anything.
    pub(crate) fn sort(words: &[OsString]) -> Result<Self, Failure> {
        let mut sorted = Self::default();
        let mut texts = Vec::new();
        for word in words {
            match word.as_bytes().strip_prefix(b"@") {
                Some(name) if !name.is_empty() => {
                    sorted.files.push(PathBuf::from(OsString::from_vec(name.to_vec())));
                }
                _ => texts.push(word.to_str().ok_or_else(|| Failure::usage("the prompt is not UTF-8"))?),
            }
        }
        sorted.text = texts.join(" ");
        Ok(sorted)
    }
}

impl Prompt {
    /// Puts the parts together; none when there is nothing to say.
    pub(crate) fn assemble(attachments: Vec<Attachment>, piped: &str, words: &str) -> Option<Self> {
        let mut prompt = Self::default();
        for attachment in attachments {
            prompt.text.push_str(&attachment.text);
            prompt.images.extend(attachment.image);
        }
        let said: Vec<&str> = [piped.trim_end(), words].into_iter().filter(|text| !text.trim().is_empty()).collect();
        prompt.text.push_str(&said.join("\n\n"));
        (!prompt.text.trim().is_empty()).then_some(prompt)
    }

    /// As a message.
    pub(crate) fn into_message(self, timestamp: Timestamp) -> UserMessage {
        UserMessage::prompt(self.text, self.images.into_iter().map(UserBlock::Image).collect(), timestamp)
    }
}

/// Whether something may be piped in.
pub(crate) fn is_piped() -> bool {
    !std::io::stdin().is_terminal()
}

/// Reads what is piped in, to its end; empty on a terminal.
///
/// # Errors
///
/// When it cannot be read, is no text, is too long, or the user cancels.
pub(crate) async fn piped(cancel: &CancellationToken) -> Result<String, Failure> {
    if !is_piped() {
        return Ok(String::new());
    }
    if !may_keep_us_waiting() {
        return read_input();
    }
    let mut reading = tokio::task::spawn_blocking(read_input);
    let read = tokio::select! {
        read = &mut reading => read,
        () = cancel.cancelled() => return Err(Failure::cancelled()),
        () = tokio::time::sleep(PATIENCE) => {
            crate::output::note("reading the prompt from standard input until it ends (`< /dev/null` if there is none)");
            tokio::select! {
                read = &mut reading => read,
                () = cancel.cancelled() => return Err(Failure::cancelled()),
            }
        }
    };
    read.unwrap_or_else(|error| Err(Failure::failed(format!("cannot read standard input: {error}"))))
}

/// Whether somebody at the other end decides when the input ends. A file and `/dev/null` are just read.
fn may_keep_us_waiting() -> bool {
    let kind = rustix::fs::fstat(std::io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    !matches!(kind, Ok(FileType::RegularFile | FileType::CharacterDevice))
}

fn read_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(LONGEST_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > LONGEST_INPUT {
        return Err(Failure::usage("standard input is longer than 10 MiB")
            .hint("Put it into a file and let the model read the parts it needs."));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8 text"))
}

/// Reads every file that `@` names.
///
/// # Errors
///
/// The first one that cannot be attached.
pub(crate) fn attach_all(files: &[PathBuf], workdir: &Path, settings: &Settings) -> Result<Vec<Attachment>, Failure> {
    files.iter().map(|file| attach(file, workdir, &settings.images)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined_and_files_are_taken_out() {
        let words =
            ["explain".into(), "@a b.txt".into(), "this".into(), "@".into(), OsString::from_vec(b"@\xff".to_vec())];
        let sorted = Words::sort(&words).unwrap();
        assert_eq!(sorted.text, "explain this @");
        assert_eq!(sorted.files, [PathBuf::from("a b.txt"), PathBuf::from(OsString::from_vec(b"\xff".to_vec()))]);
        assert!(Words::sort(&[OsString::from_vec(b"\xff".to_vec())]).is_err());
    }

    #[test]
    fn files_come_first_then_the_pipe_then_the_words() {
        let file = Attachment { text: "<file name=\"a\">\nA\n</file>\n".to_owned(), image: None };
        let prompt = Prompt::assemble(vec![file], "from the pipe\n", "and words").unwrap();
        assert_eq!(prompt.text, "<file name=\"a\">\nA\n</file>\nfrom the pipe\n\nand words");
        assert_eq!(Prompt::assemble(Vec::new(), " \n", ""), None);
    }
}

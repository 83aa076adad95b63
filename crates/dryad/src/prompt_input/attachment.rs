//! One attached file: text becomes a `<file>` block, a picture an image block.
//!
//! A file the user named must arrive whole or not at all, so everything odd is a usage error.

use crate::report::Failure;
use crate::settings::ImageSettings;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dryad_protocol::content::{ImageBlock, UserBlock};
use dryad_safety::plan::Plan;
use dryad_safety::tool::{PlanContext, Tool as _};
use dryad_tools::read::{ReadSettings, ReadTool};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Longer texts do not fit into a prompt.
const LONGEST_TEXT: u64 = 1024 * 1024;

/// Larger pictures are refused.
const LARGEST_IMAGE: u64 = 20 * 1024 * 1024;

/// So much of a file decides what it is.
const LOOK_AT: usize = 8 * 1024;

/// An attached file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attachment {
    /// What the prompt says of it, its contents included if it is text.
    pub(crate) text: String,
    /// The picture, if it is one.
    pub(crate) image: Option<ImageBlock>,
}

/// Reads a file for the prompt. A relative name starts at `workdir`; `~/` is the home directory.
///
/// # Errors
///
/// When it is missing, no regular file, too large, or neither text nor a known picture.
pub(crate) fn attach(name: &Path, workdir: &Path, images: &ImageSettings) -> Result<Attachment, Failure> {
    let path = resolve(name, workdir);
    let shown = name.display();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::usage(format!("no such file: {shown}")).hint(format!("It was looked for at {}.", path.display()))
        }
        _ => Failure::usage(format!("cannot read {shown}: {error}")),
    };
    let metadata = path.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(Failure::usage(format!("{shown} is a directory"))
            .hint("Attach files, or name the directory in the prompt and let the model look around."));
    }
    if !metadata.is_file() {
        return Err(Failure::usage(format!("{shown} is not a regular file")));
    }
    let mut file = File::open(&path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.by_ref().take(LOOK_AT as u64).read_to_end(&mut bytes).map_err(failed)?;
    match image_type(&bytes) {
        Some(_) if images.block_images => {
            Err(Failure::usage(format!("{shown} is a picture, and pictures are blocked"))
                .hint("The setting images.blockImages does that."))
        }
        Some(mime_type) => {
            read_rest(&mut file, &mut bytes, LARGEST_IMAGE, name)?;
            match path.to_str().filter(|_| images.auto_resize) {
                Some(text) => resized(text, name),
                None => Ok(picture(
                    &path.display().to_string(),
                    ImageBlock { data: STANDARD.encode(bytes), mime_type: mime_type.to_owned() },
                )),
            }
        }
        None if bytes.contains(&0) => Err(binary(name)),
        None => {
            read_rest(&mut file, &mut bytes, LONGEST_TEXT, name)?;
            let text = String::from_utf8(bytes).map_err(|_| binary(name))?;
            Ok(written(&path, &text))
        }
    }
}

fn resolve(name: &Path, workdir: &Path) -> PathBuf {
    match (name.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => workdir.join(name),
    }
}

/// Reads on to the end, unless that is beyond `limit`.
fn read_rest(file: &mut File, bytes: &mut Vec<u8>, limit: u64, name: &Path) -> Result<(), Failure> {
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if size <= limit {
        let left = (limit + 1).saturating_sub(bytes.len() as u64);
        let read = file.take(left).read_to_end(bytes);
        read.map_err(|error| Failure::usage(format!("cannot read {}: {error}", name.display())))?;
    }
    let size = size.max(bytes.len() as u64);
    if size <= limit {
        return Ok(());
    }
    Err(Failure::usage(format!("{} is too large to attach: {size} bytes, at most {limit}", name.display()))
        .hint("Name it in the prompt and let the model read the parts it needs."))
}

fn binary(name: &Path) -> Failure {
    Failure::usage(format!("{} is neither text nor a picture (PNG, JPEG, GIF, WebP)", name.display()))
}

fn written(path: &Path, text: &str) -> Attachment {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    Attachment { text: format!("<file name=\"{}\">\n{text}{end}</file>\n", path.display()), image: None }
}

/// The picture as the read tool would hand it to the model: made smaller if it is large.
fn resized(path: &str, name: &Path) -> Result<Attachment, Failure> {
    let failed = |problem: String| Failure::usage(format!("cannot use the picture {}: {problem}", name.display()));
    let arguments = Map::from_iter([("path".to_owned(), Value::from(path))]);
    let planned = ReadTool::new(ReadSettings::default()).plan(arguments, &PlanContext::new("/"));
    let Plan::Answer(result) = planned.map_err(|error| failed(error.to_string()))? else {
        return Err(failed("reading it would change something".to_owned()));
    };
    let mut problem = "it cannot be decoded".to_owned();
    for block in result.content {
        match block {
            UserBlock::Image(image) => return Ok(picture(path, image)),
            UserBlock::Text(note) => problem = note.text,
        }
    }
    Err(failed(problem))
}

fn picture(path: &str, image: ImageBlock) -> Attachment {
    Attachment { text: format!("<file name=\"{path}\"></file>\n"), image: Some(image) }
}

/// The kind of picture that these first bytes begin.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        _ if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        _ if bytes.starts_with(b"\xff\xd8\xff") => Some("image/jpeg"),
        _ if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") => Some("image/gif"),
        _ if webp => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test lays out its files")]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8]) -> Result<Attachment, String> {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(name), bytes).unwrap();
        let place = root.path().display().to_string();
        let images = ImageSettings { auto_resize: false, block_images: false };
        attach(Path::new(name), root.path(), &images)
            .map(|attachment| Attachment { text: attachment.text.replace(&place, "ROOT"), ..attachment })
            .map_err(|failure| failure.message)
    }

    #[test]
    fn a_text_becomes_a_block() {
        assert_eq!(check("a.txt", "grün".as_bytes()).unwrap().text, "<file name=\"ROOT/a.txt\">\ngrün\n</file>\n");
    }

    #[test]
    fn a_picture_is_known_by_its_bytes() {
        let attachment = check("a.txt", b"\x89PNG\r\n\x1a\nrest").unwrap();
        assert_eq!(attachment.text, "<file name=\"ROOT/a.txt\"></file>\n");
        let image = attachment.image.unwrap();
        assert_eq!((image.mime_type.as_str(), image.data.as_str()), ("image/png", "iVBORw0KGgpyZXN0"));
    }

    #[test]
    fn what_cannot_be_attached_says_why() {
        assert_eq!(check("a.bin", b"a\0b").unwrap_err(), "a.bin is neither text nor a picture (PNG, JPEG, GIF, WebP)");
        assert_eq!(
            check("a.bin", b"\xff\xfe").unwrap_err(),
            "a.bin is neither text nor a picture (PNG, JPEG, GIF, WebP)"
        );
        let long = vec![b'a'; LONGEST_TEXT as usize + 1];
        assert_eq!(check("a.txt", &long).unwrap_err(), "a.txt is too large to attach: 1048577 bytes, at most 1048576");
        let root = tempfile::tempdir().unwrap();
        let refuse = |name: &str| attach(Path::new(name), root.path(), &ImageSettings::default()).unwrap_err().message;
        assert_eq!(refuse("x"), "no such file: x");
        assert_eq!(refuse("."), ". is a directory");
        assert_eq!(refuse("/dev/null"), "/dev/null is not a regular file");
    }
}

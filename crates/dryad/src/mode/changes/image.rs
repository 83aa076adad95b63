//! What became of a path, in words.

use dryad_protocol::image::Image;

/// What became of a path apart from its text: kind, mode, link; nothing if only the text differs.
pub(in crate::mode) fn transition(before: &Image, after: &Image) -> Option<String> {
    let mode = |image: &Image| match image {
        Image::File(file) => Some(file.mode),
        Image::Directory { mode } => Some(*mode),
        Image::Absent | Image::Symlink { .. } => None,
    };
    let text = match (before, after) {
        (Image::Absent, Image::Absent) => return None,
        (Image::Absent, after) => format!("new {}", described(after)),
        (before, Image::Absent) => format!("removed {}", described(before)),
        (Image::File(_), Image::File(_)) | (Image::Directory { .. }, Image::Directory { .. }) => {
            let (before, after) = (mode(before)?, mode(after)?);
            if before == after {
                return None;
            }
            format!("mode {before:04o} became {after:04o}")
        }
        (before, after) if before.same_content(after) => return None,
        (before, after) => format!("{} became {}", described(before), described(after)),
    };
    Some(text)
}

fn described(image: &Image) -> String {
    match image {
        Image::Absent => "nothing".to_owned(),
        Image::File(file) => format!("file, mode {:04o}", file.mode),
        Image::Symlink { target } => format!("link to {target}"),
        Image::Directory { mode } => format!("directory, mode {mode:04o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_protocol::path::FilePath;

    #[test]
    fn kinds_and_modes_are_told_and_equal_ones_are_not() {
        let directory = |mode| Image::Directory { mode };
        let link = Image::Symlink { target: FilePath::new("a") };
        assert_eq!(transition(&Image::Absent, &directory(0o755)).unwrap(), "new directory, mode 0755");
        assert_eq!(transition(&link, &Image::Absent).unwrap(), "removed link to a");
        assert_eq!(transition(&directory(0o755), &directory(0o700)).unwrap(), "mode 0755 became 0700");
        assert_eq!(transition(&directory(0o755), &link).unwrap(), "directory, mode 0755 became link to a");
        assert_eq!(transition(&directory(0o755), &directory(0o755)), None);
        assert_eq!(transition(&link, &link), None);
    }
}

//! Tells pictures from other files by their first bytes; names are not looked at.

/// A picture format that models see.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PictureFormat {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl PictureFormat {
    pub(super) fn mime_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// The format of a file that begins like this. A PNG that moves is no picture: models cannot see it.
pub(super) fn picture_format(head: &[u8]) -> Option<PictureFormat> {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
    if let Some(chunks) = head.strip_prefix(PNG) {
        (!is_animated(chunks)).then_some(PictureFormat::Png)
    } else if head.starts_with(b"\xff\xd8\xff") {
        Some(PictureFormat::Jpeg)
    } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
        Some(PictureFormat::Gif)
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        Some(PictureFormat::Webp)
    } else {
        None
    }
}

/// Whether an animation is announced (`acTL`) before the pixels (`IDAT`) begin.
fn is_animated(mut chunks: &[u8]) -> bool {
    loop {
        let (Some(length), Some(kind)) = (chunks.first_chunk::<4>(), chunks.get(4..8)) else { return false };
        match kind {
            b"acTL" => return true,
            b"IDAT" => return false,
            _ => {}
        }
        // Length, kind and checksum take four bytes each.
        let next = (u32::from_be_bytes(*length) as usize).saturating_add(12);
        chunks = chunks.get(next..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        [&(data.len() as u32).to_be_bytes()[..], kind, data, &[0; 4]].concat()
    }

    #[test]
    fn a_png_that_moves_is_no_picture() {
        let still = [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &[0; 13]), chunk(b"IDAT", b"x")].concat();
        assert_eq!(picture_format(&still), Some(PictureFormat::Png));
        let moving = [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &[0; 13]), chunk(b"acTL", &[0; 8])].concat();
        assert_eq!(picture_format(&moving), None);
    }

    #[test]
    fn broken_lengths_end_the_search() {
        let broken = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0xff; 7], vec![0xff; 40]].concat();
        assert_eq!(picture_format(&broken), Some(PictureFormat::Png));
    }

    #[test]
    fn names_do_not_matter_but_first_bytes_do() {
        assert_eq!(picture_format(b"\xff\xd8\xff\xe0"), Some(PictureFormat::Jpeg));
        assert_eq!(picture_format(b"GIF89a"), Some(PictureFormat::Gif));
        assert_eq!(picture_format(b"RIFF\0\0\0\0WEBPVP8 "), Some(PictureFormat::Webp));
        assert_eq!(picture_format(b"RIFF\0\0\0\0WAVE"), None);
        assert_eq!(picture_format(b"hello"), None);
    }
}

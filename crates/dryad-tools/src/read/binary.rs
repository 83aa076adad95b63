//! Tells text from everything else by the beginning of a file.

/// A NUL byte this early means that it is no text.
const NUL_BYTES: usize = 8 * 1024;

/// Whether the first piece of a file looks like something other than text: a NUL byte early on, or
/// more than one byte in a hundred that is not UTF-8.
pub(super) fn is_binary(piece: &[u8], whole: bool) -> bool {
    let early = piece.get(..NUL_BYTES).unwrap_or(piece);
    if early.contains(&0) {
        return true;
    }
    match std::str::from_utf8(piece) {
        Ok(_) => false,
        Err(_) => invalid_bytes(piece, whole) * 100 > piece.len(),
    }
}

/// Bytes that belong to no character. A character cut off by the end of the piece is not counted, unless
/// it is the end of the file as well.
fn invalid_bytes(piece: &[u8], whole: bool) -> usize {
    let mut chunks = piece.utf8_chunks().peekable();
    let mut count = 0;
    while let Some(chunk) = chunks.next() {
        let is_cut = chunks.peek().is_none() && !whole && chunk.invalid().len() < 4;
        count += if is_cut { 0 } else { chunk.invalid().len() };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_may_hold_a_few_bad_bytes() {
        let mut bytes = vec![b'a'; 1000];
        assert!(!is_binary(&bytes, true));
        bytes.extend([0xff; 10]);
        assert!(!is_binary(&bytes, true));
        bytes.extend([0xff; 10]);
        assert!(is_binary(&bytes, true));
    }

    #[test]
    fn a_nul_byte_counts_only_near_the_beginning() {
        let mut bytes = vec![b'a'; NUL_BYTES];
        bytes.push(0);
        assert!(!is_binary(&bytes, true));
        bytes[NUL_BYTES - 1] = 0;
        assert!(is_binary(&bytes, true));
    }

    #[test]
    fn a_character_cut_by_the_piece_is_no_bad_byte() {
        assert!(!is_binary("ü".as_bytes().get(..1).unwrap(), false));
        assert!(is_binary("ü".as_bytes().get(..1).unwrap(), true));
        assert!(!is_binary(b"", true));
    }
}

//! Ids of calls that a server takes, also those that another API has given.

use std::borrow::Cow;

/// Longer ids are refused by OpenAI; only other APIs make them.
const MAX_CHARS: usize = 40;

/// Mistral takes ids of just this length.
const SHORT_CHARS: usize = 9;

/// The id as it is sent. The same id always gives the same, so calls and results stay together.
///
/// Ids of the Responses API have a second half that means nothing here.
pub(super) fn call_id(id: &str, is_short: bool) -> Cow<'_, str> {
    let first = id.split('|').next().unwrap_or(id);
    if is_short {
        return short(first);
    }
    match first.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => first.get(..end).unwrap_or(first).into(),
        None => first.into(),
    }
}

fn short(id: &str) -> Cow<'_, str> {
    if id.len() == SHORT_CHARS && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.into();
    }
    // Fowler, Noll and Vo's hash: stable over runs and versions, which the standard one is not.
    let hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let digits = std::iter::successors(Some(hash), |rest| Some(rest / 36)).take(SHORT_CHARS);
    digits.filter_map(|rest| char::from_digit((rest % 36) as u32, 36)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_id_stays() {
        for id in ["call_abc", "functions.read:0", ""] {
            assert_eq!(call_id(id, false), id);
        }
        assert_eq!(call_id("a1B2c3D4e", true), "a1B2c3D4e");
    }

    #[test]
    fn an_id_of_another_api_is_cut() {
        assert_eq!(call_id("call_abc|fc_def", false), "call_abc");
        assert_eq!(call_id(&"ü".repeat(50), false), "ü".repeat(40));
    }

    #[test]
    fn a_short_id_has_nine_letters_and_digits_and_tells_ids_apart() {
        let ids: Vec<_> = ["", "call_1", "call_2", "toolu_01A", "1234567890"].map(|id| call_id(id, true)).into();
        for (position, id) in ids.iter().enumerate() {
            assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
            assert_eq!(ids.iter().position(|other| other == id), Some(position));
        }
    }
}

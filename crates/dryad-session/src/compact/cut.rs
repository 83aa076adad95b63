//! Where a branch is cut: what comes before is summarised, what comes after is kept.
//!
//! The invariant: a cut is never between a call and its result.

use crate::kind::Kind;

/// One entry of the part of a branch that the model sees, as far as cutting it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) kind: Kind,
    pub(super) tokens: u64,
}

/// A cut, by positions among the pieces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Cut {
    /// The first piece that is kept.
    pub(super) first_kept: usize,
    /// Where the turn begins that the cut divides, if it divides one.
    pub(super) turn_start: Option<usize>,
}

/// The cut that keeps about so many of the newest tokens; nothing when all of it fits into them.
pub(super) fn find(pieces: &[Piece], keep: u64) -> Option<Cut> {
    let mut tokens = 0;
    let full = pieces.iter().rposition(|piece| {
        tokens += piece.tokens;
        tokens >= keep
    })?;
    let later = pieces.iter().skip(full).position(|piece| may_begin(piece.kind)).map(|after| full + after);
    // One result at the very end can be longer than everything that should be kept: its call stays with it.
    let at = later.or_else(|| pieces.iter().take(full).rposition(|piece| may_begin(piece.kind)))?;
    let silent = pieces.iter().take(at).rev().take_while(|piece| !piece.kind.is_said()).count();
    let first_kept = at - silent;
    let turn_start = match pieces.get(at).is_some_and(|piece| starts_turn(piece.kind)) {
        true => None,
        false => pieces.iter().take(at).rposition(|piece| starts_turn(piece.kind)),
    };
    (first_kept > 0).then_some(Cut { first_kept, turn_start })
}

fn may_begin(kind: Kind) -> bool {
    kind.is_said() && !kind.is_result()
}

fn starts_turn(kind: Kind) -> bool {
    kind.starts_turn() || kind == Kind::Developer
}

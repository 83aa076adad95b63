//! The grammar, and the parser each thread keeps.
//!
//! The grammar is C code that reads outside its tables when certain characters beyond ASCII follow a brace, and
//! takes some of them for blanks, which no shell does. So it never gets to see any: each of their bytes becomes a
//! character that means nothing, and every position stays what it was.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// Longest time the grammar may take; only texts made to be slow come near it.
const MAX_TIME: Duration = Duration::from_millis(500);

thread_local! {
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

/// The tree of a text; `None` if it took too long.
pub(super) fn parse(text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|slot| {
        if slot.is_none() {
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *slot = Some(parser);
        }
        let parser = slot.as_mut()?;
        let started = Instant::now();
        let mut keep_time = |_: &ParseState| match started.elapsed() > MAX_TIME {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = ParseOptions::new().progress_callback(&mut keep_time);
        let bytes = plain(text);
        let tree = parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// The text with `^` in place of every byte that is not ASCII.
fn plain(text: &str) -> Cow<'_, [u8]> {
    match text.is_ascii() {
        true => Cow::Borrowed(text.as_bytes()),
        false => text.bytes().map(|byte| if byte.is_ascii() { byte } else { b'^' }).collect(),
    }
}

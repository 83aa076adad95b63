//! The list that `--resume` lets the user choose from.

use super::Sessions;
use crate::ask;
use crate::mode::changes::{ShortIds, local_time};
use crate::report::Failure;
use crate::signals::Stops;
use crate::terminal::{Style, harmless};
use dryad_protocol::id::OperationId;
use dryad_session::list::{self, Summary};
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

/// So many are shown at once.
const SHOWN: usize = 15;

/// What somebody has typed.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Answer {
    Take(usize),
    Search(String),
    Nothing,
}

impl Sessions {
    /// Lets the user choose one of the sessions of this directory.
    ///
    /// # Errors
    ///
    /// When nobody can be asked, there is none, or the user chooses none.
    pub(super) async fn pick(&self, stops: &Stops) -> Result<PathBuf, Failure> {
        if !ask::is_possible() {
            return Err(Failure::usage("--resume needs somebody at a terminal to choose").hint(
                "-c goes on with the newest session, `--session ID` with the one that `dryad sessions` lists so.",
            ));
        }
        let unreadable = |error: io::Error| {
            Failure::failed(format!("cannot read {}: {error}", self.places.sessions_of(&self.workdir).display()))
        };
        let all = list::quick_of(&self.places, &self.workdir).map_err(unreadable)?;
        if all.is_empty() {
            return Err(Failure::failed(format!("no session works in {}", self.workdir.display()))
                .hint("`dryad sessions --all` lists those of other directories."));
        }
        let mut shown = all.clone();
        loop {
            let question = format!("{}Number, words to search for, or q: ", render(&shown, Style::of(&io::stderr())));
            match answer(&ask::words(&question, stops).await?, shown.len().min(SHOWN)) {
                Answer::Take(position) => {
                    if let Some(session) = shown.get(position) {
                        return Ok(session.path.clone());
                    }
                }
                Answer::Search(words) => {
                    let found = all.iter().filter(|session| self.holds(session, &words)).cloned();
                    shown = found.collect();
                }
                Answer::Nothing => return Err(Failure::cancelled()),
            }
        }
    }

    /// Whether all words are found in a session.
    fn holds(&self, session: &Summary, words: &str) -> bool {
        let full = list::full(session.clone(), &self.places);
        full.is_ok_and(|full| full.is_some_and(|full| full.matches(words)))
    }
}

fn render(sessions: &[Summary], style: Style) -> String {
    let mut ids = ShortIds::default();
    for session in sessions {
        ids.add(&OperationId::from(session.id.as_str()));
    }
    let mut text = String::new();
    for (position, session) in sessions.iter().take(SHOWN).enumerate() {
        let (number, line) = (position + 1, session.line());
        let id = ids.short(&OperationId::from(session.id.as_str()));
        let (id, time) = (style.cyan(&id).into_owned(), local_time(session.modified));
        writeln!(text, "{number:>3}  {id}  {}  {}", style.dim(&time), harmless(&line)).ok();
    }
    match sessions.len() {
        0 => text.push_str("nothing found\n"),
        count if count > SHOWN => drop(writeln!(text, "     and {} older ones", count - SHOWN)),
        _ => {}
    }
    text
}

/// What a line means. The end of the input chooses nothing.
fn answer(line: &str, count: usize) -> Answer {
    let text = line.trim();
    match text.parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Answer::Take(number - 1),
        Ok(_) | Err(_) if text == "q" || line.is_empty() => Answer::Nothing,
        Ok(_) | Err(_) => Answer::Search(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_chooses_and_words_search() {
        assert_eq!(answer("2\n", 3), Answer::Take(1));
        assert_eq!(answer("4\n", 3), Answer::Search("4".to_owned()));
        assert_eq!(answer(" the parser\n", 3), Answer::Search("the parser".to_owned()));
        assert_eq!(answer("\n", 3), Answer::Search(String::new()), "an empty line shows all again");
        assert_eq!((answer("q\n", 3), answer("", 3)), (Answer::Nothing, Answer::Nothing));
    }
}

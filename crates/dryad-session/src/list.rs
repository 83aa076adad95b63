//! Lists of sessions: quick ones that read the beginning of each file, and full ones that read everything.

mod prefix;

use crate::kind::Kind;
use crate::open::Opening;
use crate::places::Places;
use crate::problem::OpenError;
use crate::session::Session;
use dryad_protocol::content::UserBlock;
use dryad_protocol::entry::EntryBody;
use dryad_protocol::id::SessionId;
use dryad_protocol::message::Message;
use dryad_protocol::time::Timestamp;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// How long the line of a session is, in characters.
const LINE: usize = 40;

/// What the beginning of a session's file tells.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Summary {
    /// Its file.
    pub path: PathBuf,
    /// Which session.
    pub id: SessionId,
    /// The directory it works in.
    pub cwd: Option<PathBuf>,
    /// What it is called.
    pub title: Option<String>,
    /// The session it came from: an id or a path.
    pub parent: Option<String>,
    /// What the user said first, or its beginning.
    pub first_prompt: Option<String>,
    /// When it began.
    pub created: Timestamp,
    /// When its file was last written.
    pub modified: Timestamp,
    /// How many bytes its file has.
    pub size: u64,
}

/// What a whole session tells.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FullSummary {
    /// What its beginning tells, with the newest name.
    pub summary: Summary,
    /// How many messages there are, on all branches.
    pub messages: usize,
    /// What users and models said, on all branches.
    pub text: String,
}

/// A session that was asked for is not there, or not alone.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum FindError {
    /// None has such an id.
    #[error("no session `{0}`")]
    Unknown(String),
    /// Several have.
    #[error("`{text}` is the beginning of {} sessions: {}", ids.len(), ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// Their ids.
        ids: Vec<String>,
    },
}

impl Summary {
    /// The session in a few words: its name, else what was said first, else its id.
    pub fn line(&self) -> String {
        let text = self.title.as_deref().or(self.first_prompt.as_deref()).unwrap_or(self.id.as_str());
        let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = words.char_indices().nth(LINE) {
            words.truncate(end);
        }
        words
    }
}

impl FullSummary {
    /// Whether every character of the query is found, in order, in the id, the name, the directory or the
    /// text; each word of the query may be found elsewhere.
    pub fn matches(&self, query: &str) -> bool {
        let cwd = self.summary.cwd.as_deref().map(Path::to_string_lossy).unwrap_or_default();
        let title = self.summary.title.as_deref().unwrap_or_default();
        let short = [self.summary.id.as_str(), title, &cwd].map(str::to_lowercase);
        let text = self.text.to_lowercase();
        query.to_lowercase().split_whitespace().all(|word| {
            // Scattered letters are found in any long text: there a word must stand as it is.
            text.contains(word) || short.iter().any(|field| scattered(word, field))
        })
    }
}

/// The sessions of a directory, newest first. Files that are no sessions are left out.
pub fn quick(directory: &Path) -> io::Result<Vec<Summary>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut summaries = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            summaries.extend(summary(&path));
        }
    }
    summaries.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
    Ok(summaries)
}

/// The sessions that work in a directory, newest first.
pub fn quick_of(places: &Places, cwd: &Path) -> io::Result<Vec<Summary>> {
    let mut summaries = quick(&places.sessions_of(cwd))?;
    // Two paths can be one name, and a directory of the user's choice holds them all.
    summaries.retain(|summary| summary.cwd.as_deref().is_none_or(|known| known == cwd));
    Ok(summaries)
}

/// The sessions of all directories, newest first.
pub fn quick_all(places: &Places) -> io::Result<Vec<Summary>> {
    let mut summaries = quick(places.sessions())?;
    let directories = match fs::read_dir(places.sessions()) {
        Ok(directories) => directories,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(summaries),
        Err(error) => return Err(error),
    };
    for directory in directories {
        let directory = directory?;
        if directory.file_type()?.is_dir() {
            summaries.extend(quick(&directory.path())?);
        }
    }
    summaries.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| b.path.cmp(&a.path)));
    Ok(summaries)
}

/// Everything about one session; nothing when no message is in it.
pub fn full(summary: Summary, places: &Places) -> Result<Option<FullSummary>, OpenError> {
    let cwd = summary.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    let opening = Opening { places, cwd: Some(&cwd), here: &cwd, now: summary.created };
    let session = Session::open_for_reading(&summary.path, &opening)?;
    let said = session.tree().nodes().iter().filter(|node| node.kind.is_said());
    let (mut messages, mut text) = (0, String::new());
    for node in said {
        messages += 1;
        if !matches!(node.kind, Kind::User | Kind::Assistant) {
            continue;
        }
        let Ok(entry) = session.load(node, &mut Vec::new()) else { continue };
        if let EntryBody::Message { message } = &entry.body {
            text.push_str(&text_of(message));
            text.push('\n');
        }
    }
    let title = session.name().map(str::to_owned);
    Ok((messages > 0).then_some(FullSummary { summary: Summary { title, ..summary }, messages, text }))
}

/// The file that a path or the beginning of an id names. Sessions of the directory are preferred to others.
pub fn find(text: &str, cwd: &Path, places: &Places) -> Result<PathBuf, FindError> {
    if text.contains('/') || text.ends_with(".jsonl") {
        let path = at(cwd, text);
        return path.exists().then_some(path).ok_or_else(|| FindError::Unknown(text.to_owned()));
    }
    let here = quick_of(places, cwd).unwrap_or_default();
    let matching = |sessions: Vec<Summary>| -> Vec<Summary> {
        let exact: Vec<_> = sessions.iter().filter(|session| session.id.as_str() == text).cloned().collect();
        let begins = |session: &Summary| session.id.as_str().starts_with(text);
        if exact.is_empty() { sessions.into_iter().filter(begins).collect() } else { exact }
    };
    let mut found = matching(here);
    if found.is_empty() && !text.is_empty() {
        found = matching(quick_all(places).unwrap_or_default());
    }
    match found.as_slice() {
        [] => Err(FindError::Unknown(text.to_owned())),
        [one] => Ok(one.path.clone()),
        several => {
            let ids = several.iter().map(|session| session.id.to_string()).collect();
            Err(FindError::Ambiguous { text: text.to_owned(), ids })
        }
    }
}

/// The file that is meant by a path, seen from a directory.
pub fn at(cwd: &Path, text: &str) -> PathBuf {
    // Going through the parts leaves out those that say nothing.
    cwd.join(text).components().collect()
}

/// A session's id and those of the sessions it came from, the nearest first, as far as they are still there.
pub fn lineage(session: &Session, places: &Places) -> Vec<SessionId> {
    let mut known: HashMap<String, Option<String>> = HashMap::new();
    let mut lineage = vec![session.id().clone()];
    let mut parent = session.header().parent_session.clone();
    while let Some(named) = parent {
        if known.is_empty() {
            let all = quick_all(places).unwrap_or_default();
            known = all.into_iter().map(|summary| (summary.id.to_string(), summary.parent)).collect();
        }
        // Some programs name the file.
        let of_file = Path::new(&named).is_absolute().then(|| summary(Path::new(&named))).flatten();
        let (id, next) = match of_file {
            Some(summary) => (summary.id, summary.parent),
            None => (SessionId::from(named.as_str()), known.get(&named).cloned().flatten()),
        };
        if lineage.contains(&id) {
            break;
        }
        lineage.push(id);
        parent = next;
    }
    lineage
}

/// What the beginning of a file tells; nothing when it is no session.
pub fn summary(path: &Path) -> Option<Summary> {
    let (prefix, metadata) = prefix::read(path).ok()?;
    let told = prefix::tell(&prefix)?;
    let modified = metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000;
    Some(Summary {
        path: path.to_owned(),
        id: told.header.id,
        cwd: told.header.cwd.map(|cwd| cwd.as_path().to_owned()),
        title: told.name.or(told.header.title).filter(|title| !title.trim().is_empty()),
        parent: told.header.parent_session,
        first_prompt: told.first_prompt,
        created: told.header.timestamp,
        modified: Timestamp::from_millis(modified),
        size: metadata.len(),
    })
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User(message) => message.content.iter().filter_map(UserBlock::as_text).collect(),
        Message::Assistant(message) => message.text(),
        _ => String::new(),
    }
}

fn scattered(word: &str, field: &str) -> bool {
    let mut rest = field.chars();
    word.chars().all(|wanted| rest.any(|found| found == wanted))
}

//! A session as one page that people read: everything inside, nothing fetched.
//!
//! Each entry becomes one JSON object in the page; a script shows those that are looked at, so that a
//! session of any length opens at once. What the page trusts: the HTML that [`markdown`] makes, in which
//! every text is escaped, and nothing else. All other text is put into the page as text.
//!
//! The page's policy names its own script and style by their hash and allows pictures that are part of
//! it. Whatever else a session holds, it cannot run, load or send anything.

mod dump;
mod escape;
mod highlight;
mod markdown;
mod row;

use crate::problem::StoreError;
use crate::session::Session;
use crate::sha256;
use crate::stats::Stats;
use crate::store::disk::Draft;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dryad_protocol::id::{CallId, EntryId};
use dryad_protocol::time::Timestamp;
use escape::{InScript, escaped};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

pub use dump::dump;

const SCRIPT: &str = include_str!("export/viewer.js");
const STYLE: &str = include_str!("export/viewer.css");
const BODY: &str = include_str!("export/body.html");
/// About how many bytes of entries one block of data holds.
const CHUNK: usize = 1 << 20;

/// What a session does not know about itself.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// What the model was told first.
    pub system_prompt: Option<String>,
    /// The tools it had, by name and description.
    pub tools: Vec<(String, String)>,
    /// What became of calls that changed something, or wait to.
    pub actions: Vec<ActionNote>,
}

/// What became of one call.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActionNote {
    /// Which call.
    pub call_id: CallId,
    /// The prompt that it was made for: some servers number their calls anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<EntryId>,
    /// When it was carried out or staged.
    #[serde(serialize_with = "as_millis")]
    pub at: Timestamp,
    /// What it does, in a few words.
    pub label: String,
    /// How it stands.
    pub state: ActionState,
    /// The change as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// How an action stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionState {
    /// It waits for a resolution.
    Pending,
    /// It was carried out.
    Applied,
    /// It was thrown away.
    Discarded,
    /// It was carried out and taken back.
    Undone,
    /// It could not be carried out.
    Failed,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct About<'a> {
    title: &'a str,
    id: &'a str,
    cwd: String,
    started: i64,
    leaf: Option<&'a str>,
    count: usize,
    stats: Stats,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<&'a str>,
    tools: &'a [(String, String)],
    actions: &'a [ActionNote],
}

fn as_millis<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.as_millis())
}

/// The file name of an exported session that is given none.
pub fn default_name(session: &Session) -> String {
    let stem = session.file().and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
    format!("dryad-session-{}.html", stem.unwrap_or_else(|| session.id().to_string()))
}

/// Writes a session as a page into a file; tells its path. One that is only held in memory is refused.
pub fn to_file(session: &Session, path: &Path, extras: &Extras) -> Result<PathBuf, StoreError> {
    if session.file().is_none() {
        return Err(StoreError::InMemory);
    }
    let failed = |error| StoreError::io(path, error);
    let mut draft = Draft::begin(path).map_err(failed)?;
    let mut writer = BufWriter::with_capacity(CHUNK, draft.file());
    html(session, extras, &mut writer).map_err(failed)?;
    writer.flush().map_err(failed)?;
    drop(writer);
    draft.replace().map_err(failed)?;
    Ok(path.to_owned())
}

/// Writes a session as a page.
pub fn html(session: &Session, extras: &Extras, out: &mut dyn Write) -> io::Result<()> {
    let title = session.name().unwrap_or("Session");
    let hash = |text: &str| STANDARD.encode(sha256::hash(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    write!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")?;
    writeln!(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(out, "<meta name=\"referrer\" content=\"no-referrer\">")?;
    writeln!(out, "<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}", escaped(title))?;
    let stats = rows(session, out)?;
    let about = About {
        title,
        id: session.id().as_str(),
        cwd: session.cwd().to_string_lossy().into_owned(),
        started: session.header().timestamp.as_millis(),
        leaf: session.leaf().map(|leaf| leaf.as_str()),
        count: session.tree().nodes().len(),
        stats,
        system_prompt: extras.system_prompt.as_deref(),
        tools: &extras.tools,
        actions: &extras.actions,
    };
    data(out, "about", &serde_json::to_vec(&about)?)?;
    write!(out, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Writes all entries, some at a time; counts them on the way.
fn rows(session: &Session, out: &mut dyn Write) -> io::Result<Stats> {
    let mut stats = Stats::default();
    let mut chunk = Vec::with_capacity(CHUNK * 2);
    for node in session.tree().nodes() {
        chunk.push(if chunk.is_empty() { b'[' } else { b',' });
        let entry = session.load(node, &mut Vec::new());
        if let Ok(entry) = &entry {
            stats.count_entry(entry, &|_| false);
        }
        row::write(node, session.tree().label(&node.id), entry.as_deref(), &mut chunk)?;
        if chunk.len() >= CHUNK {
            chunk.push(b']');
            data(out, "rows", &chunk)?;
            chunk.clear();
        }
    }
    if !chunk.is_empty() {
        chunk.push(b']');
        data(out, "rows", &chunk)?;
    }
    Ok(stats)
}

/// Writes a block of data that a browser does not take for a script, whatever is in it.
fn data(out: &mut dyn Write, class: &str, json: &[u8]) -> io::Result<()> {
    write!(out, "<script type=\"application/json\" class=\"{class}\">")?;
    InScript(out).write_all(json)?;
    writeln!(out, "</script>")
}

#[cfg(test)]
mod tests;

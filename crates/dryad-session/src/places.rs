//! Where sessions, pictures and notes about terminals lie.

use dryad_protocol::id::SessionId;
use dryad_protocol::time::Timestamp;
use std::path::{Path, PathBuf};

/// The directories of the session store.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Places {
    sessions: PathBuf,
    /// Whether sessions lie in that directory itself, wherever they work.
    flat: bool,
    blobs: PathBuf,
    terminals: PathBuf,
    trash: PathBuf,
}

impl Places {
    /// The usual places below the user's root.
    pub fn below(root: &Path) -> Self {
        Self {
            sessions: root.join("sessions"),
            flat: false,
            blobs: root.join("blobs"),
            terminals: root.join("terminal-sessions"),
            trash: root.join("trash"),
        }
    }

    /// The same with all sessions in one directory of the user's choice, wherever they work.
    #[must_use]
    pub fn with_sessions(mut self, directory: PathBuf) -> Self {
        (self.sessions, self.flat) = (directory, true);
        self
    }

    /// The directory of all sessions.
    pub fn sessions(&self) -> &Path {
        &self.sessions
    }

    /// The directory of the sessions that work in a directory. Others may lie there as well.
    pub fn sessions_of(&self, cwd: &Path) -> PathBuf {
        if self.flat { self.sessions.clone() } else { self.sessions.join(encoded(cwd)) }
    }

    /// The directory of pictures.
    pub fn blobs(&self) -> &Path {
        &self.blobs
    }

    /// Where it is noted which session a terminal had last.
    pub fn terminals(&self) -> &Path {
        &self.terminals
    }

    /// Where removed sessions go.
    pub fn trash(&self) -> &Path {
        &self.trash
    }

    /// The file of a session that begins now.
    pub(crate) fn new_file(&self, cwd: &Path, id: &SessionId, now: Timestamp) -> PathBuf {
        let time = now.to_iso().replace([':', '.'], "-");
        self.sessions_of(cwd).join(format!("{time}_{id}.jsonl"))
    }
}

/// The directory where a session keeps what is too long for its file.
pub fn artifacts_of(file: &Path) -> PathBuf {
    file.with_extension("")
}

/// A directory's path as a name: `/home/me/x` becomes `--home-me-x--`.
fn encoded(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let text = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    format!("--{}--", text.replace(['/', '\\', ':'], "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_becomes_a_name() {
        assert_eq!(encoded(Path::new("/home/me/a b")), "--home-me-a b--");
        assert_eq!(encoded(Path::new("/")), "----");
    }

    #[test]
    fn a_directory_of_the_users_choice_holds_them_all() {
        let places = Places::below(Path::new("/r")).with_sessions(PathBuf::from("/mine"));
        assert_eq!(places.sessions_of(Path::new("/w")), Path::new("/mine"));
        assert_eq!(places.blobs(), Path::new("/r/blobs"));
    }

    #[test]
    fn a_file_is_named_by_time_and_id() {
        let places = Places::below(Path::new("/r"));
        let file = places.new_file(Path::new("/w"), &SessionId::from("x"), Timestamp::from_millis(0));
        assert_eq!(file, Path::new("/r/sessions/--w--/1970-01-01T00-00-00-000Z_x.jsonl"));
        assert_eq!(artifacts_of(&file), Path::new("/r/sessions/--w--/1970-01-01T00-00-00-000Z_x"));
    }
}

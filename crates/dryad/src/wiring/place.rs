//! Where long outputs of a run are kept: beside the user's sessions, or nowhere for long.

use crate::report::Failure;
use dryad_protocol::time::Timestamp;
use dryad_safety::artifact::Artifacts;
use dryad_session::session::Session;
use std::path::PathBuf;
use tempfile::TempDir;

/// The directory of one run. A temporary one is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    id: String,
    directory: PathBuf,
    _scratch: Option<TempDir>,
}

impl Place {
    /// The place of a session. One that is kept is made when something is put there.
    ///
    /// # Errors
    ///
    /// When no temporary directory can be made.
    pub(crate) fn of(session: &Session) -> Result<Self, Failure> {
        let id = session.id().to_string();
        if let Some(directory) = session.artifacts() {
            return Ok(Self { id, directory, _scratch: None });
        }
        let scratch = tempfile::Builder::new().prefix("dryad-").tempdir();
        let scratch =
            scratch.map_err(|error| Failure::failed(format!("cannot make a temporary directory: {error}")))?;
        Ok(Self { id, directory: scratch.path().to_owned(), _scratch: Some(scratch) })
    }

    /// The run's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Its long outputs.
    pub(crate) fn artifacts(&self) -> Artifacts {
        Artifacts::new(&self.directory)
    }
}

/// A day, as the user's calendar has it.
pub(super) fn date(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default();
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dryad_session::places::Places;
    use std::path::Path;

    #[test]
    fn long_outputs_lie_beside_the_session() {
        let places = Places::below(Path::new("/h"));
        let session = Session::create(&places, Path::new("/a/b"), None, Timestamp::default());
        let place = Place::of(&session).unwrap();
        assert!(place.directory.starts_with("/h/sessions/--a-b--"), "{place:?}");
        assert!(place.directory.to_string_lossy().ends_with(place.id()));
    }

    #[test]
    fn a_place_for_nothing_is_gone_afterwards() {
        let place = Place::of(&Session::in_memory(Path::new("/a"), Timestamp::default())).unwrap();
        let directory = place.directory.clone();
        assert!(directory.is_dir());
        drop(place);
        assert!(!directory.exists());
    }
}

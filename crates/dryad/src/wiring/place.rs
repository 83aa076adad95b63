//! Where long outputs of a run are kept: beside the user's sessions, or nowhere for long.

use crate::home::Home;
use crate::options::Keep;
use crate::report::Failure;
use dryad_protocol::time::Timestamp;
use dryad_safety::artifact::Artifacts;
use dryad_safety::clock::Clock;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The directory of one run. A temporary one is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    id: String,
    directory: PathBuf,
    _scratch: Option<TempDir>,
}

impl Place {
    /// A place for a run in `workdir`. One that is kept is made when something is put there.
    ///
    /// # Errors
    ///
    /// When no temporary directory can be made.
    pub(crate) fn new(home: &Home, workdir: &Path, keep: Keep) -> Result<Self, Failure> {
        let id = uuid::Uuid::now_v7().to_string();
        match keep {
            Keep::Session => {
                let stamp = stamp(Clock::System.now());
                let directory = home.sessions_of(workdir).join(format!("{stamp}_{id}"));
                Ok(Self { id, directory, _scratch: None })
            }
            Keep::Nothing => {
                let scratch = tempfile::Builder::new().prefix("dryad-").tempdir();
                let scratch =
                    scratch.map_err(|error| Failure::failed(format!("cannot make a temporary directory: {error}")))?;
                Ok(Self { id, directory: scratch.path().to_owned(), _scratch: Some(scratch) })
            }
        }
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

/// A moment as a part of a file name, which sorts by time.
fn stamp(time: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(time.as_millis()).unwrap_or_default();
    moment.strftime("%Y-%m-%dT%H-%M-%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_place_is_named_after_directory_and_time() {
        let place = Place::new(&Home::at("/h"), Path::new("/a/b"), Keep::Session).unwrap();
        assert!(place.directory.starts_with("/h/sessions/--a-b--"), "{place:?}");
        assert!(place.directory.to_string_lossy().ends_with(place.id()));
        assert_eq!(stamp(Timestamp::from_millis(0)), "1970-01-01T00-00-00");
    }

    #[test]
    fn a_place_for_nothing_is_gone_afterwards() {
        let place = Place::new(&Home::at("/h"), Path::new("/a"), Keep::Nothing).unwrap();
        let directory = place.directory.clone();
        assert!(directory.is_dir());
        drop(place);
        assert!(!directory.exists());
    }
}

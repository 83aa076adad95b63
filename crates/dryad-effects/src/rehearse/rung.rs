//! The ladder: ways to run a command, the best first.

use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;

/// The environment variable that says at which rung the ladder begins.
pub const SWITCH: &str = "DRYAD_REHEARSAL";

/// One way to run a command. The order is the order of the ladder: the best is the smallest.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// In namespaces of its own; what it writes lands in a layer on the disk.
    Overlay,
    /// The same with a layer in memory, for file systems that cannot hold one.
    Tmpfs,
    /// For real, with every before-image saved ahead of its change.
    Journal,
    /// For real, between two looks at the granted roots.
    Snapshot,
    /// For real, with no way back.
    Direct,
}

impl Rung {
    /// All of them, the best first.
    pub const ALL: [Self; 5] = [Self::Overlay, Self::Tmpfs, Self::Journal, Self::Snapshot, Self::Direct];

    /// Where the ladder begins by the environment: at the top, unless [`SWITCH`] names another rung.
    pub fn from_environment() -> Self {
        std::env::var_os(SWITCH).and_then(|name| Self::named(&name)).unwrap_or(Self::Overlay)
    }

    /// The rung of this name.
    pub fn named(name: &OsStr) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| OsStr::new(rung.name()) == name)
    }

    /// Its name, as the switch and the cache write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overlay => "overlay",
            Self::Tmpfs => "tmpfs",
            Self::Journal => "journal",
            Self::Snapshot => "snapshot",
            Self::Direct => "direct",
        }
    }

    /// Whether the real tree stays as it is until the changes are applied.
    pub const fn is_dry_run(self) -> bool {
        match self {
            Self::Overlay | Self::Tmpfs => true,
            Self::Journal | Self::Snapshot | Self::Direct => false,
        }
    }

    /// Whether what the command changed can be taken back.
    pub const fn can_undo(self) -> bool {
        match self {
            Self::Overlay | Self::Tmpfs | Self::Journal | Self::Snapshot => true,
            Self::Direct => false,
        }
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_is_found_by_its_name() {
        for rung in Rung::ALL {
            assert_eq!(Rung::named(OsStr::new(rung.name())), Some(rung));
        }
        assert_eq!(Rung::named(OsStr::new("overlayfs")), None);
    }

    #[test]
    fn a_dry_run_can_always_be_taken_back_and_the_best_comes_first() {
        assert!(Rung::ALL.is_sorted());
        assert!(Rung::ALL.iter().all(|rung| rung.can_undo() || !rung.is_dry_run()));
    }
}

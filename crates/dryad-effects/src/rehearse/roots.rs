//! Which trees get a layer.
//!
//! Granted roots do, and so do a few places that commands expect to write to; what lands in the latter is told and
//! then dropped. A tree with other mounts in it cannot lie below one layer, so each of its directories gets one. What the
//! kernel only shows as files, such as `/proc`, gets none.
//!
//! An ordinary user's layer cannot take over a directory that belongs to somebody else, nor anything below it. So a
//! root that lies there gets a layer of its own, at the outermost directory that is the user's.
//!
//! Where that would take too many layers a root gets none and can only be read, unless it is the first: without the
//! work tree there is no rehearsal.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// More layers than this take too long to mount.
const MOST: usize = 64;

/// File systems that hold nobody's files: the machine itself is seen and set there.
const MACHINE: [&[u8]; 20] = [
    b"autofs",
    b"binfmt_misc",
    b"bpf",
    b"cgroup",
    b"cgroup2",
    b"configfs",
    b"debugfs",
    b"devpts",
    b"devtmpfs",
    b"efivarfs",
    b"fusectl",
    b"mqueue",
    b"nsfs",
    b"proc",
    b"pstore",
    b"rpc_pipefs",
    b"securityfs",
    b"selinuxfs",
    b"sysfs",
    b"tracefs",
];

/// Where something is mounted.
#[derive(Debug, Default, Eq, PartialEq)]
struct Mounts {
    all: BTreeSet<PathBuf>,
    /// Those of the [machine](MACHINE).
    machine: BTreeSet<PathBuf>,
}

/// A tree that gets a layer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Tree {
    /// Where it is.
    pub(super) root: PathBuf,
    /// Whether it belongs to a granted root.
    pub(super) granted: bool,
}

/// The trees, and the directories that can only be read because mounts lie in them.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Plan {
    /// An outer tree comes before those in it.
    pub(super) trees: Vec<Tree>,
    /// Directories split into trees: their own files cannot be changed.
    pub(super) split: Vec<PathBuf>,
    /// Roots that would need too many layers.
    pub(super) left_out: Vec<PathBuf>,
}

/// What a root is planned for.
#[derive(Clone, Copy, Debug)]
enum Purpose<'g> {
    /// It is granted.
    Granted,
    /// It is watched, but for these granted roots, which have been planned.
    WatchedBut(&'g [PathBuf]),
}

impl Purpose<'_> {
    fn is_granted(self) -> bool {
        matches!(self, Self::Granted)
    }

    /// Whether a place has been planned already.
    fn leaves(self, place: &Path) -> bool {
        match self {
            Self::Granted => false,
            Self::WatchedBut(granted) => granted.iter().any(|root| place.starts_with(root)),
        }
    }
}

/// A root would need too many layers.
#[derive(Debug, Error)]
#[error("{} needs too many layers: mounts lie in it, beside many directories", .0.display())]
pub(super) struct TooMany(PathBuf);

/// Plans layers for these directories.
pub(super) fn plan(granted: &[PathBuf], watched: &[PathBuf]) -> io::Result<Plan> {
    let is_foreign = |place: &Path| place.symlink_metadata().is_ok_and(|facts| is_foreign(&facts));
    plan_among(granted, watched, &Mounts::listed(&fs::read("/proc/self/mountinfo")?), is_foreign)
}

/// Whether a work tree would need too many layers.
pub(super) fn is_crowded(work: &Path) -> bool {
    let planned = plan(&[work.to_owned()], &[]);
    planned.is_err_and(|error| error.get_ref().is_some_and(|inner| inner.is::<TooMany>()))
}

fn plan_among(
    granted: &[PathBuf],
    watched: &[PathBuf],
    mounts: &Mounts,
    is_foreign: impl Fn(&Path) -> bool,
) -> io::Result<Plan> {
    let granted: Vec<PathBuf> = granted.iter().map(|root| root.canonicalize()).collect::<io::Result<_>>()?;
    // A place that is not there, or is covered already, needs no watching.
    let named: BTreeSet<PathBuf> = watched.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let watched =
        outermost(named.clone()).into_iter().filter(|root| !granted.iter().any(|above| root.starts_with(above)));
    let watched: Vec<PathBuf> = watched.collect();
    if let Some(root) = granted.iter().chain(&watched).find(|root| !root.is_dir()) {
        let error = format!("{} is not a directory", root.display());
        return Err(io::Error::new(io::ErrorKind::NotADirectory, error));
    }
    let mut plan = Plan::default();
    plan.add_granted(&granted, granted.first().map(PathBuf::as_path), mounts)?;
    for root in &watched {
        if !plan.add_whole(root, Purpose::WatchedBut(&granted), mounts)? {
            plan.left_out.push(root.clone());
        }
    }
    for root in granted.iter().chain(&named) {
        plan.add_own(root, &is_foreign);
    }
    plan.trees.sort_by_key(|tree| tree.root.components().count());
    Ok(plan)
}

impl Plan {
    /// Adds granted roots, the one with the work tree first. One that needs too many layers leaves those in it.
    fn add_granted(&mut self, granted: &[PathBuf], work: Option<&Path>, mounts: &Mounts) -> io::Result<()> {
        let mut outer = outermost(granted.iter().cloned().collect());
        outer.sort_by_key(|root| !work.is_some_and(|work| work.starts_with(root)));
        for root in outer {
            if self.add_whole(&root, Purpose::Granted, mounts)? {
                continue;
            }
            if work == Some(root.as_path()) {
                return Err(io::Error::other(TooMany(root)));
            }
            let inner: Vec<PathBuf> =
                granted.iter().filter(|inner| **inner != root && inner.starts_with(&root)).cloned().collect();
            self.left_out.push(root);
            self.add_granted(&inner, work, mounts)?;
        }
        Ok(())
    }

    /// Adds a tree for a root that the layer of an outer one does not reach, because something on the way is foreign.
    /// There are few of these, so they are not counted.
    fn add_own(&mut self, root: &Path, is_foreign: &impl Fn(&Path) -> bool) {
        let around = self.trees.iter().filter(|tree| root.starts_with(&tree.root));
        let Some(outer) = around.max_by_key(|tree| tree.root.components().count()) else { return };
        let way = || root.ancestors().take_while(|place| *place != outer.root);
        if way().any(is_foreign) {
            // The last that is one's own, going up; a root that is foreign itself is taken as it is.
            let own = way().take_while(|place| !is_foreign(place)).last().unwrap_or(root).to_owned();
            self.trees.push(Tree { root: own, granted: outer.granted });
        }
    }

    /// Adds a root if there are layers enough for all of it; whether it did.
    fn add_whole(&mut self, root: &Path, purpose: Purpose<'_>, mounts: &Mounts) -> io::Result<bool> {
        let (trees, split) = (self.trees.len(), self.split.len());
        let is_whole = self.add(root, purpose, mounts)?;
        if !is_whole {
            self.trees.truncate(trees);
            self.split.truncate(split);
        }
        Ok(is_whole)
    }

    fn add(&mut self, root: &Path, purpose: Purpose<'_>, mounts: &Mounts) -> io::Result<bool> {
        if mounts.machine.contains(root) || purpose.leaves(root) {
            return Ok(true);
        }
        let has_mounts = mounts.all.iter().any(|mount| mount != root && mount.starts_with(root));
        if !has_mounts && root != Path::new("/") {
            let has_room = self.trees.len() < MOST;
            if has_room {
                self.trees.push(Tree { root: root.to_owned(), granted: purpose.is_granted() });
            }
            return Ok(has_room);
        }
        self.split.push(root.to_owned());
        let mut directories: Vec<PathBuf> = fs::read_dir(root)?
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        directories.sort();
        for directory in directories {
            if !self.add(&directory, purpose, mounts)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether an owner or group has no meaning in an ordinary user's rehearsal.
pub(super) fn is_foreign(facts: &Metadata) -> bool {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    !user.is_root() && (facts.uid() != user.as_raw() || facts.gid() != group.as_raw())
}

/// Those that lie in none of the others.
fn outermost(roots: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let is_inside = |root: &Path| root.ancestors().skip(1).any(|above| roots.contains(above));
    roots.iter().filter(|root| !is_inside(root)).cloned().collect()
}

impl Mounts {
    /// Reads them as the system lists them.
    fn listed(list: &[u8]) -> Self {
        let mut mounts = Self::default();
        for line in list.split(|byte| *byte == b'\n') {
            let mut fields = line.split(|byte| *byte == b' ');
            let Some(point) = fields.nth(4).map(|field| PathBuf::from(OsString::from_vec(unescape(field)))) else {
                continue;
            };
            // The number of fields before the dash differs.
            let kind = fields.skip_while(|field| *field != b"-").nth(1).unwrap_or_default();
            // What is mounted last at a place is what is seen there.
            if MACHINE.contains(&kind) {
                mounts.machine.insert(point.clone());
            } else {
                mounts.machine.remove(&point);
            }
            mounts.all.insert(point);
        }
        mounts
    }
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, others @ ..] = rest {
        let octal = |digit: &u8| (b'0'..=b'7').contains(digit);
        match others {
            [a, b, c, after @ ..] if *first == b'\\' && octal(a) && octal(b) && octal(c) => {
                plain.push((a - b'0').wrapping_mul(64).wrapping_add((b - b'0') * 8).wrapping_add(c - b'0'));
                rest = after;
            }
            _ => {
                plain.push(*first);
                rest = others;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_with_odd_names_are_read() {
        let list = b"21 1 8:1 / / rw - ext4 /dev/a rw\n22 21 0:5 / /a\\040b\\134c rw,nosuid shared:1 - tmpfs x rw\n";
        let all = BTreeSet::from([PathBuf::from("/"), PathBuf::from("/a b\\c")]);
        assert_eq!(Mounts::listed(list), Mounts { all, machine: BTreeSet::new() });
    }

    #[test]
    fn what_the_kernel_shows_as_files_gets_no_layer() {
        let list = b"22 1 0:5 / /x/proc rw shared:1 master:2 - proc proc rw\n23 1 0:6 / /x/dev rw - devtmpfs d rw\n\
            24 1 0:7 / /x/dev rw - tmpfs t rw\n";
        assert_eq!(Mounts::listed(list).machine, BTreeSet::from([PathBuf::from("/x/proc")]), "the upper one is seen");
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("proc/sys")).unwrap();
        fs::create_dir(base.join("work")).unwrap();
        let machine = BTreeSet::from([base.join("proc")]);
        let mounts = Mounts { all: BTreeSet::from([base.join("proc"), base.join("proc/sys")]), machine };
        let plan = plan_among(std::slice::from_ref(&base), &[], &mounts, |_| false).unwrap();
        assert_eq!(plan.trees, [Tree { root: base.join("work"), granted: true }]);
    }

    #[test]
    fn a_root_with_a_mount_in_it_is_split_and_what_is_covered_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for directory in ["home/work/a/b", "home/work/m", "scratch"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let at = |name: &str| base.join(name);
        let all = BTreeSet::from([PathBuf::from("/"), at("home/work/a/b")]);
        let mounts = Mounts { all, machine: BTreeSet::new() };
        let granted = [at("home/work"), at("home/work/m")];
        let plan =
            plan_among(&granted, &[at("scratch"), at("nowhere"), at("home/work/a")], &mounts, |_| false).unwrap();
        let tree = |name: &str, granted: bool| Tree { root: at(name), granted };
        assert_eq!(plan.trees, [tree("scratch", false), tree("home/work/m", true), tree("home/work/a/b", true)]);
        assert_eq!(plan.split, [at("home/work"), at("home/work/a")]);
        assert!(plan_among(&[at("nowhere")], &[], &mounts, |_| false).is_err());
    }

    #[test]
    fn a_work_tree_beside_a_mount_in_a_watched_place_stays_granted() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for directory in ["mount", "work/a", "work/mount", "other", "deep/work"] {
            fs::create_dir_all(base.join(directory)).unwrap();
        }
        let at = |name: &str| base.join(name);
        let tree = |name: &str, granted: bool| Tree { root: at(name), granted };
        let plan = |work: &str, mounts: &[&str]| {
            let all = mounts.iter().map(|name| at(name)).collect();
            let mounts = Mounts { all, machine: BTreeSet::new() };
            plan_among(&[at(work)], std::slice::from_ref(&base), &mounts, |_| false).unwrap()
        };
        let others = [tree("deep", false), tree("mount", false), tree("other", false)];
        let beside = |trees: &[Tree]| [trees, &others].concat();
        for mounts in [&["mount"][..], &["work"], &["mount", "work"]] {
            let plan = plan("work", mounts);
            assert_eq!((plan.trees, plan.split), (beside(&[tree("work", true)]), vec![base.clone()]), "{mounts:?}");
        }
        let within = plan("work", &["work/mount"]);
        assert_eq!(within.trees, [&others[..], &[tree("work/a", true), tree("work/mount", true)]].concat());
        assert_eq!(within.split, [at("work"), base.clone()]);
        let trees = plan("deep/work", &["mount"]).trees;
        assert_eq!(trees, [&others[..], &[tree("work", false), tree("deep/work", true)]].concat());
    }

    /// A place with many directories and a mount, of which a work tree may be one.
    fn crowded() -> (tempfile::TempDir, PathBuf, Mounts) {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for number in 0..MOST {
            fs::create_dir_all(base.join(format!("crowd/{number}"))).unwrap();
        }
        fs::create_dir_all(base.join("crowd/mount")).unwrap();
        fs::create_dir(base.join("work")).unwrap();
        let all = BTreeSet::from([PathBuf::from("/"), base.join("crowd/mount")]);
        (place, base, Mounts { all, machine: BTreeSet::new() })
    }

    #[test]
    fn what_needs_too_many_layers_is_left_out_but_for_what_is_granted_in_it() {
        let (_place, base, mounts) = crowded();
        let (crowd, work, inner) = (base.join("crowd"), base.join("work"), base.join("crowd/7"));
        let tree = |root: &PathBuf, granted: bool| Tree { root: root.clone(), granted };
        let plan = plan_among(&[work.clone(), crowd.clone()], &[], &mounts, |_| false).unwrap();
        assert_eq!((plan.trees, plan.split, plan.left_out), (vec![tree(&work, true)], vec![], vec![crowd.clone()]));
        let plan =
            plan_among(&[inner.clone(), crowd.clone()], std::slice::from_ref(&work), &mounts, |_| false).unwrap();
        assert_eq!(plan.trees, [tree(&work, false), tree(&inner, true)]);
        assert_eq!((plan.split, plan.left_out), (vec![], vec![crowd.clone()]));
        let plan = plan_among(std::slice::from_ref(&work), std::slice::from_ref(&crowd), &mounts, |_| false).unwrap();
        assert_eq!((plan.trees, plan.left_out), (vec![tree(&work, true)], vec![crowd]));
    }

    #[test]
    fn a_work_tree_that_needs_too_many_layers_has_no_plan() {
        let (_place, base, mounts) = crowded();
        let error = plan_among(&[base.join("crowd"), base.join("work")], &[], &mounts, |_| false).unwrap_err();
        assert!(error.get_ref().is_some_and(|inner| inner.is::<TooMany>()), "{error}");
    }

    #[test]
    fn a_root_behind_a_foreign_directory_gets_a_layer_at_the_outermost_of_ones_own() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("theirs/mine/deep/work")).unwrap();
        fs::create_dir_all(base.join("own/work")).unwrap();
        let at = |name: &str| base.join(name);
        let tree = |name: &str, granted: bool| Tree { root: at(name), granted };
        let plan = |granted: &[PathBuf], watched: &[PathBuf], foreign: &[&str]| {
            let is_foreign = |path: &Path| foreign.iter().any(|name| path == at(name));
            plan_among(granted, watched, &Mounts::default(), is_foreign).unwrap().trees
        };
        let (deep, own) = (at("theirs/mine/deep/work"), at("own/work"));
        let outer = Tree { root: base.clone(), granted: true };
        let granted = [deep.clone(), own.clone(), base.clone()];
        assert_eq!(plan(&granted, &[], &["theirs"]), [outer.clone(), tree("theirs/mine", true)]);
        assert_eq!(
            plan(&granted, &[], &["theirs", "theirs/mine/deep/work"]),
            [outer.clone(), tree("theirs/mine/deep/work", true)]
        );
        assert_eq!(plan(&granted, &[], &[]), std::slice::from_ref(&outer));
        assert_eq!(
            plan(std::slice::from_ref(&base), std::slice::from_ref(&deep), &["theirs"]),
            [outer, tree("theirs/mine", true)]
        );
        let watched = [base.clone(), deep];
        assert_eq!(
            plan(&[own], &watched, &["theirs"]),
            [Tree { root: base.clone(), granted: false }, tree("own/work", true), tree("theirs/mine", false)]
        );
    }
}

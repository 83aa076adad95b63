//! The file class: inside or outside the roots, protected directories, dangerous paths.

mod dangerous;
pub(super) mod real_path;

pub(super) use dangerous::dangerous_path;

use super::engine::ClassVerdict;
use super::policy::{Mode, Policy};
use super::subject::{Subject, TargetPath};
use std::path::{Path, PathBuf};

/// Directories whose contents configure tools or are not one's own.
const PROTECTED: [&str; 6] = [".git", ".ssh", ".gnupg", ".config", "node_modules", ".dryad"];

/// What is dangerous about the paths of a call.
pub(super) fn find_danger(subject: &Subject, home: Option<&Path>) -> Option<String> {
    subject.paths.iter().find_map(|target| {
        let paths = std::iter::once(&target.given).chain(&target.real);
        let kind = paths.into_iter().find_map(|path| dangerous_path(path, home))?;
        Some(format!("writes to {kind}: {}", target.given.display()))
    })
}

/// What the class says of changing the paths of a call.
pub(super) fn judge(subject: &Subject, policy: &Policy) -> ClassVerdict {
    if subject.paths.is_empty() {
        return ClassVerdict::ask("which files it changes is not known");
    }
    let roots = roots(subject, policy);
    let reason = subject.paths.iter().find_map(|target| reason_to_ask(target, &roots));
    match (reason, policy.mode) {
        (Some(reason), Mode::AlwaysAsk | Mode::Write | Mode::Yolo) => ClassVerdict::ask(reason),
        (None, Mode::AlwaysAsk) => ClassVerdict::ask("it changes files"),
        (None, Mode::Write | Mode::Yolo) => ClassVerdict::allow("class file: inside the roots"),
    }
}

/// Whether a path may be written without asking in a mode that lets files be written.
pub(super) fn is_ordinary(path: &Path, subject_roots: &[PathBuf]) -> bool {
    reason_to_ask(&TargetPath::at(path.to_owned()), subject_roots).is_none()
}

/// The directories in which files may be changed, as they really are.
pub(super) fn roots(subject: &Subject, policy: &Policy) -> Vec<PathBuf> {
    let given = subject.workdirs.iter().chain(&policy.roots);
    given.map(|root| real_path::resolve(root).unwrap_or_else(|_| root.clone())).collect()
}

fn reason_to_ask(target: &TargetPath, roots: &[PathBuf]) -> Option<String> {
    let shown = target.given.display();
    if target.real.is_empty() {
        return Some(format!("where {shown} leads is not known"));
    }
    target.real.iter().find_map(|real| {
        let Some(inside) = roots.iter().find_map(|root| real.strip_prefix(root).ok()) else {
            return Some(format!("{shown} is outside the roots"));
        };
        let protected = inside.components().find_map(|part| {
            let name = part.as_os_str();
            PROTECTED.iter().find(|protected| name == **protected)
        })?;
        Some(format!("{shown} lies in the protected directory {protected}"))
    })
}

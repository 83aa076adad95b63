//! Variables that change what programs do.
//!
//! Setting a shell variable is harmless unless it is one of these. Handing a variable to a program is harmless
//! only for the few names listed: nobody can list all that make some program run another.

use super::{OpacityKind, Script};

/// Names that decide which code runs, wherever they are set.
const CHANGING: [&str; 42] = [
    "PATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "HOME",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "LESS",
    "MANOPT",
    "MAKEFLAGS",
    "CC",
    "CXX",
    "LD",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "TAR_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
    "FZF_DEFAULT_COMMAND",
    "SUDO_ASKPASS",
    "SSH_ASKPASS",
    "PROMPT",
    "GLOBIGNORE",
];

/// Beginnings of such names.
const CHANGING_PREFIXES: [&str; 24] = [
    "LD_",
    "DYLD_",
    "GIT_",
    "SSH_",
    "NODE_",
    "NPM_",
    "PYTHON",
    "PERL",
    "RUBY",
    "BUNDLE_",
    "GEM_",
    "CARGO_",
    "RUSTUP_",
    "DOTNET_",
    "JAVA_",
    "MAVEN_",
    "GRADLE_",
    "GO",
    "PIP_",
    "DOCKER_",
    "KUBE",
    "AWS_",
    "BASH_FUNC",
    "PG",
];

/// Names a program may be given without changing what it runs.
const HARMLESS: [&str; 27] = [
    "CI",
    "DEBUG",
    "VERBOSE",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "NODE_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "CARGO_TERM_COLOR",
    "CARGO_INCREMENTAL",
    "GIT_TERMINAL_PROMPT",
    "PYTHONIOENCODING",
    "DEBIAN_FRONTEND",
    "POSIXLY_CORRECT",
];

/// Whether setting this variable changes which code runs.
pub(in crate::permission) fn changes_programs(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    !is_harmless_in_environment(name)
        && (CHANGING.contains(&upper.as_str()) || CHANGING_PREFIXES.iter().any(|start| upper.starts_with(start)))
}

/// Whether a program may be given this variable without changing what it runs.
pub(in crate::permission) fn is_harmless_in_environment(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// Says so when a variable is set that changes which code runs.
pub(super) fn judge_name(name: &str, script: &mut Script) {
    if changes_programs(name) {
        script.add_opaque(OpacityKind::Unclear, format!("setting {name} can change which programs run"));
    }
}

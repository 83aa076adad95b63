//! The one place where the chores start other programs.

use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// A program to start in `directory`, inheriting what it is not given.
#[expect(clippy::disallowed_methods, reason = "chores start compilers and benchmarks")]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory);
    command
}

/// `cargo` with these arguments, the one that started us if there is one.
pub(crate) fn cargo(directory: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(cargo, directory);
    command.args(arguments);
    command
}

/// `npm`, which trusts the machine's own certificates besides those it brings along.
pub(crate) fn npm(directory: &Path) -> Command {
    const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
    let mut command = command("npm", directory);
    if std::env::var_os("NODE_EXTRA_CA_CERTS").is_none() && Path::new(CERTIFICATES).exists() {
        command.env("NODE_EXTRA_CA_CERTS", CERTIFICATES);
    }
    command
}

/// Runs to the end, its output shown as it comes; whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.status().with_context(|| format!("cannot start {}", program_of(command)))?;
    Ok(status.success())
}

/// Runs to the end and gives back what it printed on standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", program_of(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}: {}", program_of(command), output.status, errors.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed no UTF-8", program_of(command)))
}

/// Whether the program can be started and answers well to `--version`.
pub(crate) fn answers(command: &mut Command) -> bool {
    let quiet = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn program_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

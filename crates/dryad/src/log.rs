//! The log: to standard error, only when asked for, with keys covered.

use dryad_safety::mask::Mask;
use std::io::{self, Write};
use std::sync::OnceLock;
use tracing_subscriber::EnvFilter;

/// The variable that chooses what is logged, for example `dryad_provider=debug`.
pub(crate) const VARIABLE: &str = "DRYAD_LOG";

/// Set once the keys are known; nothing that knows a key runs before.
static MASK: OnceLock<Mask> = OnceLock::new();

/// Starts logging if `-v` or `DRYAD_LOG` asks for it. A filter that makes no sense is an error.
///
/// # Errors
///
/// What is wrong with the filter.
pub(crate) fn start(verbose: u8) -> Result<(), String> {
    let wanted = std::env::var(VARIABLE).ok().filter(|filter| !filter.trim().is_empty());
    let filter = match (wanted, verbose) {
        (Some(filter), _) => filter,
        (None, 0) => return Ok(()),
        (None, 1) => "warn,dryad=info,dryad_agent=info,dryad_provider=info,dryad_effects=info".to_owned(),
        (None, 2) => "debug".to_owned(),
        (None, _) => "trace".to_owned(),
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| format!("{VARIABLE}: {error}"))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| Masked);
    // Somebody else's subscriber would be a mistake in this program, and no reason to stop.
    subscriber.try_init().ok();
    Ok(())
}

/// Covers these secrets from now on.
pub(crate) fn cover(mask: &Mask) {
    MASK.set(mask.clone()).ok();
}

/// Standard error behind the mask. A line of the log is one write.
struct Masked;

impl Write for Masked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let covered = MASK.get().map_or_else(|| text.clone(), |mask| mask.text(&text));
        io::stderr().lock().write_all(covered.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

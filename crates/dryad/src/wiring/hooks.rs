//! Hooks that are programs of the user: what lies in `hooks/pre` is asked before something is done with a session,
//! what lies in `hooks/post` is told of it.
//!
//! ```text
//! event as one line of JSON ─► stdin of each program, in the order of their names ─► exit code and output
//! ```
//!
//! Invariants: only the user's own directory counts, never a project's; a program that is asked and gives no
//! answer (it does not start, is killed, or takes too long) is against it. Where there is no such directory, looking
//! for it is all that is done.

mod verdict;

use crate::home::Home;
use crate::output;
use crate::report::Failure;
use crate::terminal::harmless;
use dryad_agent::conversation::{HookAnswer, HookEvent, Hooks, Moment, Occasion};
use dryad_effects::process::{ProgramSpec, run_program};
use dryad_rpc::extension::ExtensionErrors;
use futures_util::future::BoxFuture;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use verdict::Verdict;

/// The variable that says how many milliseconds each program may take.
pub(crate) const VARIABLE: &str = "DRYAD_HOOK_TIMEOUT_MS";

/// How long each program may take.
const LIMIT: Duration = Duration::from_secs(10);

/// Of what a program prints so much is kept.
const KEPT_BYTES: usize = 1024 * 1024;

/// The user's hooks.
pub(crate) struct HookPrograms {
    directory: PathBuf,
    cwd: PathBuf,
    limit: Duration,
    /// Where failures are told; without it, on standard error.
    errors: Option<ExtensionErrors>,
}

impl HookPrograms {
    /// The user's hooks, which work in this directory.
    ///
    /// # Errors
    ///
    /// When the time they may take makes no sense.
    pub(crate) fn new(home: &Home, cwd: &Path, errors: Option<ExtensionErrors>) -> Result<Self, Failure> {
        let limit = match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => match text.parse() {
                Ok(milliseconds) if milliseconds > 0 => Duration::from_millis(milliseconds),
                _ => return Err(Failure::usage(format!("{VARIABLE} is no number of milliseconds: {text}"))),
            },
            _ => LIMIT,
        };
        Ok(Self { directory: home.hooks_directory(), cwd: cwd.to_owned(), limit, errors })
    }

    /// Asks before something is done outside a conversation.
    ///
    /// # Errors
    ///
    /// When a hook is against it.
    pub(crate) async fn ask(&self, event: &HookEvent) -> Result<(), Failure> {
        match self.before(event).await {
            HookAnswer::GoOn => Ok(()),
            HookAnswer::Cancelled { reason } => Err(Failure::failed(format!("cancelled by a hook: {reason}"))),
        }
    }

    async fn asked(&self, event: &HookEvent) -> HookAnswer {
        let programs = match programs(&self.directory.join("pre")) {
            Ok(programs) => programs,
            Err(error) => {
                return HookAnswer::Cancelled { reason: format!("{}: {error}", self.directory.join("pre").display()) };
            }
        };
        for program in programs {
            let verdict = self.run(&program, event, Moment::Before).await;
            match &verdict {
                Verdict::Passed => continue,
                Verdict::Failed(error) => {
                    self.report(&program, event.name(Moment::Before), error);
                    continue;
                }
                Verdict::Broken(error) => self.report(&program, event.name(Moment::Before), error),
                Verdict::Against(_) => {}
            }
            return HookAnswer::Cancelled { reason: format!("{}: {verdict}", name(&program)) };
        }
        HookAnswer::GoOn
    }

    async fn told(&self, event: &HookEvent) {
        let name = event.name(Moment::After);
        let directory = self.directory.join("post");
        let programs = programs(&directory).unwrap_or_else(|error| {
            self.report(&directory, name, &error.to_string());
            Vec::new()
        });
        for program in programs {
            match self.run(&program, event, Moment::After).await {
                Verdict::Passed => {}
                failed => self.report(&program, name, &failed.to_string()),
            }
        }
    }

    async fn run(&self, program: &Path, event: &HookEvent, moment: Moment) -> Verdict {
        let mut input = event.json(moment).to_string().into_bytes();
        input.push(b'\n');
        tracing::info!(program = %program.display(), event = event.name(moment), "hook");
        let spec = ProgramSpec { program, cwd: &self.cwd, input: &input, limit: self.limit, kept_bytes: KEPT_BYTES };
        Verdict::of(run_program(&spec).await, self.limit)
    }

    fn report(&self, path: &Path, event: &str, error: &str) {
        match &self.errors {
            Some(errors) => errors.tell(path, event, error),
            None => output::note(&harmless(&format!("the hook {} failed at {event}: {error}", path.display()))),
        }
    }
}

impl Hooks for HookPrograms {
    fn before<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, HookAnswer> {
        Box::pin(async move {
            let answer = self.asked(event).await;
            // Nobody waits for what is done by itself, so nobody else tells it.
            if let (HookAnswer::Cancelled { reason }, Occasion::Compact { .. }, None) =
                (&answer, &event.occasion, &self.errors)
            {
                output::note(&harmless(&format!("no room is made in the context: cancelled by a hook: {reason}")));
            }
            answer
        })
    }

    fn after<'a>(&'a self, event: &'a HookEvent) -> BoxFuture<'a, ()> {
        Box::pin(self.told(event))
    }
}

/// The executable files of a directory by their names; none where there is no directory. A link that leads nowhere
/// is one of them: it is there to be run.
fn programs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let is_program = std::fs::metadata(&path)
            .map_or(true, |metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
        if is_program {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn name(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

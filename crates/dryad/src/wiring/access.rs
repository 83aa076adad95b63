//! Keys and model files, read once.

use crate::home::Home;
use crate::report::Failure;
use dryad_effects::artifact::Artifacts;
use dryad_effects::mask::Mask;
use dryad_effects::process::{self, Surroundings};
use dryad_protocol::command::{CommandEnd, CommandSpec};
use dryad_protocol::path::FilePath;
use dryad_provider::keys::{AuthFile, CommandRunner, Environment, Keys};
use dryad_provider::models_file::ModelsFile;
use dryad_provider::registry::Models;
use dryad_provider::secret::Secret;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// A command that prints a key has so many seconds.
const KEY_COMMAND_SECONDS: u64 = 30;

/// `models.json`, `auth.json` and the environment.
pub(crate) struct Access {
    /// `models.json`.
    pub(crate) models_file: Arc<ModelsFile>,
    /// `auth.json`.
    pub(crate) auth_file: AuthFile,
    /// The variables of this process.
    pub(crate) environment: Environment,
    runner: CommandRunner,
}

impl Access {
    /// Reads both files.
    ///
    /// # Errors
    ///
    /// When one is there and cannot be understood.
    pub(crate) fn load(home: &Home) -> Result<Self, Failure> {
        let models_file = ModelsFile::load(&home.models_file()).map_err(|error| Failure::usage(error.to_string()))?;
        let auth_file = AuthFile::load(&home.auth_file()).map_err(|error| Failure::usage(error.to_string()))?;
        Ok(Self::new(models_file, auth_file, home.root().to_owned()))
    }

    /// Access with these files.
    pub(crate) fn new(models_file: ModelsFile, auth_file: AuthFile, directory: PathBuf) -> Self {
        let environment: Environment = Arc::new(|name| std::env::var(name).ok());
        Self { models_file: Arc::new(models_file), auth_file, environment, runner: runner(directory) }
    }

    /// The keys, with one of the command line if there is one.
    pub(crate) fn keys(&self, flag: Option<(String, Secret)>) -> Keys {
        let keys = Keys::new(self.environment.clone(), self.models_file.clone())
            .with_auth_file(self.auth_file.clone())
            .with_runner(self.runner.clone());
        match flag {
            Some((provider, key)) => keys.with_flag(provider, key),
            None => keys,
        }
    }

    /// All models there are.
    pub(crate) fn models(&self) -> Models {
        Models::new(self.models_file.clone(), Arc::new(self.keys(None)))
    }
}

/// Runs a command that prints a key, once: the same command is not run again.
fn runner(directory: PathBuf) -> CommandRunner {
    let known: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    Arc::new(move |command: &str| {
        let (command, known, directory) = (command.to_owned(), known.clone(), directory.clone());
        Box::pin(async move {
            let cached = known.lock().unwrap_or_else(PoisonError::into_inner).get(&command).cloned();
            if let Some(output) = cached {
                return Ok(output);
            }
            let output = run(&command, directory).await?;
            known.lock().unwrap_or_else(PoisonError::into_inner).insert(command, output.clone());
            Ok(output)
        })
    })
}

async fn run(command: &str, directory: PathBuf) -> Result<String, String> {
    let spec = CommandSpec {
        // What it complains about is not the key.
        command: format!("exec 2>/dev/null\n{command}"),
        cwd: FilePath::new(if directory.is_dir() { directory } else { PathBuf::from("/") }),
        env: BTreeMap::new(),
        shell: "/bin/sh".to_owned(),
        timeout_seconds: KEY_COMMAND_SECONDS,
    };
    let surroundings = Surroundings { mask: Mask::default(), artifacts: Artifacts::none() };
    let outcome = process::run(&spec, &surroundings, &CancellationToken::new(), &|_| {}).await;
    let outcome = outcome.map_err(|error| error.to_string())?;
    match outcome.end {
        CommandEnd::Exited { code: 0 } => Ok(outcome.output.text),
        CommandEnd::Exited { code } => Err(format!("it exited with code {code}")),
        CommandEnd::TimedOut => Err(format!("it took longer than {KEY_COMMAND_SECONDS} seconds")),
        CommandEnd::Cancelled => Err("it was cancelled".to_owned()),
    }
}

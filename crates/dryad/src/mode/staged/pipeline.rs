//! The pipeline that a person resolves a staged plan with: the built-in tools, the rules that deny, the granted roots, and no
//! model.

use super::Staged;
use crate::options;
use crate::report::Failure;
use crate::wiring::{Access, Workshop, all_tools, mask, policy, rehearsal};
use dryad_provider::registry::DEMO;
use dryad_provider::scripted;
use dryad_safety::gate::GrantedRoots;
use dryad_safety::gate::permission::Permission;
use dryad_safety::observer::Observer;
use dryad_safety::permission::Engine;
use dryad_safety::pipeline::Pipeline;
use dryad_safety::registry::Registry;
use std::path::PathBuf;
use std::sync::Arc;

/// A pipeline that applies what the built-in tools have planned, below the workspace's root and these.
///
/// # Errors
///
/// When a file of the user's cannot be understood, or a root is no directory.
pub(in crate::mode) async fn pipeline(staged: &Staged, roots: &[PathBuf]) -> Result<Pipeline, Failure> {
    let workdir = &staged.memory.workdir;
    let workshop = Workshop::open(workdir)?;
    let keys = Access::load(&workshop.home)?.keys(None);
    let mut granted = vec![workdir.clone(), std::env::temp_dir()];
    granted.extend(staged.memory.root().map(ToOwned::to_owned));
    granted.extend(workshop.settings.roots.iter().map(|root| workdir.join(root)));
    for root in roots {
        granted.push(options::directory(root, workdir, "--root")?);
    }
    let rehearsal = rehearsal(&workshop.settings, &workshop.home, workdir, granted.clone());
    let registry = Registry::default();
    for tool in all_tools(&workshop.settings, None, false, rehearsal.foreseen_level()) {
        registry.register(tool).map_err(|error| Failure::failed(error.to_string()))?;
    }
    let mut pipeline = Pipeline::new(Arc::new(registry), staged.workspace()?.clone(), workdir);
    pipeline.rehearsal = Some(Arc::new(rehearsal));
    // A model of no provider: the keys at hand and the variables are what is covered.
    pipeline.surroundings.mask = mask(&keys, &scripted::model(DEMO)).await;
    // Applying is a yes to every question, and to nothing that a rule denies.
    let policy = policy(&workshop.settings, &workshop.home, workdir, granted.clone(), None)?;
    pipeline.gates.push(Box::new(Permission::new(Arc::new(Engine::new(policy)), None, Observer::default())));
    pipeline.gates.push(Box::new(GrantedRoots::new(granted)));
    Ok(pipeline)
}

/// A pipeline that can do nothing but drop what is staged.
///
/// # Errors
///
/// When nothing was ever recorded here.
pub(in crate::mode) fn bare_pipeline(staged: &Staged) -> Result<Pipeline, Failure> {
    Ok(Pipeline::new(Arc::new(Registry::default()), staged.workspace()?.clone(), &staged.memory.workdir))
}

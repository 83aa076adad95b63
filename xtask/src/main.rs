//! The repository's own chores: `cargo xtask <command>`.
//!
//! Nothing of dryad is linked in here; what needs the program runs the built binary. So a chore works
//! while a crate does not compile, and building the chores costs little.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the chores talk to whoever started them")]

mod bench;
mod catalogue;
mod ci;
mod conformance;
mod docs;
mod packages;
mod peers;
mod process;
mod repository;
mod tidy;

use anyhow::Result;
use clap::{Parser, Subcommand};
use repository::Repository;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The repository's own chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Check what the compiler does not: arrows between crates, file shape, manifests, documents
    Tidy {
        /// Check the texts generated from the binary too (builds it)
        #[arg(long)]
        docs: bool,
    },
    /// Rewrite the generated texts under docs/ and in ARCHITECTURE.md
    Docs,
    /// Everything that must pass: fmt, clippy, tidy, tests
    Ci {
        /// Build the API documentation too
        #[arg(long)]
        doc: bool,
    },
    /// Drive the binary with clients that others have published
    Conformance {
        /// With the client of oh-my-pi, too, which is a large download
        #[arg(long)]
        all: bool,
    },
    /// Install the published programs that tests and benchmarks compare with, under target/
    Peers,
    /// Measure the binary beside the floor program, rg, fd and ast-grep; ratios within one run
    Bench(bench::BenchArguments),
    /// Rebuild the model catalogue from an unpacked npm package
    Catalogue {
        /// The directory that holds the package's package.json
        package_dir: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore, &Repository::of_this_build()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Does the chore; false when it found something wrong and has said so.
fn run(chore: Chore, repository: &Repository) -> Result<bool> {
    match chore {
        Chore::Tidy { docs } => tidy::run(repository, tidy::Scope::from_flag(docs)),
        Chore::Docs => docs::write(repository).map(|()| true),
        Chore::Ci { doc } => ci::run(repository, doc),
        Chore::Conformance { all } => conformance::run(repository, all),
        Chore::Peers => peers::ensure(repository).map(|()| true),
        Chore::Bench(arguments) => bench::run(repository, &arguments),
        Chore::Catalogue { package_dir } => catalogue::run(&package_dir).map(|()| true),
    }
}

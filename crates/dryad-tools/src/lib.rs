//! The built-in tools that work on files and processes.
//!
//! **Belongs here:** what each tool understands of its arguments, what it looks at, and the plan or
//! answer it gives; one file per tool, with the text the model reads beside it.
//! **Does not belong here:** acting. A tool reads and plans; this crate cannot reach `dryad-effects`.

pub mod path;
pub mod truncate;

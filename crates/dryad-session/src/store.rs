//! Where a session lies on disk: one file of lines, and the pictures beside it.
//!
//! What is promised, and how it is kept:
//!
//! | when | what survives |
//! |---|---|
//! | `Session::append` has returned | the end of the process: the line went to the operating system in one write |
//! | `Session::flush` has returned | a loss of power: the file, and its name in the directory, were synced |
//! | in between | a thread syncs behind every append, so that a loss of power costs what the last sync took |
//!
//! A file is made or rewritten whole under another name, synced, and renamed into place. A process holds
//! a lock on the file it appends to, and looks at its length before each append: lines of two writers
//! never mix.

pub(crate) mod blob;
pub(crate) mod disk;
mod head;
pub(crate) mod jsonl;
pub(crate) mod line;
pub(crate) mod scan;
pub(crate) mod syncer;

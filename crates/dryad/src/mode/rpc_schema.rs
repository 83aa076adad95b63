//! `dryad rpc-schema`: the frames of RPC mode, for the documents and for hosts.

use crate::output;
use crate::report::{Exit, Failure};
use dryad_rpc::schema::{inbound, outbound, tables};
use serde_json::json;

/// Prints both schemas and the rows of the tables.
///
/// # Errors
///
/// When standard output cannot be written to.
pub(super) fn run() -> Result<Exit, Failure> {
    output::print_json(&json!({"inbound": inbound(), "outbound": outbound(), "tables": tables()}))?;
    Ok(Exit::Done)
}

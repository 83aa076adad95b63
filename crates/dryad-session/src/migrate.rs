//! Session files of older versions, brought into the current form.
//!
//! Version 1 is a list without ids, in which a compaction names what it keeps by position. Version 2 has
//! ids and calls messages of extensions by an older role. Fields that are not known here stay.

use crate::problem::Problem;
use crate::store::disk::{Draft, Rest};
use dryad_protocol::entry::{Entry, SESSION_VERSION, SessionHeader};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;

/// A file of an older version in the current form.
pub(crate) struct Migrated {
    pub(crate) header: SessionHeader,
    lines: Vec<Map<String, Value>>,
    pub(crate) problems: Vec<Problem>,
}

/// Reads a whole file of an older version.
pub(crate) fn lines(file: &File, header: &SessionHeader) -> io::Result<Migrated> {
    let mut migrated = Migrated { header: header.clone(), lines: Vec::new(), problems: Vec::new() };
    let mut positions = Vec::new();
    for (number, line) in BufReader::new(Rest { file, offset: 0, end: u64::MAX }).split(b'\n').enumerate() {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(&line) {
            Ok(Value::Object(fields)) if number == 0 || !is_header(&fields) => {
                // A compaction counts the header, and every line that can be read.
                positions.push((number > 0).then_some(migrated.lines.len()));
                if number > 0 {
                    migrated.lines.push(fields);
                }
            }
            Ok(_) => positions.push(None),
            Err(_) => migrated.problems.push(Problem::UnreadableLine { line: number + 1 }),
        }
    }
    if header.version < 2 {
        migrated.give_ids(&positions);
    }
    migrated.rename_roles();
    migrated.header.version = SESSION_VERSION;
    Ok(migrated)
}

impl Migrated {
    /// The entries; those that cannot be understood are left out.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.lines.iter().filter_map(|line| serde_json::from_value(Value::Object(line.clone())).ok())
    }

    /// Puts the new form in the place of the old one. Returns the file, the header and its length.
    pub(crate) fn write(&self, path: &Path) -> io::Result<(File, SessionHeader, u64)> {
        let mut draft = Draft::begin(path)?;
        let mut text = serde_json::to_vec(&self.header)?;
        text.push(b'\n');
        let length = text.len() as u64;
        for line in &self.lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        draft.file().write_all(&text)?;
        Ok((draft.replace()?, self.header.clone(), length))
    }

    fn give_ids(&mut self, positions: &[Option<usize>]) {
        let mut seen = HashSet::new();
        let ids: Vec<String> = self.lines.iter().map(|_| free_id(&mut seen)).collect();
        let mut parent = Value::Null;
        for (line, id) in self.lines.iter_mut().zip(&ids) {
            line.insert("id".to_owned(), id.as_str().into());
            line.insert("parentId".to_owned(), std::mem::replace(&mut parent, id.as_str().into()));
            if let Some(index) = line.shift_remove("firstKeptEntryIndex") {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                let kept = index.and_then(|index| ids.get((*positions.get(index)?)?));
                line.extend(kept.map(|id| ("firstKeptEntryId".to_owned(), id.as_str().into())));
            }
        }
    }

    fn rename_roles(&mut self) {
        let messages = self.lines.iter_mut().filter_map(|line| line.get_mut("message"));
        for role in messages.filter_map(|message| message.get_mut("role")) {
            if role == "hookMessage" {
                *role = "custom".into();
            }
        }
    }
}

fn is_header(fields: &Map<String, Value>) -> bool {
    fields.get("type").is_some_and(|kind| kind == "session")
}

fn free_id(seen: &mut HashSet<u32>) -> String {
    loop {
        let random = uuid::Uuid::now_v7().as_u128() as u32;
        if seen.insert(random) {
            return format!("{random:08x}");
        }
    }
}

//! Serves a small file system through the kernel's FUSE device: `README`, `other` and the directory `empty`, each
//! under every spelling. It can be looked at and read; every request for a change is noted and refused.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Mutex};
use std::thread;

const ROOT: u64 = 1;
const EMPTY: u64 = 4;
const NAMES: [(u64, &str); 3] = [(2, "README"), (3, "other"), (EMPTY, "empty")];
const TEXT: &[u8] = b"text\n";

/// Requests of the kernel, by their numbers.
mod asked {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const OPENDIR: u32 = 27;
    pub(super) const READDIR: u32 = 28;
    pub(super) const RELEASEDIR: u32 = 29;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const BATCH_FORGET: u32 = 42;
    /// Set attributes, make a link, a node or a directory, remove, rename, link, write, create, rename so or so.
    pub(super) const CHANGES: [u32; 11] = [4, 6, 8, 9, 10, 11, 12, 13, 16, 35, 45];
}

/// What was asked for so far.
#[derive(Clone)]
pub(super) struct Server {
    changes: Arc<Mutex<Vec<u32>>>,
}

impl Server {
    /// Begins to serve what `device` is mounted as, until it is not any more.
    pub(super) fn start(device: File) -> Self {
        let server = Self { changes: Arc::default() };
        let serving = server.clone();
        thread::spawn(move || serving.serve(device));
        server
    }

    /// The requests that would have changed something.
    pub(super) fn changes_asked_for(&self) -> Vec<u32> {
        self.changes.lock().unwrap().clone()
    }

    fn serve(&self, mut device: File) {
        let mut request = vec![0; 1 << 18];
        loop {
            let length = match device.read(&mut request) {
                Ok(length) => length,
                // A request was given up before it was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => return,
            };
            let (head, body) = request[..length].split_at(40);
            let kind = u32::from_ne_bytes(head[4..8].try_into().unwrap());
            let unique = number(head, 8);
            if matches!(kind, asked::FORGET | asked::BATCH_FORGET | asked::INTERRUPT) {
                continue;
            }
            let (error, answer) = match self.answer(kind, number(head, 16), body) {
                Ok(answer) => (0, answer),
                Err(error) => (-error, Vec::new()),
            };
            let mut reply = Vec::new();
            reply.extend((16 + answer.len() as u32).to_ne_bytes());
            reply.extend(error.to_ne_bytes());
            reply.extend(unique.to_ne_bytes());
            reply.extend(answer);
            // A request may have been given up meanwhile.
            device.write_all(&reply).ok();
        }
    }

    fn answer(&self, kind: u32, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
        match kind {
            asked::INIT => {
                let mut answer = Vec::new();
                answer.extend([7_u32, 31, 0, 0, 0, 4096, 1].iter().flat_map(|value| value.to_ne_bytes()));
                answer.resize(64, 0);
                Ok(answer)
            }
            asked::LOOKUP => {
                let name = body.strip_suffix(b"\0").unwrap_or(body).to_ascii_lowercase();
                let fits = |known: &&(u64, &str)| node == ROOT && known.1.to_ascii_lowercase().as_bytes() == name;
                let (found, _) = NAMES.iter().find(fits).ok_or(libc::ENOENT)?;
                let mut answer: Vec<u8> = [*found, 0, 0, 0, 0].iter().flat_map(|value| value.to_ne_bytes()).collect();
                answer.extend(attributes(*found));
                Ok(answer)
            }
            asked::GETATTR => {
                Ok([0_u64; 2].iter().flat_map(|value| value.to_ne_bytes()).chain(attributes(node)).collect())
            }
            asked::OPEN | asked::OPENDIR => Ok(vec![0; 16]),
            asked::READ => Ok(if number(body, 8) == 0 { TEXT.to_vec() } else { Vec::new() }),
            asked::READDIR => Ok(if node == ROOT && number(body, 8) == 0 { listing() } else { Vec::new() }),
            asked::RELEASE | asked::RELEASEDIR | asked::FLUSH => Ok(Vec::new()),
            other => {
                if asked::CHANGES.contains(&other) {
                    self.changes.lock().unwrap().push(other);
                    return Err(libc::EROFS);
                }
                Err(libc::ENOSYS)
            }
        }
    }
}

fn is_directory(node: u64) -> bool {
    matches!(node, ROOT | EMPTY)
}

fn attributes(node: u64) -> Vec<u8> {
    let (mode, size) = if is_directory(node) { (0o040_755_u32, 0) } else { (0o100_644, TEXT.len() as u64) };
    let mut answer: Vec<u8> = [node, size, 1, 0, 0, 0].iter().flat_map(|value| value.to_ne_bytes()).collect();
    // Parts of seconds, mode, number of names, owner, group, device, block size, flags.
    let rest = [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0];
    answer.extend(rest.iter().flat_map(|value| value.to_ne_bytes()));
    answer
}

fn listing() -> Vec<u8> {
    let mut answer = Vec::new();
    for (offset, (node, name)) in (1_u64..).zip(NAMES) {
        let kind = u32::from(if is_directory(node) { libc::DT_DIR } else { libc::DT_REG });
        answer.extend(node.to_ne_bytes());
        answer.extend(offset.to_ne_bytes());
        answer.extend((name.len() as u32).to_ne_bytes());
        answer.extend(kind.to_ne_bytes());
        answer.extend(name.as_bytes());
        answer.resize(answer.len().next_multiple_of(8), 0);
    }
    answer
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

//! Which connections a command tried. What came of them the kernel says to the command, not to us.

use super::super::message::Connect;
use super::task;
use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt as _;

/// Different targets that are kept.
const MOST: usize = 256;

/// How the place ends where the C library asks for names of users, whoever runs: a command has not that in mind.
const NAME_CACHE: &str = "/nscd/socket";

/// The targets so far.
#[derive(Debug, Default)]
pub(in super::super) struct Ledger {
    connects: Vec<Connect>,
}

impl Ledger {
    /// Notes the target at this address of a process's memory.
    pub(in super::super) fn note(&mut self, process: u32, address: u64, length: u64) {
        let mut bytes = [0; 128];
        let length = usize::try_from(length).unwrap_or(0).min(bytes.len());
        let Some(buffer) = bytes.get_mut(..length) else { return };
        let Ok(count) = task::read_memory(process, address, buffer) else { return };
        if let Some((to, remote)) = target(bytes.get(..count).unwrap_or_default())
            && (remote || !to.ends_with(NAME_CACHE))
        {
            self.add(to, remote);
        }
    }

    fn add(&mut self, to: String, remote: bool) {
        if let Some(known) = self.connects.iter_mut().find(|known| known.to == to) {
            known.count += 1;
        } else if self.connects.len() < MOST {
            self.connects.push(Connect { to, remote, count: 1 });
        }
    }

    pub(in super::super) fn into_connects(self) -> Vec<Connect> {
        self.connects
    }
}

/// A socket's address in words, and whether it lies on the network.
fn target(bytes: &[u8]) -> Option<(String, bool)> {
    let family = i32::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let port = || Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
    match family {
        libc::AF_INET => {
            let address: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
            Some(on_network(Ipv4Addr::from(address).into(), port()?))
        }
        libc::AF_INET6 => {
            let address: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            Some(on_network(Ipv6Addr::from(address).to_canonical(), port()?))
        }
        libc::AF_UNIX => {
            let name = bytes.get(2..).filter(|name| !name.is_empty())?;
            // A name that begins with a zero is no path but a word that the kernel keeps.
            let (mark, name) = if name.first() == Some(&0) { ("@", name.get(1..)?) } else { ("", name) };
            let name = name.split(|byte| *byte == 0).next()?;
            Some((format!("{mark}{}", OsStr::from_bytes(name).display()), false))
        }
        _ => None,
    }
}

fn on_network(address: IpAddr, port: u16) -> (String, bool) {
    (SocketAddr::new(address, port).to_string(), !address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(family: i32, rest: &[u8]) -> Option<(String, bool)> {
        target(&[&(family as u16).to_ne_bytes(), rest].concat())
    }

    #[test]
    fn addresses_are_told_as_people_write_them() {
        assert_eq!(of(libc::AF_INET, &[1, 187, 93, 184, 216, 34]), Some(("93.184.216.34:443".to_owned(), true)));
        assert_eq!(of(libc::AF_INET, &[0, 53, 127, 0, 0, 53]), Some(("127.0.0.53:53".to_owned(), false)));
        let mut six = vec![0, 80, 0, 0, 0, 0];
        six.extend(Ipv6Addr::LOCALHOST.octets());
        assert_eq!(of(libc::AF_INET6, &six), Some(("[::1]:80".to_owned(), false)));
        assert_eq!(of(libc::AF_UNIX, b"/run/docker.sock\0"), Some(("/run/docker.sock".to_owned(), false)));
        assert_eq!(of(libc::AF_UNIX, b"\0word"), Some(("@word".to_owned(), false)));
        assert_eq!(of(libc::AF_NETLINK, &[0; 10]), None);
        assert_eq!(of(libc::AF_INET, &[1]), None);
    }
}

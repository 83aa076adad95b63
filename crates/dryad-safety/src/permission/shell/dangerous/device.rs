//! Block devices and what is written over them.

use crate::permission::shell::{SimpleCommand, Word};

/// Names of devices that hold file systems or memory.
const DEVICES: [&str; 14] =
    ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "loop", "dm-", "mem", "kmem"];

/// Programs whose purpose is to overwrite or take apart a disk.
const PROGRAMS: [&str; 17] = [
    "shred",
    "cryptsetup",
    "wipefs",
    "fdisk",
    "sfdisk",
    "gdisk",
    "sgdisk",
    "parted",
    "mkswap",
    "blkdiscard",
    "hdparm",
    "lvremove",
    "vgremove",
    "pvremove",
    "mke2fs",
    "badblocks",
    "nwipe",
];

/// Whether a command writes to a block device.
pub(super) fn find(command: &SimpleCommand) -> Option<String> {
    let program = command.program()?;
    let words = command.arguments();
    let named = |name: &str| words.iter().any(|word| word.text == name);
    match program {
        "dd" => words.iter().find_map(|word| {
            let target = word.text.strip_prefix("of=")?;
            is_device(target).then(|| format!("dd writes to the device {target}"))
        }),
        "zpool" | "zfs" if named("destroy") => Some(format!("{program} destroys data")),
        "diskutil" if words.iter().any(|word| word.text.to_ascii_lowercase().starts_with("erase")) => {
            Some("erases a disk".to_owned())
        }
        _ if program.starts_with("mkfs") || program.starts_with("newfs") => Some("makes a file system".to_owned()),
        _ if PROGRAMS.contains(&program) => Some(format!("{program} overwrites data")),
        _ => None,
    }
}

/// Whether what is written is a device or a connection.
pub(super) fn written(word: &Word) -> Option<String> {
    let text = word.text.as_str();
    if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
        return Some(format!("opens a network connection: {text}"));
    }
    is_device(text).then(|| format!("writes to the device {text}"))
}

fn is_device(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| DEVICES.iter().any(|device| name.starts_with(device)))
}

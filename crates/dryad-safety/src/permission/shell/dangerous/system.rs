//! The machine itself: its power, its first process, its accounts, doors into it.

use crate::permission::shell::{Script, SimpleCommand, Word};

/// Programs that change accounts.
const ACCOUNTS: [&str; 14] = [
    "passwd", "chpasswd", "useradd", "adduser", "usermod", "userdel", "deluser", "groupadd", "groupdel", "groupmod",
    "visudo", "vipw", "chsh", "gpasswd",
];

pub(super) fn find(command: &SimpleCommand) -> Option<String> {
    let program = command.program()?;
    let words = command.arguments();
    let first = words.iter().find(|word| !word.is_option()).map_or("", |word| word.text.as_str());
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
    match program {
        "shutdown" | "reboot" | "halt" | "poweroff" => Some(format!("{program} stops the machine")),
        "init" | "telinit" if matches!(first, "0" | "6") => Some(format!("{program} {first} stops the machine")),
        "systemctl" if matches!(first, "poweroff" | "reboot" | "halt" | "kexec" | "rescue" | "emergency") => {
            Some(format!("systemctl {first} stops the machine"))
        }
        "kill" if kills_init(words) => Some("kills the first process or all processes".to_owned()),
        "pkill" | "killall" if has(&["init", "systemd"]) || program == "killall5" => {
            Some("kills the first process".to_owned())
        }
        "nc" | "ncat" | "netcat" => door(words).then(|| format!("{program} gives a connection a program")),
        "socat" => {
            let runs = words.iter().any(|word| {
                let upper = word.text.to_ascii_uppercase();
                upper.starts_with("EXEC:") || upper.starts_with("SYSTEM:")
            });
            runs.then(|| "socat gives a connection a program".to_owned())
        }
        "crontab" if !has(&["-l"]) => Some("crontab changes what runs by itself".to_owned()),
        "at" | "batch" if !has(&["-l"]) => Some(format!("{program} runs a program later")),
        "history" if has(&["-c"]) => Some("clears the history".to_owned()),
        "iptables" | "nft" if has(&["-F", "--flush", "flush"]) => Some("drops the firewall".to_owned()),
        "insmod" | "modprobe" | "rmmod" => Some(format!("{program} changes the kernel")),
        _ if ACCOUNTS.contains(&program) => Some(format!("{program} changes accounts")),
        _ => None,
    }
}

fn kills_init(words: &[Word]) -> bool {
    let targets: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let listing = targets.first() == Some(&"-l");
    !listing
        && (targets.iter().skip(1).any(|&target| target == "-1") || targets.contains(&"1"))
        && targets.len() > usize::from(targets.contains(&"1"))
}

/// `nc -e`, `nc -c`, `ncat --exec`, `ncat --sh-exec`.
fn door(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.text.as_str();
        match text.strip_prefix("--") {
            Some(long) => long.starts_with("exec") || long.starts_with("sh-exec") || long.starts_with("lua-exec"),
            None => word.is_option() && text.contains(['e', 'c']),
        }
    })
}

/// A function that calls itself twice, one in the background or in a pipe.
pub(super) fn fork_bomb(script: &Script) -> Option<String> {
    let bomb = script.functions.iter().any(|(name, body)| {
        let commands = script.commands.get(body.clone()).unwrap_or_default();
        let calls = commands.iter().filter(|command| command.program() == Some(name));
        calls.count() >= 2
    });
    bomb.then(|| "a function that multiplies itself".to_owned())
}

//! Paths whose writing changes how the system, the shell or git behaves.
//!
//! The list does not try to name every secret file.

use std::path::Path;

/// Files and directories of the system, with what they are.
const SYSTEM: [(&str, &str); 31] = [
    ("/etc/passwd", "a file of accounts"),
    ("/etc/shadow", "a file of accounts"),
    ("/etc/group", "a file of accounts"),
    ("/etc/gshadow", "a file of accounts"),
    ("/etc/sudoers", "the rules of sudo"),
    ("/etc/sudoers.d", "the rules of sudo"),
    ("/etc/doas.conf", "the rules of doas"),
    ("/etc/crontab", "a schedule"),
    ("/etc/cron.d", "a schedule"),
    ("/etc/cron.hourly", "a schedule"),
    ("/etc/cron.daily", "a schedule"),
    ("/etc/cron.weekly", "a schedule"),
    ("/etc/cron.monthly", "a schedule"),
    ("/etc/anacrontab", "a schedule"),
    ("/var/spool/cron", "a schedule"),
    ("/etc/systemd", "a unit of systemd"),
    ("/lib/systemd", "a unit of systemd"),
    ("/usr/lib/systemd", "a unit of systemd"),
    ("/etc/init.d", "a start-up script"),
    ("/etc/rc.local", "a start-up script"),
    ("/etc/profile", "a start-up file of the shell"),
    ("/etc/profile.d", "a start-up file of the shell"),
    ("/etc/bash.bashrc", "a start-up file of the shell"),
    ("/etc/zsh", "a start-up file of the shell"),
    ("/etc/environment", "the environment of every login"),
    ("/etc/ld.so.preload", "the loader's settings"),
    ("/etc/ld.so.conf.d", "the loader's settings"),
    ("/etc/pam.d", "the rules of logging in"),
    ("/etc/ssh", "the settings of ssh"),
    ("/etc/gitconfig", "the settings of git"),
    ("/etc/hosts", "the names of hosts"),
];

/// Files in the home directory that shells and git read.
const IN_HOME: [(&str, &str); 24] = [
    (".bashrc", "a start-up file of the shell"),
    (".bash_profile", "a start-up file of the shell"),
    (".bash_login", "a start-up file of the shell"),
    (".bash_logout", "a start-up file of the shell"),
    (".bash_aliases", "a start-up file of the shell"),
    (".profile", "a start-up file of the shell"),
    (".zshrc", "a start-up file of the shell"),
    (".zshenv", "a start-up file of the shell"),
    (".zprofile", "a start-up file of the shell"),
    (".zlogin", "a start-up file of the shell"),
    (".kshrc", "a start-up file of the shell"),
    (".cshrc", "a start-up file of the shell"),
    (".tcshrc", "a start-up file of the shell"),
    (".config/fish", "a start-up file of the shell"),
    (".gitconfig", "the settings of git"),
    (".config/git", "the settings of git"),
    (".ssh", "the directory of ssh"),
    (".config/systemd", "a unit of systemd"),
    (".config/autostart", "a program that starts by itself"),
    (".config/environment.d", "the environment of every login"),
    (".pam_environment", "the environment of every login"),
    (".xprofile", "a start-up script"),
    (".xsessionrc", "a start-up script"),
    ("Library/LaunchAgents", "a program that starts by itself"),
];

/// What a path is whose writing is dangerous.
pub(in crate::permission) fn dangerous_path(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    let named = SYSTEM.iter().find(|(place, _)| path.starts_with(place)).map(|(_, kind)| *kind);
    named.or_else(|| in_home(path, home)).or_else(|| in_repository(path))
}

fn in_home(path: &Path, home: Option<&Path>) -> Option<&'static str> {
    let find = |rest: &Path| IN_HOME.iter().find(|(place, _)| rest.starts_with(place)).map(|(_, kind)| *kind);
    if let Some(kind) = home.and_then(|home| path.strip_prefix(home).ok()).and_then(find) {
        return Some(kind);
    }
    // Other people's homes, and the own one when it is not known.
    let mut parts = path.components();
    let second = path.components().nth(1)?.as_os_str();
    let depth = if second == "root" { 2 } else { 3 };
    let is_home = second == "root" || second == "home" || second == "Users";
    let rest = (0..depth).try_for_each(|_| parts.next().map(drop)).map(|()| parts.as_path());
    rest.filter(|_| is_home).and_then(find)
}

/// What git runs or reads: hooks, the configuration.
fn in_repository(path: &Path) -> Option<&'static str> {
    let mut parts = path.components().map(|part| part.as_os_str()).skip_while(|part| *part != ".git").skip(1);
    let (first, second) = (parts.next()?, parts.next());
    match first.to_str()? {
        "hooks" => Some("the hooks of git"),
        "config" | "config.worktree" if second.is_none() => Some("the settings of git"),
        "modules" => path.components().any(|part| part.as_os_str() == "hooks").then_some("the hooks of git"),
        _ => None,
    }
}

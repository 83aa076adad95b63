//! What a rehearsed command cannot do, however hard it tries.

use super::place::{Place, attempts, is_root};
use dryad_effects::rehearse::{Limit, Network, RehearsalError, RehearsalRequest, Rung};
use dryad_protocol::command::CommandEnd;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_command_that_fills_the_disk_is_ended_with_a_clear_error() {
    let place = Place::new();
    let request = RehearsalRequest { quota: 32 << 20, ..place.request("cat /dev/zero > big; echo survived") };
    let error = place.start(&request).await.unwrap_err();
    let RehearsalError::Quota { held, limit, outcome } = error else { panic!("{error}") };
    assert!(held >= limit - limit / 64 && limit == 32 << 20, "{held}");
    assert!(!outcome.output.text.contains("survived"), "{}", outcome.output.text);
    assert!(place.state_is_empty());
    assert!(!place.at("big").exists());
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_goes() {
    let place = Place::new();
    let mut request = place.request("f() { f | f & }; f; sleep 600");
    request.processes = 400;
    request.command.timeout_seconds = 1;
    let begun = Instant::now();
    let rehearsed = place.start(&request).await.unwrap();
    assert_eq!(rehearsed.outcome.end, CommandEnd::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn without_a_network_there_is_only_an_own_loopback() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached; (exec 3<>/dev/tcp/192.0.2.1/9) 2>/dev/null && echo reached; tail -n +2 /proc/net/route | wc -l"
    );
    let request = RehearsalRequest { network: Network::None, ..place.request(&command) };
    let rehearsed = place.start(&request).await.unwrap();
    assert_eq!(rehearsed.outcome.output.text, "0\n", "nothing was reached, and there are no routes");
    let own = format!("127.0.0.1:{port}");
    assert_eq!(attempts(&rehearsed), [(own.as_str(), false, 1), ("192.0.2.1:9", true, 1)]);
}

#[tokio::test]
async fn with_a_network_what_it_connects_to_is_told() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let listen = std::thread::spawn(move || {
        let mut text = String::new();
        listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
        text
    });
    let rehearsed = place.rehearse(&format!("echo hello > /dev/tcp/127.0.0.1/{port}")).await;
    assert_eq!(listen.join().unwrap(), "hello\n");
    assert_eq!(attempts(&rehearsed), [(format!("127.0.0.1:{port}").as_str(), false, 1)]);
}

#[tokio::test]
async fn sockets_in_a_layered_tree_answer_nobody() {
    let place = Place::new();
    let _listener = UnixListener::bind(place.at("socket")).unwrap();
    let command =
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un(q(socket))); print $!'";
    let rehearsed = place.rehearse(command).await;
    assert_eq!(rehearsed.outcome.output.text, "Connection refused");
    assert_eq!(attempts(&rehearsed), [("socket", false, 1)]);
}

#[tokio::test]
async fn asking_for_the_name_of_a_user_is_no_connection() {
    let place = Place::new();
    let rehearsed = place.rehearse("unset SHELL; bash -c 'echo ~nobody > name'; getent passwd root > /dev/null").await;
    assert_eq!(rehearsed.changes.len(), 1);
    assert_eq!((attempts(&rehearsed), rehearsed.limits.len()), (vec![], 0));
}

#[tokio::test]
async fn the_machine_cannot_be_changed_from_inside() {
    let place = Place::new();
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let command = "echo other > /proc/sys/kernel/hostname && echo wrote; echo 1 > /proc/sys/vm/drop_caches && echo wrote; \
                   rm -f /dev/null /dev/zero; echo h > /proc/sysrq-trigger && echo wrote; mount -t tmpfs none /mnt && echo mounted; \
                   umount /proc && echo unmounted; umount -l . && echo unmounted; mknod device c 1 3 && echo made; \
                   touch /etc/dryad-test /usr/dryad-test /sys/dryad-test && echo wrote; kill -9 -1; true";
    let rehearsed = place.rehearse(command).await;
    let text = &rehearsed.outcome.output.text;
    for word in ["wrote", "mounted", "unmounted", "made"] {
        assert!(!text.lines().any(|line| line == word), "{text}");
    }
    assert_eq!(fs::read_to_string("/proc/sys/kernel/hostname").unwrap(), name);
    assert!(fs::metadata("/dev/null").is_ok() && fs::metadata("/dev/zero").is_ok());
    assert!(!std::path::Path::new("/etc/dryad-test").exists());
}

#[tokio::test]
async fn others_processes_are_not_seen() {
    let place = Place::new();
    let outside = std::process::id();
    let rehearsed = place
        .rehearse(&format!("echo $$; kill -0 {outside} 2>/dev/null && echo seen; ls -d /proc/[0-9]* | wc -l"))
        .await;
    let text = &rehearsed.outcome.output.text;
    let lines: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert!(lines.len() == 2 && lines[0] < 20 && lines[1] < 6, "{text}");
}

#[tokio::test]
async fn an_ordinary_user_stays_one_and_root_keeps_what_files_need() {
    let place = Place::new();
    let rehearsed = place
        .rehearse("grep CapEff /proc/self/status | cut -f2; touch f; chown 12345:12345 f && echo given; stat -c %u f")
        .await;
    let text = &rehearsed.outcome.output.text;
    if is_root() {
        assert!(text.contains("given\n12345\n"), "{text}");
    } else {
        assert!(text.starts_with("0000000000000000\n") && !text.contains("given"), "{text}");
    }
}

#[tokio::test]
async fn what_belongs_to_another_group_is_told() {
    let place = Place::new();
    let rehearsed = place.rehearse("true").await;
    assert_eq!(rehearsed.limits, [], "everything is one's own");
    if is_root() {
        std::os::unix::fs::chown(place.at(""), None, Some(12345)).unwrap();
        fs::write(place.at("file"), "one").unwrap();
        std::os::unix::fs::chown(place.at("file"), Some(12345), Some(12345)).unwrap();
        let rehearsed = place.rehearse("echo two >> file; stat -c %u:%g file").await;
        assert_eq!(rehearsed.outcome.output.text, "12345:12345\n");
        assert_eq!((rehearsed.limits.len(), rehearsed.changes.len()), (0, 1), "for root it makes no difference");
    } else {
        let shared = std::path::Path::new("/usr/share");
        let request = RehearsalRequest { roots: vec![shared.to_owned()], ..place.request("true") };
        let rehearsed = place.start(&request).await.unwrap();
        assert_eq!(rehearsed.limits, [Limit::Foreign(shared.to_owned())]);
    }
}

/// The first process inside has descriptors of the layers, and those lie in the real tree.
#[tokio::test]
async fn the_first_process_inside_gives_nothing_away() {
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        fs::write(place.at("victim"), "precious\n").unwrap();
        fs::write(place.root().join("outside"), "precious\n").unwrap();
        let real = place.root().display().to_string();
        let up = "/..".repeat(24);
        let attach = "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); \
                      r = c.ptrace(16, 1, 0, 0); print(os.strerror(ctypes.get_errno()) if r else \"attached\")'";
        let take = "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); p = c.syscall(434, 1, 0); \
                    print([n for n in range(64) if c.syscall(438, p, n, 0) >= 0])'";
        let command = format!(
            "for n in /proc/1/fd/* /proc/1/cwd /proc/1/root; do for f in {real}/work/victim {real}/outside; do \
             echo owned 2>/dev/null > $n{up}$f; done; ls $n/ 2>/dev/null; done; \
             cat /proc/1/environ /proc/1/maps 2>/dev/null; echo; {attach}; {take}; true"
        );
        let request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(&command) };
        let rehearsed = place.start(&request).await.unwrap();
        for file in [place.at("victim"), place.root().join("outside")] {
            assert_eq!(fs::read_to_string(file).unwrap(), "precious\n", "{rung}");
        }
        assert_eq!(rehearsed.outcome.output.text.trim(), "Operation not permitted\n[]", "{rung}");
    }
}

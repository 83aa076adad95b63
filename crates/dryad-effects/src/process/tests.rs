//! Real shells, real children, real signals.

use super::*;
use dryad_protocol::path::FilePath;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use tempfile::TempDir;

struct Place {
    directory: TempDir,
    surroundings: Surroundings,
    cancel: CancellationToken,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(directory.path().join("artifacts"));
        let surroundings = Surroundings { mask: Mask::new(["sk-secret-1234".to_owned()]), artifacts };
        Self { directory, surroundings, cancel: CancellationToken::new() }
    }

    fn spec(&self, command: &str, timeout_seconds: u64) -> CommandSpec {
        CommandSpec {
            command: command.to_owned(),
            cwd: FilePath::new(self.directory.path()),
            env: BTreeMap::new(),
            shell: "/bin/sh".to_owned(),
            timeout_seconds,
        }
    }

    async fn run(&self, command: &str) -> CommandOutcome {
        self.run_for(command, 60).await
    }

    async fn run_for(&self, command: &str, timeout_seconds: u64) -> CommandOutcome {
        run(&self.spec(command, timeout_seconds), &self.surroundings, &self.cancel, &|_| {}).await.unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    /// Waits until a command has written process ids into a file, one per line.
    async fn ids(&self, name: &str, count: usize) -> Vec<i32> {
        let path = self.path(name);
        eventually(move || {
            let text = fs::read_to_string(&path).ok()?;
            let ids: Vec<i32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
            (text.ends_with('\n') && ids.len() == count).then_some(ids)
        })
        .await
    }

    fn artifact(&self, outcome: &CommandOutcome) -> Vec<u8> {
        fs::read(self.surroundings.artifacts.find(outcome.output.full_output.unwrap()).unwrap()).unwrap()
    }
}

async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never happened");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether the process runs; the unburied dead do not.
fn lives(id: i32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

async fn all_gone(ids: &[i32]) {
    eventually(|| ids.iter().all(|&id| !lives(id)).then_some(())).await;
}

fn kill(id: i32) {
    rustix::process::kill_process(rustix::process::Pid::from_raw(id).unwrap(), rustix::process::Signal::KILL).ok();
}

#[tokio::test]
async fn output_and_errors_arrive_in_order_and_exit_codes_are_told() {
    let place = Place::new();
    let outcome = place.run("echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(outcome.end, CommandEnd::Exited { code: 3 });
    assert_eq!(outcome.output.text, "one\ntwo\nthree\n");
    assert_eq!((outcome.output.total_bytes, outcome.output.total_lines), (14, 3));
    assert_eq!(place.run("true").await.end, CommandEnd::Exited { code: 0 });
    assert_eq!(place.run("kill -KILL $$").await.end, CommandEnd::Exited { code: 137 });
    assert_eq!(place.run("no-such-program-here").await.end, CommandEnd::Exited { code: 127 });
}

#[tokio::test]
async fn standard_input_is_empty_and_the_environment_and_directory_are_as_given() {
    let place = Place::new();
    let mut spec = place.spec("cat; echo \"$GREETING\"; pwd -P", 60);
    spec.env.insert("GREETING".to_owned(), "hello $HOME".to_owned());
    let outcome = run(&spec, &place.surroundings, &place.cancel, &|_| {}).await.unwrap();
    let directory = place.directory.path().canonicalize().unwrap();
    assert_eq!(outcome.output.text, format!("hello $HOME\n{}\n", directory.display()));
}

#[tokio::test]
async fn a_missing_directory_a_file_and_a_missing_shell_are_told_apart() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    let failure = async |cwd: &str, shell: &str| {
        let cwd = FilePath::new(place.path(cwd));
        let spec = CommandSpec { cwd, shell: shell.to_owned(), ..place.spec("true", 60) };
        run(&spec, &place.surroundings, &place.cancel, &|_| {}).await.unwrap_err().to_string()
    };
    let shown = |name: &str| place.path(name).display().to_string();
    assert_eq!(failure("nowhere", "/bin/sh").await, format!("Working directory does not exist: {}", shown("nowhere")));
    assert_eq!(failure("file", "/bin/sh").await, format!("Working directory is not a directory: {}", shown("file")));
    assert!(failure("", "/no/such/shell").await.starts_with("cannot start /no/such/shell: "));
}

#[tokio::test]
async fn running_out_of_time_ends_the_whole_group() {
    let place = Place::new();
    let command = "sh -c 'sleep 600 & echo $! >> ids; wait' & echo $! >> ids; echo $$ >> ids; echo started; wait";
    let outcome = place.run_for(command, 1).await;
    assert_eq!((outcome.end, outcome.output.text.as_str()), (CommandEnd::TimedOut, "started\n"));
    assert!(outcome.duration_ms >= 1000, "{} ms", outcome.duration_ms);
    let ids = place.ids("ids", 3).await;
    assert!(ids.iter().all(|&id| !lives(id)), "{ids:?}");
}

#[tokio::test]
async fn cancelling_keeps_what_was_printed_and_the_last_words() {
    let place = Place::new();
    // A child that has not become `sleep` yet would still hear the request as the shell that it was; and it may hear
    // it before the shell does.
    let command = "trap 'echo bye; exit 0' TERM; echo hello; sleep 600 & \
                   until grep -q sleep /proc/$!/comm; do :; done; echo $$ > ids; while :; do wait; done";
    let cancel = async {
        place.ids("ids", 1).await;
        place.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(place.run(command), cancel);
    assert_eq!((outcome.end, outcome.output.text.as_str()), (CommandEnd::Cancelled, "hello\nbye\n"));
    assert!(outcome.duration_ms < 2000, "it went by itself, yet it took {} ms", outcome.duration_ms);
}

#[tokio::test]
async fn whoever_ignores_the_request_is_killed_after_the_grace() {
    let place = Place::new();
    // The leader goes at once; the straggler has to be killed. It redirects its output, so that the
    // pipe tells nothing about it.
    let command = "sh -c 'trap \"\" TERM; echo $$ > ids; while :; do sleep 0.01; done' > /dev/null 2>&1 & wait";
    let cancel = async {
        place.ids("ids", 1).await;
        place.cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled_at) = tokio::join!(place.run(command), cancel);
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    assert!(cancelled_at.elapsed() >= Duration::from_secs(2));
    assert!(place.ids("ids", 1).await.iter().all(|&id| !lives(id)));
}

#[tokio::test]
async fn a_stopped_process_hears_the_request() {
    let place = Place::new();
    let cancel = async {
        let ids = place.ids("ids", 1).await;
        let stat = || fs::read_to_string(format!("/proc/{}/stat", ids[0])).unwrap_or_default();
        eventually(|| stat().contains(") T ").then_some(())).await;
        place.cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled_at) = tokio::join!(place.run("echo $$ > ids; kill -STOP $$; sleep 600"), cancel);
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    assert!(cancelled_at.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_run_that_is_cancelled_beforehand_starts_nothing() {
    let place = Place::new();
    place.cancel.cancel();
    let outcome = place.run("touch started").await;
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    assert!(!place.path("started").exists());
}

#[tokio::test]
async fn an_endless_stream_shows_updates_and_hears_cancelling() {
    let place = Place::new();
    let updates = Mutex::new(Vec::new());
    let on_update = |text: String| {
        let mut updates = updates.lock().unwrap();
        updates.push((Instant::now(), text.len()));
        if updates.len() == 4 {
            place.cancel.cancel();
        }
    };
    let outcome = run(&place.spec("yes", 60), &place.surroundings, &place.cancel, &on_update).await.unwrap();
    assert_eq!(outcome.end, CommandEnd::Cancelled);
    let updates = updates.into_inner().unwrap();
    assert_eq!(updates[0].1, 0, "the first update is empty");
    for pair in updates.windows(2).skip(1) {
        assert!(pair[1].0 - pair[0].0 >= UPDATE_INTERVAL && pair[1].1 > 0, "{updates:?}");
    }
}

#[tokio::test]
async fn an_endless_stream_runs_out_of_time() {
    let place = Place::new();
    let outcome = place.run_for("yes", 1).await;
    assert_eq!(outcome.end, CommandEnd::TimedOut);
    assert!(outcome.duration_ms < 10_000, "{} ms", outcome.duration_ms);
}

#[tokio::test]
async fn a_background_child_holds_nobody_up_and_lives_on() {
    let place = Place::new();
    let outcome = place.run("sleep 600 & echo $! > ids; echo started").await;
    assert_eq!((outcome.end, outcome.output.text.as_str()), (CommandEnd::Exited { code: 0 }, "started\n"));
    assert!(outcome.duration_ms < 5000, "{} ms", outcome.duration_ms);
    let ids = place.ids("ids", 1).await;
    assert!(lives(ids[0]));
    kill(ids[0]);
}

#[tokio::test]
async fn a_background_child_may_go_on_printing() {
    let place = Place::new();
    let endless = place.run("yes & echo $! > ids").await;
    assert_eq!(endless.end, CommandEnd::Exited { code: 0 });
    assert!(endless.duration_ms < 5000, "{} ms", endless.duration_ms);
    kill(place.ids("ids", 1).await[0]);
    // More than the pipe holds: it comes to its end only while somebody reads.
    let command = "(while [ ! -e go ]; do sleep 0.01; done; yes | head -c 1000000; echo 1 > done) & echo left";
    assert_eq!(place.run(command).await.output.text, "left\n");
    fs::write(place.path("go"), "").unwrap();
    place.ids("done", 1).await;
}

#[tokio::test]
async fn dropping_the_future_kills_the_group() {
    let place = Place::new();
    let spec = place.spec("sleep 600 & echo $! >> ids; echo $$ >> ids; trap '' TERM; wait", 60);
    let ids = {
        let mut running = std::pin::pin!(run(&spec, &place.surroundings, &place.cancel, &|_| {}));
        tokio::select! {
            _ = &mut running => unreachable!("it does not end by itself"),
            ids = place.ids("ids", 2) => ids,
        }
    };
    all_gone(&ids).await;
}

#[tokio::test]
async fn six_hundred_kibibytes_are_two_halves_and_a_whole_artifact() {
    let place = Place::new();
    let outcome = place.run("seq 1 110000 | head -c 614400").await;
    let all: String = (1..=110_000).map(|number| format!("{number}\n")).collect();
    let all = all.get(..614_400).unwrap();
    let kept = outcome.output.truncated.unwrap();
    let (head, tail) = (usize::try_from(kept.head_bytes).unwrap(), usize::try_from(kept.tail_bytes).unwrap());
    assert!((output::HALF - 8..=output::HALF).contains(&head) && (output::HALF - 8..=output::HALF).contains(&tail));
    let (first, last) = (all.get(..head).unwrap(), all.get(all.len() - tail..).unwrap());
    assert_eq!(outcome.output.text, format!("{first}\n[... {} bytes truncated ...]\n{last}", 614_400 - head - tail));
    assert_eq!(place.artifact(&outcome), all.as_bytes());
}

#[tokio::test]
async fn the_cap_itself_is_not_cut() {
    let outcome = Place::new().run("yes | head -c 524288").await;
    assert_eq!(
        (outcome.output.text.len(), outcome.output.truncated, outcome.output.full_output),
        (524_288, None, None)
    );
}

#[tokio::test]
async fn a_huge_output_needs_little_memory() {
    let place = Place::new();
    let before = peak_kibibytes();
    let outcome = place.run("yes 'one line among very many' | head -c 200000000").await;
    let grown = peak_kibibytes() - before;
    assert_eq!(outcome.output.total_bytes, 200_000_000);
    assert!(outcome.output.text.len() < 2 * output::HALF + 100);
    assert!(grown < 32 * 1024, "{grown} KiB");
    let artifact = place.surroundings.artifacts.find(outcome.output.full_output.unwrap()).unwrap();
    assert_eq!(fs::metadata(artifact).unwrap().len(), 200_000_000);
}

fn peak_kibibytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test]
async fn bytes_that_are_no_text_are_replaced() {
    let outcome = Place::new().run("printf 'a\\377b\\n\\303\\244\\303'").await;
    assert_eq!(outcome.output.text, "a\u{fffd}b\nä\u{fffd}");
}

#[tokio::test]
async fn a_secret_printed_in_pieces_is_covered() {
    let place = Place::new();
    let updates = Mutex::new(Vec::new());
    let on_update = |text: String| updates.lock().unwrap().push(text);
    // Each half is written only when the update with what came before it has been shown.
    let command = "printf 'key sk-sec'; while [ ! -e go ]; do sleep 0.01; done; printf 'ret-1234 end'";
    let spec = place.spec(command, 60);
    let go = async {
        eventually(|| updates.lock().unwrap().iter().any(|text| text == "key ").then_some(())).await;
        fs::write(place.path("go"), "").unwrap();
    };
    let (outcome, ()) = tokio::join!(run(&spec, &place.surroundings, &place.cancel, &on_update), go);
    assert_eq!(outcome.unwrap().output.text, "key [secret] end");
}

#[tokio::test]
async fn the_end_of_the_program_kills_what_still_runs() {
    let place = Place::new();
    let command = "trap '' TERM; echo $$ > ids; while :; do sleep 0.01; done";
    let outcome = {
        let mut running = std::pin::pin!(place.run(command));
        tokio::select! {
            _ = &mut running => unreachable!("it does not end by itself"),
            ids = place.ids("ids", 1) => group::kill_listed(&ids),
        }
        running.await
    };
    assert_eq!(outcome.end, CommandEnd::Exited { code: 137 });
}

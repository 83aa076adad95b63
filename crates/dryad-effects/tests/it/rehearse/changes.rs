//! What commands do to a tree: rehearsed and applied must equal run directly, and undone must equal the original.

use super::place::{Place, Print, difference, is_root, print_of, times_of};
use dryad_effects::rehearse::{RehearsalRequest, Rehearsed, Rung, Uncarried};
use std::fs;
use std::path::Path;
use std::process::Command;

/// One of everything.
pub(crate) const FIXTURE: &str = "echo alpha > a.txt; echo beta > b.txt; mkdir -p dir/sub/deep empty tree/one tree/two; \
    for n in 1 2 3; do echo $n > dir/sub/$n; echo $n > tree/one/$n; done; echo deep > dir/sub/deep/file; \
    ln -s a.txt link; ln -s dir linkdir; ln -s nowhere dangling; echo '#!/bin/sh' > run.sh; chmod 755 run.sh; \
    echo locked > readonly; chmod 444 readonly; printf 'no newline' > bare; head -c 70000 /dev/zero > zeros; \
    touch -d '2001-02-03 04:05:06.789' old";

/// New files that nobody may read, not even to make them durable, cannot be staged by an ordinary user.
pub(crate) const CLOSED: &str = "mkdir closed; echo in > closed/in; chmod 000 closed/in; chmod 500 closed";

/// What nobody may read cannot be proven by an ordinary user.
pub(crate) const UNREADABLE: &str = "chmod 000 a.txt";

pub(crate) const CASES: [&str; 70] = [
    "true",
    "echo new > new",
    "echo changed > a.txt",
    "echo more >> a.txt",
    ": > a.txt",
    "rm a.txt",
    "rm -rf dir",
    "rm -rf dir; mkdir dir",
    "rm -rf dir; mkdir dir; echo other > dir/other; echo 9 > dir/sub",
    "rm -rf dir; mkdir -p dir/sub/deep",
    "rm -rf dir; mkdir -p dir/sub/deep; echo 9 > dir/sub/1; echo deeper > dir/sub/deep/other",
    "rm -rf dir; mkdir -p dir/sub; rm -rf dir; mkdir -p dir/sub/deep/er; touch dir/sub/deep/er/new",
    "rm -rf ./*",
    "mv a.txt c.txt",
    "mv a.txt b.txt",
    "mv dir moved",
    "mv dir/sub sub2; mv sub2 dir/sub3",
    "mv dir tree/dir; echo x >> tree/dir/sub/1",
    "mv dir empty/",
    "mv tree tmp; mv dir tree; mv tmp dir",
    "mkdir -p x/sub/deep; echo x > x/sub/deep/x; mv dir tmp; mv x dir; mv tmp x",
    "perl -e 'rename(qw(dir), qw(renamed)) or exit 5'",
    "perl -e 'rename(qw(dir), qw(empty)) or exit 5'",
    "perl -e 'rename(qw(dir), qw(tree)) or exit 5' 2>/dev/null; echo $?",
    "perl -e 'rename(qw(dir), qw(a.txt)) or exit 5' 2>/dev/null; echo $?",
    "perl -e 'rename(qw(dir), qw(dir/sub/inner)) or exit 5' 2>/dev/null; echo $?",
    "mv dir/sub/deep .; rmdir dir/sub 2>/dev/null; mv deep dir/",
    "mv -T --exchange dir tree 2>/dev/null || true",
    "rm a.txt; mkdir a.txt; echo in > a.txt/in",
    "rm -rf dir; echo file > dir",
    "rm link; echo file > link",
    "rm link; mkdir link",
    "rm a.txt; ln -s b.txt a.txt",
    "rm -rf dir; ln -s tree dir",
    "rm linkdir; mkdir linkdir; touch linkdir/x",
    "ln -sfn b.txt link",
    "ln -sfn tree linkdir; echo through > linkdir/through",
    "echo through >> link",
    "echo through > linkdir/sub/new",
    "ln -s x newlink; ln -s /etc/passwd abs; echo y > dangling; rm nowhere",
    "chmod 600 a.txt; chmod 700 dir; chmod +x b.txt",
    UNREADABLE,
    "chmod 000 dir/sub; true",
    CLOSED,
    "chmod 4755 run.sh; chmod 1777 empty; chmod 2755 tree",
    "chmod 755 .; touch x",
    "touch a.txt",
    "touch -d '2000-01-01 00:00:00.5' a.txt",
    "cat a.txt > /dev/null; : >> a.txt; chmod 644 a.txt",
    "echo x > 'a name with  blanks'; echo y > $'new\\nline'; echo z > $'\\xff\\xfe'; echo q > '\"quoted\"'; mkdir -- -dash; touch -- '*'",
    "sed -i s/alpha/omega/ a.txt; sed -i '/2/d' dir/sub/*",
    "echo no > readonly 2>/dev/null; rm -f readonly",
    "cp -a dir copy; cp a.txt dir/sub/deep/",
    "cp -al tree linked; rm -r tree",
    "tar cf t.tar dir; rm -rf dir; tar xf t.tar; rm t.tar",
    "mkdir -p x/y/z; echo 1 > x/y/z/f; rmdir empty",
    "truncate -s 5 a.txt; truncate -s 100M sparse",
    "dd if=/dev/zero of=zeros bs=1 count=1 seek=100 conv=notrunc 2>/dev/null",
    "python3 -c 'import mmap; f = open(\"zeros\", \"r+b\"); m = mmap.mmap(f.fileno(), 0); m[7:9] = b\"ab\"; m.flush()'",
    "exec 3>> a.txt; rm a.txt; echo lost >&3; echo fresh > a.txt",
    "find dir -type f -delete; find . -name '*.txt' -exec rm {} +",
    "for i in $(seq 50); do mkdir d$i; echo $i > d$i/f; done; rm -r d1*",
    "mkdir d; cd d; rmdir ../d; touch x 2>/dev/null; true",
    "touch x; rm x; mkdir x; rmdir x",
    "mv a.txt x; mv b.txt a.txt; mv x b.txt",
    "install -D -m 640 a.txt deep/er/than/that",
    "split -b 10000 zeros part.; rm part.ab",
    "(umask 077; echo private > private; mkdir privates)",
    "rm -rf dir/sub; mkdir -p dir/sub/deep; echo again > dir/sub/deep/file",
    "echo 'exit 3' > run.sh; ./run.sh; echo $? > code",
];

pub(crate) fn shell(command: &str, directory: &Path) {
    assert!(Command::new("/bin/bash").args(["-c", command]).current_dir(directory).status().unwrap().success());
}

/// Cases that are rehearsed together, each in a tree of its own.
const TOGETHER: usize = 11;

#[tokio::test]
async fn rehearsed_and_applied_equals_run_directly_and_undone_equals_the_original() {
    let mut failures = Vec::new();
    let cases: Vec<&str> = CASES.into_iter().filter(|case| is_root() || ![CLOSED, UNREADABLE].contains(case)).collect();
    for cases in cases.chunks(TOGETHER) {
        let place = if is_root() { Place::new() } else { Place::quick() };
        let direct = place.root().join("direct");
        fs::create_dir(&direct).unwrap();
        let each = |number: usize, case: &str| format!("(cd {number}; {case}\n); echo {number} ends with $?\n");
        let command: String = cases.iter().enumerate().map(|(number, case)| each(number, case)).collect();
        let fixtures = format!("for n in $(seq 0 {TOGETHER}); do mkdir $n; (cd $n; {FIXTURE}); done");
        shell(&fixtures, &place.work());
        shell(&format!("cp -a '{}/.' .", place.work().display()), &direct);
        let (_, printed) = place.run_directly(&command, &direct);
        let (original, times) = (place.print(), times_of(&place.work()));
        let rehearsed = place.rehearse(&command).await;
        let said = unnumbered(&rehearsed.outcome.output.text);
        if said != unnumbered(&printed) {
            failures.push(format!("it prints\n{said}instead of\n{}", unnumbered(&printed)));
        }
        assert_eq!(place.print(), original, "the rehearsal changed the tree");
        assert!(rehearsed.changed_meanwhile.is_empty(), "{:?}", rehearsed.changed_meanwhile);
        place.apply(&rehearsed).unwrap();
        let (applied, wanted) = (place.print(), print_of(&direct));
        for (number, case) in cases.iter().enumerate() {
            let of = |print: &Print| -> Print {
                let below = print.iter().filter(|(path, _)| path.starts_with(number.to_string()));
                below.map(|(path, facts)| (path.clone(), *facts)).collect()
            };
            if of(&applied) != of(&wanted) {
                failures.push(format!("{case}: {}", difference(&of(&applied), &of(&wanted))));
            }
        }
        place.undo(&rehearsed).unwrap();
        assert!(place.print() == original, "undone: {}", difference(&place.print(), &original));
        assert_eq!(times_of(&place.work()), times, "undone");
        shell("chmod -R u+rwx .", &place.root());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Without the line numbers of error messages: a direct run has one line more.
pub(crate) fn unnumbered(text: &str) -> String {
    let words = |line: &str| {
        let words = line.split_inclusive(' ').collect::<Vec<_>>();
        let is_number = |word: &str| word.trim_end().strip_suffix(':').is_some_and(|word| word.parse::<u32>().is_ok());
        words.into_iter().filter(|word| !is_number(word)).collect::<String>()
    };
    text.lines().map(|line| words(line) + "\n").collect()
}

#[tokio::test]
async fn a_deleted_directory_lists_every_file_that_is_lost() {
    let place = Place::new();
    shell(FIXTURE, &place.work());
    let rehearsed = place.rehearse("rm -rf dir").await;
    let paths: Vec<String> = rehearsed
        .changes
        .iter()
        .map(|change| change.path.as_path().strip_prefix(place.work()).unwrap().display().to_string())
        .collect();
    let expected = ["dir", "dir/sub", "dir/sub/1", "dir/sub/2", "dir/sub/3", "dir/sub/deep", "dir/sub/deep/file"];
    assert_eq!(paths, expected);
    assert!(rehearsed.contents.is_empty());
}

#[tokio::test]
async fn modification_times_are_carried() {
    let place = Place::new();
    fs::write(place.at("file"), "x").unwrap();
    let rehearsed = place.rehearse("echo y > file; touch -d @1000000000.123456789 file; touch -d @999.5 new").await;
    place.apply(&rehearsed).unwrap();
    use std::os::unix::fs::MetadataExt as _;
    let time = |name: &str| fs::metadata(place.at(name)).map(|facts| (facts.mtime(), facts.mtime_nsec())).unwrap();
    assert_eq!((time("file"), time("new")), ((1_000_000_000, 123_456_789), (999, 500_000_000)));
}

/// What is said beside a change set, by the names in `root`.
pub(crate) fn said(rehearsed: &Rehearsed, root: &Path) -> Vec<(String, Uncarried)> {
    let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    rehearsed.not_carried.iter().map(|one| (name(one.path.as_path()), one.what)).collect()
}

#[tokio::test]
async fn what_a_change_set_cannot_say_is_said_beside_it() {
    let place = Place::new();
    shell("echo x > one; ln one two; echo y > plain; mkfifo pipe; mkdir d; mkfifo d/pipe", &place.work());
    let command = "echo more >> one; mkfifo new; ln plain second; rm pipe; setfattr -n user.note -v hi plain 2>/dev/null || \
                   python3 -c 'import os; os.setxattr(\"plain\", \"user.note\", b\"hi\")'; rm -r d";
    let rehearsed = place.rehearse(command).await;
    let expected = [
        ("d/pipe", Uncarried::SpecialFileDeleted),
        ("new", Uncarried::SpecialFile),
        ("one", Uncarried::HardLinkBroken),
        ("pipe", Uncarried::SpecialFileDeleted),
        ("plain", Uncarried::Attributes),
        ("second", Uncarried::HardLink),
    ];
    assert_eq!(said(&rehearsed, &place.work()), expected.map(|(name, what)| (name.to_owned(), what)));
}

#[tokio::test]
async fn applied_files_bear_no_trace_of_the_layer() {
    let place = Place::new();
    shell(FIXTURE, &place.work());
    let rehearsed = place.rehearse("echo more >> a.txt; chmod 444 b.txt; echo x >> readonly; mv dir moved").await;
    place.apply(&rehearsed).unwrap();
    let listed = place.run_directly(
        "python3 -c 'import os
for d, _, names in os.walk(\".\"):
    for n in names + [\".\"]:
        p = os.path.join(d, n)
        print(p, os.listxattr(p, follow_symlinks=False))'",
        &place.work(),
    );
    assert!(listed.1.contains("./a.txt []") && !listed.1.contains("overlay"), "{}", listed.1);
}

#[tokio::test]
async fn ten_thousand_changed_files_are_read_fast_and_in_little_memory() {
    let place = Place::quick();
    for directory in 0..100 {
        fs::create_dir_all(place.at(&format!("t/{directory}"))).unwrap();
        for file in 0..100 {
            fs::write(place.at(&format!("t/{directory}/{file}")), format!("{directory} {file}\n")).unwrap();
        }
    }
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let before = peak();
    let begun = std::time::Instant::now();
    let rehearsed =
        place.rehearse("perl -e 'for (glob(q(t/*/*))) { open(F, q(>>), $_) or die; print F 1; close F }'").await;
    let took = begun.elapsed();
    assert_eq!(rehearsed.changes.len(), 10_000);
    assert_eq!(rehearsed.contents.len(), 10_000);
    assert!(peak() - before < 40 * 1024, "{} KiB", peak() - before);
    let reading = took - std::time::Duration::from_millis(rehearsed.outcome.duration_ms);
    // Ten times what it takes on a machine with nothing else to do.
    assert!(reading < std::time::Duration::from_secs(4), "{reading:?}");
}

#[tokio::test]
async fn a_directory_stays_with_the_pipe_in_it_and_the_rest_is_applied() {
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        shell(
            "mkdir -p p/in d m f; mkfifo p/q p/in/q f/q m/q lone; echo 1 > p/x; echo 2 > p/in/y; echo 3 > d/z; echo 4 > m/w",
            &place.work(),
        );
        let before = print_of(&place.work().join("p"));
        let command = "rm -rf p d; mv m n; rm -r f; echo file > f; rm lone; echo file > lone; echo k > k";
        let request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(command) };
        let rehearsed = place.start(&request).await.unwrap();
        let expected = [
            ("f", Uncarried::Blocked),
            ("f/q", Uncarried::SpecialFileDeleted),
            ("lone", Uncarried::Blocked),
            ("m/q", Uncarried::SpecialFileDeleted),
            ("n/q", Uncarried::SpecialFile),
            ("p/in/q", Uncarried::SpecialFileDeleted),
            ("p/q", Uncarried::SpecialFileDeleted),
        ];
        assert_eq!(said(&rehearsed, &place.work()), expected.map(|(name, what)| (name.to_owned(), what)));
        place.apply(&rehearsed).unwrap();
        let left = place.run_directly("find . -mindepth 1 ! -path './.dryad*' | sort | xargs", &place.work());
        assert_eq!(left.1, "./f ./f/q ./k ./lone ./m ./m/q ./n ./n/w ./p ./p/in ./p/in/q ./p/q\n");
        place.undo(&rehearsed).unwrap();
        assert_eq!(print_of(&place.work().join("p")), before);
        assert!(place.at("d/z").exists() && place.at("m/w").exists() && !place.at("k").exists());
    }
}

#[tokio::test]
async fn a_file_that_is_written_to_keeps_its_owner_and_attributes() {
    use std::os::unix::fs::MetadataExt as _;
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        let place = Place::new();
        let mark = "python3 -c 'import os; os.setxattr(\"file\", \"user.note\", b\"hi\")'";
        shell(&format!("echo 1 > file; {mark}; chmod 640 file"), &place.work());
        if is_root() {
            std::os::unix::fs::chown(place.at("file"), Some(1234), Some(1235)).unwrap();
        }
        let facts = |name: &str| fs::metadata(place.at(name)).map(|facts| (facts.uid(), facts.gid(), facts.mode()));
        let before = facts("file").unwrap();
        let request = RehearsalRequest { highest: rung, lowest: rung, ..place.request("echo 2 >> file") };
        let rehearsed = place.start(&request).await.unwrap();
        place.apply(&rehearsed).unwrap();
        assert_eq!(fs::read_to_string(place.at("file")).unwrap(), "1\n2\n");
        assert_eq!(facts("file").unwrap(), before, "{rung}");
        let look = "python3 -c 'import os; print(os.listxattr(\"file\"), os.getxattr(\"file\", \"user.note\"))'";
        assert_eq!(place.run_directly(look, &place.work()).1, "['user.note'] b'hi'\n", "{rung}");
    }
}

#[tokio::test]
async fn owners_and_groups_come_along_whatever_has_them() {
    use std::os::unix::fs::MetadataExt as _;
    if !is_root() {
        return;
    }
    for rung in [Rung::Overlay, Rung::Tmpfs] {
        // Where the state lies on another mount a file cannot be moved, as in memory.
        for elsewhere in [None, Some(Place::within(Path::new("/dev/shm")))] {
            let place = Place::new();
            shell("echo 1 > old; chown 1234:1235 old", &place.work());
            let command = "echo 2 >> old; echo f > file; mkdir dir; echo in > dir/in; ln -s file link; ln -s dir dir/link; \
                           chown -h 1001:1002 file dir dir/in link dir/link; chmod 4750 file";
            let mut request = RehearsalRequest { highest: rung, lowest: rung, ..place.request(command) };
            if let Some(elsewhere) = &elsewhere {
                request.state = elsewhere.state();
            }
            let rehearsed = place.start(&request).await.unwrap();
            place.apply(&rehearsed).unwrap();
            let owner =
                |name: &str| fs::symlink_metadata(place.at(name)).map(|facts| (facts.uid(), facts.gid())).unwrap();
            assert_eq!(owner("old"), (1234, 1235), "{rung}");
            for name in ["file", "dir", "dir/in", "link", "dir/link"] {
                assert_eq!(owner(name), (1001, 1002), "{rung} {name} {}", elsewhere.is_some());
            }
            assert_eq!(fs::metadata(place.at("file")).unwrap().mode() & 0o7777, 0o4750);
        }
    }
}

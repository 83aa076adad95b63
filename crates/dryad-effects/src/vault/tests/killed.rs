//! A process killed in the middle of its work loses nothing.

use super::*;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

/// Tells the process started by the test where to work.
const PLACE: &str = "DRYAD_TEST_VAULT_PLACE";
const TEST: &str = "vault::tests::killed::every_content_is_in_its_slot_or_in_the_vault";
const ROUNDS: usize = 40;
/// Which content each slot holds: some are alone, some have company.
const SLOTS: [&str; 6] = ["alone", "pair", "pair", "three", "three", "three"];

fn slot(place: &Path, number: usize) -> PathBuf {
    place.join(format!("slot-{number}"))
}

/// Whether the whole content stands at its slot.
fn is_whole(place: &Path, number: usize) -> bool {
    fs::read(slot(place, number)).is_ok_and(|bytes| bytes == SLOTS[number].as_bytes())
}

/// Moves everything in and out until it is killed, with a byte on its output after each step.
fn work(place: &Path) -> ! {
    let vault = Vault::open(place.join("vault")).unwrap();
    let told = || io::stdout().write_all(b".").and_then(|()| io::stdout().flush()).unwrap();
    loop {
        for (number, content) in SLOTS.iter().enumerate() {
            vault.absorb(&slot(place, number), blob_id(content.as_bytes())).unwrap();
            told();
        }
        for (number, content) in SLOTS.iter().enumerate() {
            vault.take(blob_id(content.as_bytes()), &slot(place, number)).unwrap();
            told();
        }
    }
}

fn start(place: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", TEST, "--nocapture"]).env(PLACE, place);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Whatever was lost would be missing here.
fn nothing_is_lost(place: &Path, vault: &Vault) {
    for content in ["alone", "pair", "three"] {
        let slots = (0..SLOTS.len()).filter(|number| SLOTS[*number] == content);
        let (whole, wanted) = (slots.clone().filter(|number| is_whole(place, *number)).count(), slots.count());
        let references = vault.references(blob_id(content.as_bytes())).unwrap();
        assert!(whole + references >= wanted, "{content}: {whole} slots, {references} references");
        assert!(whole + references <= wanted + 1, "{content}: {whole} slots, {references} references");
    }
    assert!(vault.verify(&|_, _| ()).is_empty());
}

/// Brings every slot back, as the owner of the slots does after a crash.
fn recover(place: &Path, vault: &Vault) {
    for (number, content) in SLOTS.iter().enumerate() {
        if !is_whole(place, number) {
            fs::remove_file(slot(place, number)).ok();
            vault.take(blob_id(content.as_bytes()), &slot(place, number)).unwrap();
        }
    }
    vault.collect(&|_| false, 0, false).unwrap();
}

#[test]
fn every_content_is_in_its_slot_or_in_the_vault() {
    if let Some(place) = std::env::var_os(PLACE) {
        work(Path::new(&place));
    }
    let bench = Bench::new();
    let place = bench.directory.path();
    let vault = Vault::open(place.join("vault")).unwrap();
    for (number, content) in SLOTS.iter().enumerate() {
        fs::write(slot(place, number), content).unwrap();
    }
    for round in 0..ROUNDS {
        let mut child = start(place);
        // The first bytes are the harness's own; the kill falls into the step after the last one read.
        let mut told = vec![0; 40 + round * 7];
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut told).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        nothing_is_lost(place, &vault);
        recover(place, &vault);
    }
}

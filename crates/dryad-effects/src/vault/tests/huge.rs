//! A file that is larger than what may be held in memory.

use super::*;
use std::os::unix::fs::FileExt as _;

const SIZE: u64 = 300 * 1024 * 1024;
/// What the whole test may add to the memory of the process.
const MEMORY: u64 = 32 * 1024 * 1024;

/// The most memory that the process ever had, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn a_huge_sparse_file_is_streamed_and_stays_sparse() {
    let bench = Bench::new();
    let slot = bench.path("slot");
    let file = File::create(&slot).unwrap();
    file.set_len(SIZE).unwrap();
    file.write_all_at(b"in the middle", SIZE / 2).unwrap();
    drop(file);
    let before = peak_memory();
    let id = super::stream::hash_of(&File::open(&slot).unwrap()).unwrap();
    bench.vault.put_file(&slot, id).unwrap();
    bench.vault.absorb(&slot, id).unwrap();
    let (copy, moved) = (bench.path("copy"), bench.path("moved"));
    assert_eq!(bench.vault.take(id, &copy).unwrap(), Taken::Copied);
    assert_eq!(bench.vault.copy_to(id, &mut io::sink()).unwrap(), SIZE);
    assert_eq!(bench.vault.take(id, &moved).unwrap(), Taken::Moved);
    for path in [copy, moved] {
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.size(), SIZE);
        assert!(metadata.blocks() * 512 < SIZE / 100, "{} blocks", metadata.blocks());
        let mut middle = [0; 13];
        File::open(&path).unwrap().read_exact_at(&mut middle, SIZE / 2).unwrap();
        assert_eq!(&middle, b"in the middle");
    }
    let grown = peak_memory() - before;
    assert!(grown < MEMORY, "{grown} bytes more");
}

//! Any text is read as shell commands: nothing may panic, and what only reads stays so only without company.
#![no_main]

use dryad_safety::permission::shell;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let script = shell::parse(text);
    shell::is_read_only(&script);
    assert!(!shell::is_read_only(&shell::parse(&format!("evil\n{text}"))));
});

//! How the program is linked: at a fixed address, and with what unwinds its stack in it, where that is safe to ask for.
//!
//! Half a megabyte of the program is tables of pointers: the tables of two dozen grammars and of
//! everything that is called through a trait. A program that may lie anywhere has every one of those
//! pages written when it starts, before its first instruction; that was a fifth of the time in which
//! a host gets its first answer, and of every rehearsed command, whose helper is this program again.
//! Stack, heap and libraries still lie where the system puts them. A library more to be found and mapped costs a tenth of
//! a millisecond at every start as well, so the compiler's own comes as an archive. Development builds stay as the
//! compiler makes them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, wanted: &str| std::env::var(variable).is_ok_and(|value| value == wanted);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bin=dryad=-no-pie");
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

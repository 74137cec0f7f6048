//! The first process of the machine that `cargo xtask emulate x86` starts: runs the lines of `/tests.list`, and says on the console how each went.
//!
//! A line is variables, a program and its arguments, between spaces: `NAME=VALUE … /path argument …`. Whoever started the machine reads its console, and ends it
//! after the line that begins with `EMULATED-RESULT`: what an emulator itself returns says nothing of the tests.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{self, Write};
use std::process::Command;
use std::thread;
use std::time::Instant;

fn main() {
    println!("guest-init: up");
    let (mut passed, mut failed) = (0, 0);
    match fs::read_to_string("/tests.list") {
        Ok(list) => {
            for line in list.lines() {
                if runs(line) { passed += 1 } else { failed += 1 }
            }
        }
        Err(error) => println!("guest-init: /tests.list: {error}"),
    }
    println!("EMULATED-RESULT: {passed} passed, {failed} failed");
    // A kernel panics where its first process ends.
    loop {
        thread::park();
    }
}

/// Whether the program of a line ends well.
fn runs(line: &str) -> bool {
    let mut words = line.split_whitespace().peekable();
    let mut variables = Vec::new();
    while let Some(variable) = words.peek().and_then(|word| word.split_once('=')) {
        variables.push(variable);
        words.next();
    }
    let Some(program) = words.next() else { return false };
    println!("guest-init: {program} begins");
    let begun = Instant::now();
    let status = Command::new(program).args(words).envs(variables).status();
    let passed = status.as_ref().is_ok_and(|status| status.success());
    println!(
        "guest-init: {program} {} after {:.1?} ({status:?})",
        if passed { "passed" } else { "failed" },
        begun.elapsed()
    );
    // The console is slow: what is behind would be lost with a program that ends the machine.
    let _ = io::stdout().flush();
    passed
}

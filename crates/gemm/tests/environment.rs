//! What the environment asks for, as a process reads it that was started with it: this program itself, run again.

use std::env;
use std::process::{Command, Stdio};

use keepq_gemm::{Residency, executor_from_env, threads_from_env};

const VARIABLES: [&str; 4] = ["KEEPQ_KEEP_QUANT", "KEEPQ_CPU_REF", "KEEPQ_THREADS", "KEEPQ_EXECUTOR"];

/// What the test below prints after `label` in a process where `variables` are set, and no others of ours.
fn printed(label: &str, variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(env::current_exe().expect("this program"));
    child.args(["--ignored", "--exact", "what_is_asked_for", "--nocapture"]).stderr(Stdio::null());
    for variable in VARIABLES {
        child.env_remove(variable);
    }
    let output = child.envs(variables.iter().copied()).output().expect("it starts");
    assert!(output.status.success(), "{variables:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let start = text.find(label).expect("its line") + label.len();
    text[start..].lines().next().unwrap_or_default().to_owned()
}

/// The residency and the threads.
fn asked_for(variables: &[(&str, &str)]) -> String {
    printed("asked: ", variables)
}

#[test]
#[ignore = "no test by itself: others start it with variables set"]
fn what_is_asked_for() {
    println!("asked: {:?}, {:?}", Residency::from_env().ok(), threads_from_env().ok());
    let executor = executor_from_env(3).map(|executor| executor.threads());
    println!("executor: {}", executor.map_or_else(|error| error.to_string(), |threads| format!("{threads} threads")));
}

#[test]
fn residency_and_threads_are_those_of_the_environment() {
    let offered = std::thread::available_parallelism().map_or(1, usize::from);
    for (variables, residency) in [
        (&[][..], Some(Residency::Keep)),
        (&[("KEEPQ_KEEP_QUANT", "1")], Some(Residency::Keep)),
        (&[("KEEPQ_KEEP_QUANT", "0")], Some(Residency::ExpandKn)),
        (&[("KEEPQ_KEEP_QUANT", "OFF")], Some(Residency::ExpandKn)),
        (&[("KEEPQ_KEEP_QUANT", "Interleaved")], Some(Residency::Interleave)),
        (&[("KEEPQ_KEEP_QUANT", "maybe")], None),
        (&[("KEEPQ_CPU_REF", "0")], Some(Residency::Keep)),
        (&[("KEEPQ_CPU_REF", "on"), ("KEEPQ_KEEP_QUANT", "0")], Some(Residency::Reference)),
        (&[("KEEPQ_CPU_REF", "on"), ("KEEPQ_KEEP_QUANT", "interleaved")], Some(Residency::Reference)),
    ] {
        assert_eq!(asked_for(variables), format!("{residency:?}, {:?}", Some(offered)), "{variables:?}");
    }
    for (value, threads) in [("1", Some(1)), (" 3 ", Some(3)), ("1024", Some(1024)), ("1025", None), ("0", None)] {
        let wanted = format!("{:?}, {threads:?}", Some(Residency::Keep));
        assert_eq!(asked_for(&[("KEEPQ_THREADS", value)]), wanted, "{value}");
    }
}

#[test]
fn the_executor_is_that_of_the_environment() {
    for (variables, executor) in [
        (&[][..], "3 threads"),
        (&[("KEEPQ_EXECUTOR", "serial")], "1 threads"),
        (&[("KEEPQ_EXECUTOR", "rayon")], "3 threads"),
        (&[("KEEPQ_EXECUTOR", "team")], "3 threads"),
        (&[("KEEPQ_EXECUTOR", "pool")], "KEEPQ_EXECUTOR=\"pool\" is none of serial, rayon and team"),
    ] {
        assert_eq!(printed("executor: ", variables), executor, "{variables:?}");
    }
}

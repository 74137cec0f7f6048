//! What is left of a command that is killed: nothing, however far it came.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{names_in, synthetic, temporary_folder, xtask};

/// Starts the command again and again, kills it after ever longer times, and calls `check` each time; until it ends by itself, or
/// half a second was not enough for that.
fn killed_at_every_stage(mut command: impl FnMut() -> Command, check: impl Fn(Duration)) {
    for time in (0..24).map(|step| Duration::from_millis(step * step)) {
        let mut process = command().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        sleep(time);
        let ended = process.try_wait().expect("a process").is_some();
        process.kill().expect("it is killed, or has ended");
        process.wait().expect("it has ended");
        check(time);
        if ended {
            break;
        }
    }
}

/// Whether a process has this text among its arguments.
fn is_named_by_a_process(text: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("a folder").flatten();
    processes
        .map(|process| process.path().join("cmdline"))
        .any(|arguments| fs::read(arguments).is_ok_and(|arguments| String::from_utf8_lossy(&arguments).contains(text)))
}

/// Whether it comes to be true soon.
fn soon(condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        sleep(Duration::from_millis(5));
    }
    true
}

fn sorted_names_in(folder: &Path) -> Vec<String> {
    let mut names = names_in(folder);
    names.sort();
    names
}

#[test]
fn of_quantize_there_is_the_whole_file_or_none() {
    let (dir, temporary) = (temporary_folder(), temporary_folder());
    let out = dir.path().join("out.gguf");
    let quantize = || {
        let mut command = xtask(["quantize", "--type=Q8_0", "--threads=1", "--out"]);
        command.arg(&out).arg("--from").arg(synthetic()).env("TMPDIR", temporary.path());
        command
    };
    killed_at_every_stage(quantize, |time| {
        let names = names_in(dir.path());
        assert!(names.is_empty() || names == ["out.gguf"], "{names:?} after {time:?}");
        if !names.is_empty() {
            keepq_gguf::Source::map(&out).expect("a file").parse().expect("a whole file");
        }
        assert_eq!(names_in(temporary.path()), [""; 0]);
    });
}

#[test]
fn of_generate_and_bench_there_is_neither_file_nor_process() {
    let (dir, temporary) = (temporary_folder(), temporary_folder());
    let model = dir.path().join("a-model-of-this-test.gguf");
    fs::copy(synthetic(), &model).expect("a copy");
    let ids = dir.path().join("ids.json");
    let path = model.to_str().expect("text");
    for arguments in [&["generate", "--prompt=a", "--tokens=200"][..], &["bench", "--reps=9", "--arm=after", "--ids"]] {
        let command = || {
            let mut command = xtask(arguments);
            if arguments[0] == "bench" {
                command.arg(&ids);
            }
            command.arg("--model").arg(&model).env("TMPDIR", temporary.path());
            command
        };
        killed_at_every_stage(command, |time| {
            let names: Vec<_> = sorted_names_in(dir.path()).into_iter().filter(|name| name != "ids.json").collect();
            assert_eq!(names, ["a-model-of-this-test.gguf"], "{arguments:?} after {time:?}");
            assert_eq!(names_in(temporary.path()), [""; 0], "{arguments:?} after {time:?}");
            assert!(soon(|| !is_named_by_a_process(path)), "{arguments:?} after {time:?}: a process is left");
        });
    }
}

//! What the system refuses: memory, maps, room on a disk. One line, and nothing is left behind.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::support::{names_in, printed, refusal, synthetic, temporary_folder, xtask};

/// The command under a limit of the shell's `ulimit`.
fn limited(limit: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("trap '' XFSZ; ulimit {limit}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// A file of no keys and tensors, and nearly no place on the disk, that is longer than any memory.
fn longer_than_memory(folder: &Path) -> PathBuf {
    let path = folder.join("long.gguf");
    let mut file = File::create(&path).expect("a file");
    file.write_all(&[b"GGUF".as_slice(), &3_u32.to_le_bytes(), &[0; 16]].concat()).expect("written bytes");
    file.set_len(1 << 40).expect("a longer file");
    path
}

/// Kilobytes of addresses that a process may have: enough for it to start.
const ADDRESSES: &str = "-v 8000000";

#[test]
fn a_map_that_cannot_be_had_is_one_line() {
    let folder = temporary_folder();
    let path = longer_than_memory(folder.path());
    let line = refusal(&mut limited(ADDRESSES, xtask(["inspect"]).arg(&path)));
    assert_eq!(line, format!("{}: Cannot allocate memory (os error 12)", path.display()));
    assert!(printed(xtask(["inspect"]).arg(&path)).contains("1099511627776 bytes"), "without the limit it opens");
}

#[test]
fn no_memory_to_read_a_file_is_one_line() {
    let folder = temporary_folder();
    let path = longer_than_memory(folder.path());
    let line = refusal(&mut limited(ADDRESSES, xtask(["generate", "--no-mmap", "--prompt=a", "--model"]).arg(&path)));
    assert_eq!(line, format!("{}: out of memory", path.display()));
}

#[test]
fn a_full_disk_leaves_nothing_of_a_model_that_is_made() {
    let folder = temporary_folder();
    let mut command = xtask(["model", "keepq-qwen3", "--dir"]);
    let line = refusal(&mut limited("-f 64", command.arg(folder.path())));
    assert!(line.ends_with("File too large (os error 27)"), "{line}");
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_full_disk_leaves_nothing_of_a_checkpoint() {
    let folder = temporary_folder();
    let mut command = xtask(["quantize", "--type=gptq", "--group=32", "--from"]);
    let line = refusal(&mut limited("-f 64", command.arg(synthetic()).arg("--out").arg(folder.path().join("out"))));
    assert!(line.ends_with("File too large (os error 27)"), "{line}");
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn an_interrupted_model_leaves_nothing() {
    let folder = temporary_folder();
    for milliseconds in [50, 300, 1000] {
        let mut command = xtask(["model", "synth-1b", "--type", "q2_k", "--dir"]);
        let mut child = command.arg(folder.path()).stderr(Stdio::null()).spawn().expect("it starts");
        sleep(Duration::from_millis(milliseconds));
        let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
        assert!(interrupted.success() && !child.wait().expect("a process").success());
        assert_eq!(names_in(folder.path()), [""; 0], "after {milliseconds} ms");
    }
}

#[test]
fn of_two_processes_at_once_each_finds_the_whole_file() {
    let folder = temporary_folder();
    let start = || {
        let mut command = xtask(["model", "keepq-qwen3", "--json", "--dir"]);
        command.arg(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    };
    let outputs = [start(), start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    for output in &outputs {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.stdout, outputs[0].stdout, "the same file with the same digest");
    }
    assert_eq!(names_in(folder.path()), ["keepq-qwen3.gguf"]);
}

#[test]
fn numbers_of_threads_that_no_machine_has_are_refused() {
    let model = synthetic().to_str().expect("text");
    for arguments in [
        &["generate", "--prompt=a", "--model", model][..],
        &["verify", model],
        &["quantize", "--type=Q8_0", "--out=/nonexistent/out.gguf", "--from", model],
    ] {
        for threads in ["0", "10000"] {
            let line = refusal(xtask(arguments).args(["--threads", threads]));
            assert!(line.contains(&format!("'{threads}' for '--threads <N>': not a number from 1 to 1024")), "{line}");
            let line = refusal(xtask(arguments).env("KEEPQ_THREADS", threads));
            assert!(line.contains("KEEPQ_THREADS") && line.contains(threads), "{line}");
        }
    }
}

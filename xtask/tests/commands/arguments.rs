//! Values of flags and variables that cannot be followed: one line that names the flag or variable.

use crate::support::{names_in, refusal, synthetic, temporary_folder, xtask};

#[test]
fn an_unknown_value_is_named_with_its_flag() {
    let model = synthetic().to_str().expect("text");
    for (arguments, wanted) in [
        (
            &["bench", "--arm", "sideways"][..],
            "'sideways' for '--arm <ARM>' [possible values: before, after, oracle, interleaved]",
        ),
        (&["bench", "--threads", "0"], "'0' for '--threads <N>': not a number from 1 to 1024"),
        (&["bench", "--reps", "0"], "'0' for '--reps <N>'"),
        (&["bench", "--gen-len", "1"], "'1' for '--gen-len <N>'"),
        (&["bench", "--prompt-len", "many"], "'many' for '--prompt-len <N>'"),
        (
            &["bench", "--prompt-len", "9000"],
            "9000 tokens of prompt and 32 to generate are more than the model's context",
        ),
        (&["generate", "--model", model, "--prompt", "a", "--temperature", "-1"], "'-1' for '--temperature <T>'"),
        (&["generate", "--model", model, "--prompt", "a", "--top-p", "1.5"], "'1.5' for '--top-p <P>'"),
        (&["generate", "--model", model, "--prompt", "a", "--tokens", "1000000"], "the model's context of 8192"),
        (&["generate", "--model", model, "--prompt", ""], "the prompt \"\" has no tokens"),
        (&["generate", "--prompt", "a"], "--model <FILE>"),
        (&["model", "nosuch"], "'nosuch' for '<NAME>' [possible values: smollm2, gemma3-270m, synth-1b, "),
        (&["inspect"], "<FILE>"),
        (&["sideways"], "'sideways'"),
    ] {
        let line = refusal(&mut xtask(arguments));
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }
}

#[test]
fn an_unknown_value_of_a_variable_is_named_with_it() {
    let model = synthetic().to_str().expect("text");
    for (variable, value) in [
        ("KEEPQ_TIER", "avx9"),
        ("KEEPQ_AMX", "yes"),
        ("KEEPQ_THREADS", "some"),
        ("KEEPQ_THREADS", "0"),
        ("KEEPQ_KEEP_QUANT", "maybe"),
        ("KEEPQ_CPU_REF", "maybe"),
    ] {
        let line = refusal(xtask(["generate", "--model", model, "--prompt", "a"]).env(variable, value));
        assert!(line.contains(value), "{variable}={value}: {line}");
    }
    let line = refusal(xtask(["bench", "--arm=after", "--reps=1"]).env("KEEPQ_TIER", "avx9"));
    assert!(line.contains("arm after: no tier is called \"avx9\""), "{line}");
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let dir = temporary_folder();
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("a written file");

    let below = file.join("cache");
    let line = refusal(xtask(["bench", "--reps=1"]).env("KEEPQ_CACHE", &below));
    assert!(line.contains("file/cache"), "{line}");

    for (ids, wanted) in [(file.join("ids"), "cannot write in the folder"), (dir.path().to_owned(), "is a folder")] {
        let line = refusal(xtask(["bench", "--reps=1", "--ids"]).arg(&ids));
        assert!(line.contains(wanted), "{line}");
    }
    assert_eq!(names_in(dir.path()), ["file"]);
}

/// Permissions do not bind everyone, `/proc` does.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_folder_is_named() {
    for arguments in [
        &["model", "smollm2", "--dir", "/proc"][..],
        &["model", "synth-1b", "--type", "q4_k", "--dir", "/proc"],
        &["bench", "--reps=1", "--ids", "/proc/ids"],
    ] {
        let line = refusal(&mut xtask(arguments));
        assert!(line.starts_with("cannot write in the folder /proc: "), "{line}");
    }
    let line = refusal(xtask(["bench", "--reps=1"]).env("KEEPQ_CACHE", "/proc/cache"));
    assert!(line.contains("/proc/cache"), "{line}");
}

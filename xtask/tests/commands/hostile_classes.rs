//! Every class of damaged file from the command line: one line that names the file and what is wrong in it, the same from each command.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::hostile::classes;
use crate::hostile_sets::{sets, whole_set};
use crate::support::{printed, refusal, temporary_folder, xtask};

/// The line that commands refuse a file with, without the folder, which differs from run to run.
fn line(path: &Path) -> String {
    let mut lines = [&["inspect"][..], &["verify"], &["generate", "--prompt=a", "--model"]].map(|arguments| {
        let line = refusal(xtask(arguments).arg(path));
        assert!(!line.chars().any(char::is_control) && line.len() < 1000, "{line}");
        line.replace(&path.with_file_name("").display().to_string(), "")
    });
    // A folder may be a checkpoint, which is generated from and nothing else.
    let alike = if path.is_dir() { &lines[..2] } else { &lines[..] };
    assert!(alike.iter().all(|line| *line == lines[0]), "{lines:#?}");
    std::mem::take(&mut lines[0])
}

#[test]
fn every_class_is_one_line() {
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    let mut lines = String::new();
    for class in classes() {
        writeln!(lines, "{}", class.name).expect("memory");
        for (what, file) in class.files {
            fs::write(&path, file).expect("a written file");
            writeln!(lines, "  {what}: {}", line(&path)).expect("memory");
        }
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn every_set_that_is_none_is_one_line() {
    let mut lines = String::new();
    for set in sets() {
        let folder = temporary_folder();
        for (name, bytes) in &set.files {
            fs::write(folder.path().join(name), bytes).expect("a written file");
        }
        writeln!(lines, "{}: {}", set.what, line(&folder.path().join(&set.files[0].0))).expect("memory");
    }
    insta::assert_snapshot!(lines);

    let (folder, set) = (temporary_folder(), whole_set());
    for (name, bytes) in &set.files {
        fs::write(folder.path().join(name), bytes).expect("a written file");
    }
    assert!(printed(xtask(["inspect"]).arg(folder.path().join(&set.files[2].0))).contains("3 files"));
}

#[test]
fn what_is_no_regular_file_is_one_line() {
    let folder = temporary_folder();
    let pipe = folder.path().join("pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("it starts").success());
    let mut lines = String::new();
    for (what, path) in [("a folder", folder.path()), ("a pipe", &pipe), ("a device", Path::new("/dev/null"))] {
        let line =
            line(path).replace(&folder.path().file_name().expect("a name").to_string_lossy().into_owned(), "folder");
        writeln!(lines, "{what}: {line}").expect("memory");
    }
    insta::assert_snapshot!(lines);
}

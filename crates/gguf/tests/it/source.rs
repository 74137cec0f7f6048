//! Files on a disk, and what is no file.

use std::fs;
use std::path::Path;

use keepq_gguf::{OpenError, OpenErrorKind, Source};

use crate::raw::{Raw, tensor};

/// The text of an error with the folder, which differs from run to run, left out.
fn text(error: &OpenError, folder: &Path) -> String {
    error.to_string().replace(&folder.join("").display().to_string(), "")
}

type Open = fn(&Path) -> Result<Source, OpenError>;

const OPENERS: [Open; 2] = [|path| Source::map(path), |path| Source::read(path)];

#[test]
fn a_file_is_mapped_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.gguf");
    let file = Raw::header(1, 0).tensor("t", &[3], tensor::F32, 0).data(32, 12).0;
    fs::write(&path, &file).unwrap();
    for open in OPENERS {
        let source = open(&path).unwrap();
        assert_eq!((source.as_bytes(), source.path()), (file.as_slice(), path.as_path()));
        assert_eq!(source.parse().unwrap().tensors()[0].data().unwrap(), &file[file.len() - 12..]);
    }
}

#[test]
fn an_empty_file_opens_and_does_not_parse() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.gguf");
    fs::write(&path, []).unwrap();
    for open in OPENERS {
        let source = open(&path).unwrap();
        assert_eq!(source.as_bytes(), []);
        let error = source.parse().unwrap_err();
        assert!(matches!(error.kind(), OpenErrorKind::Parse(_)));
        insta::allow_duplicates! {
            insta::assert_snapshot!(
                text(&error, folder.path()),
                @"empty.gguf: header at byte 0: header of 24 bytes passes the end of the file, 0 bytes are left"
            );
        }
    }
}

#[test]
fn a_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("model.gguf")).unwrap();
    for open in OPENERS {
        let error = open(&folder.path().join("model.gguf")).unwrap_err();
        assert_eq!(text(&error, folder.path()), "model.gguf: a directory, expected a file");
    }
}

/// Opening a pipe would wait for a writer that never comes.
#[cfg(unix)]
#[test]
fn a_pipe_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    for open in OPENERS {
        let error = open(&path).unwrap_err();
        assert_eq!(text(&error, folder.path()), "pipe.gguf: a pipe, socket or device, expected a regular file");
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for open in OPENERS {
        let error = open(&folder.path().join("none.gguf")).unwrap_err();
        assert!(matches!(error.kind(), OpenErrorKind::Io(_)));
        assert!(text(&error, folder.path()).starts_with("none.gguf: "), "{error}");
    }
}

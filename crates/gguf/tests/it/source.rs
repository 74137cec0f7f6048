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

/// What was read stays as it was, whatever becomes of the file; what is mapped does not, which is its contract.
#[test]
fn a_file_that_is_cut_off_or_written_over_stays_whole_where_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.gguf");
    let file = Raw::header(1, 0).tensor("t", &[3000], tensor::F32, 0).data(32, 12_000).0;
    fs::write(&path, &file).unwrap();
    let source = Source::read(&path).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    let gguf = source.parse().unwrap();
    assert_eq!(gguf.tensors()[0].data().unwrap(), &file[file.len() - 12_000..]);
    fs::write(&path, vec![0xff; 200]).unwrap();
    assert_eq!(source.as_bytes(), file);

    // A new file that takes the place of the old one leaves the map alone too.
    fs::write(&path, &file).unwrap();
    let mapped = Source::map(&path).unwrap();
    fs::write(folder.path().join("new"), b"new").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    assert_eq!(mapped.as_bytes(), file);
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

/// Kilobytes of a mapped file that are resident, as the system counts them.
#[cfg(target_os = "linux")]
fn resident_kib(path: &Path) -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let of_file = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
    let rss = of_file.skip(1).find_map(|line| line.strip_prefix("Rss:")).unwrap();
    rss.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn released_bytes_are_no_longer_resident_and_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    // As the system tells it, without links.
    let path = folder.path().canonicalize().unwrap().join("large.gguf");
    let file = Raw::header(2, 0)
        .tensor("a", &[1 << 20], tensor::F32, 0)
        .tensor("b", &[1 << 20], tensor::F32, 4 << 20)
        .data(32, 8 << 20)
        .0;
    fs::write(&path, &file).unwrap();
    let set = keepq_gguf::open_set(&path, Source::map).unwrap();
    let gguf = set.parse().unwrap();
    assert!(set.sources()[0].as_bytes() == file, "all pages are touched");
    let all = resident_kib(&path);
    assert!(all >= 8 << 10, "{all} KiB");

    set.release(&gguf.tensors()[0]);
    let half = resident_kib(&path);
    assert!(half <= all - (4 << 10) + 8, "{half} of {all} KiB");
    set.release(&gguf.tensors()[1]);
    let little = resident_kib(&path);
    assert!(little <= all - (8 << 10) + 12, "{little} of {all} KiB");
    assert!(set.sources()[0].as_bytes() == file, "the same bytes");
}

#[test]
fn any_range_may_be_released() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.gguf");
    let file = Raw::header(1, 0).tensor("t", &[3], tensor::F32, 0).data(32, 12).0;
    fs::write(&path, &file).unwrap();
    for open in OPENERS {
        let source = open(&path).unwrap();
        for range in [0..0, 0..u64::MAX, 5..6, u64::MAX - 1..u64::MAX] {
            source.release(range);
            assert_eq!(source.as_bytes(), file);
        }
    }
}

//! What `quantize` refuses, and that it leaves nothing behind then.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Source};

use super::quantize;
use crate::support::{Changes, changed, names_in, refusal, synthetic, temporary_folder};

#[test]
fn a_source_that_is_none() {
    let dir = temporary_folder();
    let (file, out) = (dir.path().join("model.gguf"), dir.path().join("out.gguf"));
    let line = refusal(&mut quantize(&file, "Q8_0", &out));
    assert!(line.ends_with("model.gguf: No such file or directory (os error 2)"), "{line}");
    let line = refusal(&mut quantize(dir.path(), "Q8_0", &out));
    assert!(line.ends_with("a directory, expected a file"), "{line}");

    let whole = fs::read(synthetic()).expect("a model");
    for (bytes, wanted) in [(&b"PK\x03\x04 a zip file"[..], "GGUF"), (&whole[..whole.len() - 100_000], "tensor \"")] {
        fs::write(&file, bytes).expect("a written file");
        let line = refusal(&mut quantize(&file, "Q8_0", &out));
        assert!(line.contains("model.gguf: ") && line.contains(wanted), "{line}");
    }
    assert_eq!(names_in(dir.path()), ["model.gguf"]);
}

#[test]
fn a_type_that_is_none() {
    for ty in ["Q9", "Q8_K", "IQ4_XS", "Q4_K_M", ""] {
        let line = refusal(&mut quantize(synthetic(), ty, Path::new("out.gguf")));
        let wanted = format!("'{ty}' for '--type <TYPE>' [possible values: F32, F16, BF16, Q4_0,");
        assert!(line.contains(&wanted) || ty.is_empty() && line.contains("--type <TYPE>"), "{line}");
    }
}

#[test]
fn the_source_is_not_written_over_by_any_name() {
    let dir = temporary_folder();
    let [file, soft, hard] = ["model.gguf", "soft.gguf", "hard.gguf"].map(|name| dir.path().join(name));
    fs::copy(synthetic(), &file).expect("a copy");
    symlink("model.gguf", &soft).expect("a link");
    fs::hard_link(&file, &hard).expect("a link");
    let roundabout = dir.path().join(".").join("model.gguf");
    for (from, out) in [(&file, &file), (&file, &soft), (&soft, &file), (&file, &hard), (&file, &roundabout)] {
        let line = refusal(&mut quantize(from, "Q8_0", out));
        assert_eq!(line, format!("{} is the source: it is not written over", out.display()));
    }
    assert!(fs::read(&file).expect("a file") == fs::read(synthetic()).expect("a file"));
}

#[test]
fn a_place_that_cannot_be_written_to() {
    let dir = temporary_folder();
    for (out, wanted) in [
        (dir.path(), "is in the way: it is no file"),
        (Path::new("/dev/null"), "/dev/null is in the way: it is no file"),
        (&dir.path().join("no").join("out.gguf"), "cannot write in the folder "),
    ] {
        let line = refusal(&mut quantize(synthetic(), "Q8_0", out));
        assert!(line.contains(wanted), "{line}");
    }
    // Permissions do not bind everyone, `/proc` does.
    if cfg!(target_os = "linux") {
        let line = refusal(&mut quantize(synthetic(), "Q8_0", Path::new("/proc/out.gguf")));
        assert!(line.starts_with("cannot write in the folder /proc: "), "{line}");
    }
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn elements_that_are_not_finite_are_named_and_an_old_file_stays() {
    let dir = temporary_folder();
    let (file, out) = (dir.path().join("model.gguf"), dir.path().join("out.gguf"));
    fs::write(&out, "old").expect("a written file");
    let f16_nan = 0x7e00_u16.to_le_bytes();
    let (infinity, large) = (f32::INFINITY.to_le_bytes(), 1e9_f32.to_le_bytes());
    // Rows of 512 elements are sixteen blocks of Q8_0.
    for (name, at, bytes, ty, wanted) in [
        ("blk.1.attn_q.weight", (5 * 16 + 3) * 34, &f16_nan[..], "Q4_0", "block 3 of row 5 is not finite"),
        // The same where the tensor is copied.
        ("blk.1.attn_q.weight", (5 * 16 + 3) * 34, &f16_nan, "Q8_0", "block 3 of row 5 is not finite"),
        ("blk.2.ffn_norm.weight", 7 * 4, &infinity, "Q4_0", "block 7 of row 0 is not finite"),
        // An F32 matrix: finite, but not with a scale of 16 bits.
        ("blk.2.attn_q.weight", (60 * 512 + 40) * 4, &large, "Q8_0", "block 1 of row 60 is too large for Q8_0"),
        ("blk.2.attn_q.weight", (60 * 512 + 40) * 4, &large, "F16", "block 40 of row 60 is too large for F16"),
    ] {
        damage(&file, name, at, bytes);
        for threads in ["1", "3"] {
            let line = refusal(quantize(&file, ty, &out).args(["--threads", threads]));
            assert_eq!(line, format!("{}: tensor {name:?}: {wanted}", file.display()));
        }
    }
    // Of two the first is named, on any number of threads.
    damage(&file, "blk.2.attn_q.weight", 270 * 512 * 4, &infinity);
    overwrite(&file, "blk.2.attn_q.weight", 30 * 512 * 4, &infinity);
    let line = refusal(quantize(&file, "Q4_0", &out).args(["--threads", "3"]));
    assert!(line.ends_with("block 0 of row 30 is not finite"), "{line}");
    assert_eq!(fs::read(&out).expect("a file"), b"old");
    assert_eq!(names_in(dir.path()).len(), 2);
}

/// Writes the synthetic model with other bytes at a place in a tensor's data.
fn damage(file: &Path, name: &str, at: u64, bytes: &[u8]) {
    fs::copy(synthetic(), file).expect("a copy");
    overwrite(file, name, at, bytes);
}

fn overwrite(file: &Path, name: &str, at: u64, bytes: &[u8]) {
    let source = Source::read(file).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let at = gguf.require_tensor(name).expect("a tensor").offset() + at;
    OpenOptions::new().write(true).open(file).expect("a file").write_all_at(bytes, at).expect("written bytes");
}

#[test]
fn a_type_that_cannot_be_decoded_is_named_with_its_tensor() {
    let dir = temporary_folder();
    let (file, out) = (dir.path().join("model.gguf"), dir.path().join("out.gguf"));
    let tensor = Some(("blk.0.ffn_up.weight", GgmlType::IQ2_S, [512, 416]));
    changed(&file, &Changes { tensor, ..Changes::default() });
    let line = refusal(&mut quantize(&file, "Q8_0", &out));
    let wanted = "model.gguf: tensor \"blk.0.ffn_up.weight\": IQ2_S: this version cannot decode it";
    assert!(line.ends_with(wanted), "{line}");
    assert_eq!(names_in(dir.path()), ["model.gguf"]);
}

/// A limit to the length of files stands for a full disk.
#[test]
fn a_full_disk_leaves_nothing() {
    let dir = temporary_folder();
    let out = dir.path().join("out.gguf");
    let quantize = quantize(synthetic(), "F32", &out);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$@\"", "sh"]);
    limited.arg(quantize.get_program()).args(quantize.get_args());
    let line = refusal(&mut limited);
    assert_eq!(line, format!("{}: File too large (os error 27)", out.display()));
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let (dir, place) = (temporary_folder(), temporary_folder());
    let file = dir.path().join("model.gguf");
    write_large(&file);
    let mut child = quantize(&file, "Q2_K", &place.path().join("out.gguf"))
        .args(["--threads", "1"])
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    // Where the file has no name yet, it is among the files that the process has open.
    let opened = PathBuf::from(format!("/proc/{}/fd", child.id()));
    let is_written = || {
        let entries = fs::read_dir(&opened).into_iter().flatten().flatten().map(|entry| entry.path());
        let in_place = |file: &PathBuf| fs::read_link(file).is_ok_and(|target| target.starts_with(place.path()));
        entries.filter(in_place).any(|file| fs::metadata(file).is_ok_and(|file| file.len() > 0))
    };
    while !is_written() {
        assert!(child.try_wait().expect("a process").is_none(), "it ends before it has written anything");
        thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(killed.success());
    // By the handler where there is a file to remove, else by the signal.
    let status = child.wait().expect("a process");
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status}");
    assert!(names_in(place.path()).is_empty());
}

/// A matrix of zeros that takes long to quantize and nearly no place on the disk: the end of the file is a hole.
fn write_large(file: &Path) {
    let rows: u64 = 8 << 20;
    let mut writer = Writer::new();
    writer.tensor("output.weight", GgmlType::F32, &[256, 2], &[0; 256 * 2 * 4]).expect("a tensor");
    writer.write_file(file).expect("a written file");

    let source = Source::read(file).expect("a file");
    let offset = source.parse().expect("a GGUF file").tensors()[0].offset();
    let dims = [256_u64.to_le_bytes(), 2_u64.to_le_bytes()].concat();
    let at = source.as_bytes().windows(dims.len()).position(|bytes| bytes == dims).expect("the dimensions") as u64;
    let file: File = OpenOptions::new().write(true).open(file).expect("a file");
    file.write_all_at(&rows.to_le_bytes(), at + 8).expect("written bytes");
    file.set_len(offset + rows * 256 * 4).expect("a longer file");
}

//! Rows that end with the last page of a map: no kernel reads past them, of any type, for any number of rows and tokens.
//!
//! The file ends there, so that a read beyond ends the process by a signal.
#![cfg(unix)]

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_gemm::{Driver, Scratch, Serial};
use keepq_gguf::Source;
use keepq_goldens::inputs::{Floats, Weights};
use keepq_goldens::naive::{NaiveType, TYPES};
use keepq_simd::Tier;

/// As much as a page of any system.
const PAGE: usize = 65_536;

/// The most rows: one more than two strips have.
const N: usize = 17;

/// Maps a file whose first page ends with `weights`, and cuts off what comes after it: the one way in which nobody may treat a map, for
/// bytes that nobody may read.
fn map_before_nothing(path: &Path, weights: &[u8]) -> Source {
    let mut bytes = vec![0; 2 * PAGE];
    bytes[PAGE - weights.len()..PAGE].copy_from_slice(weights);
    fs::write(path, bytes).unwrap();
    let source = Source::map(path).unwrap();
    File::options().write(true).open(path).unwrap().set_len(PAGE as u64).unwrap();
    source
}

fn multiply(tier: Tier, ty: &NaiveType, w: Matrix<'_>, m: usize) -> Vec<u32> {
    let x: Vec<f32> = (0..m as u64).flat_map(|t| Floats::Gaussian.row(w.k(), 7000 + t)).collect();
    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * w.n()]);
    let x = buffer.quantize(ActFormat::for_weights(ty.ty).unwrap(), m, w.k(), &x).unwrap();
    Driver::new(tier, &Serial).matmul(x, w, &mut y, &mut Scratch::new()).unwrap();
    y.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn nothing_is_read_past_the_last_row() {
    let folder = tempfile::tempdir().unwrap();
    for ty in TYPES {
        // Two blocks, or numbers that are not whole lanes.
        let k = 2 * ty.chunk() + if ty.is_float() { 5 } else { 0 };
        let row_bytes = k / ty.elements * ty.bytes;
        let weights: Vec<u8> = (0..N as u64).flat_map(|row| Weights::Codes.row(ty, k, row)).collect();
        let source = map_before_nothing(&folder.path().join(ty.ty.name()), &weights);
        for n in 1..=N {
            let mapped = &source.as_bytes()[PAGE - n * row_bytes..PAGE];
            let [mapped, owned] =
                [mapped, &weights[(N - n) * row_bytes..]].map(|bytes| Matrix::new(ty.ty, n, k, bytes).unwrap());
            for m in [1, 2, 3, 8] {
                let wanted = multiply(Tier::PORTABLE, ty, owned, m);
                for tier in Tier::available() {
                    assert_eq!(multiply(tier, ty, mapped, m), wanted, "{} {tier} n = {n}, m = {m}", ty.ty);
                }
            }
        }
    }
}

/// The trap works: a row that begins in the page and ends after it ends a process of its own by a signal.
#[test]
fn a_row_past_the_end_is_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "in_a_process_of_its_own", "--ignored"]).env(FOLDER, folder.path());
    let output = child.output().unwrap();
    assert!(output.status.signal().is_some(), "{output:?}");
}

/// Where the child writes its file.
const FOLDER: &str = "KEEPQ_TEST_FOLDER";

#[test]
#[ignore = "ends its process: another test starts it"]
fn in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let source = map_before_nothing(&Path::new(&folder).join("file"), &[0; 34]);
    let ty = NaiveType::of(keepq_blocks::GgmlType::Q8_0).unwrap();
    let past = &source.as_bytes()[PAGE - 33..PAGE + 1];
    multiply(Tier::best(), ty, Matrix::new(ty.ty, 1, 32, past).unwrap(), 1);
}

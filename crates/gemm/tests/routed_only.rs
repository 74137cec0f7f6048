//! Slices that no route leads to are not touched: they are mapped, but their files end where their bytes would begin.
#![cfg(unix)]

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use keepq_act::ActBuf;
use keepq_blocks::Matrix;
use keepq_gemm::{Driver, Rayon, Residency, Route, Scratch, WeightStack};
use keepq_gguf::Source;
use keepq_gguf::write::Writer;
use keepq_goldens::inputs::{Floats, Weights};
use keepq_goldens::naive::{NaiveType, TYPES};
use keepq_simd::Tier;

/// Of the types' slices, those that stay: the first, the last, one between.
const PRESENT: [u32; 3] = [0, 7, TYPES.len() as u32 - 1];
const N: usize = 64;
const K: usize = 1024;
const M: usize = 20;

/// Writes a slice to a file of its own, and maps that. The data begin with a page, however large pages are.
fn map_slice(path: &Path, ty: &NaiveType) -> Source {
    let data: Vec<u8> = (0..N as u64).flat_map(|row| Weights::Codes.row(ty, K, row)).collect();
    let mut writer = Writer::new();
    writer.put("general.alignment", 65_536_u32).unwrap();
    writer.tensor("slice", ty.ty, &[K as u64, N as u64], &data).unwrap();
    writer.write_file(path).unwrap();
    Source::map(path).unwrap()
}

/// The slice of a mapped file, of which nothing but the header is left where `is_present` is false: the one way in which
/// nobody may treat a map, for bytes that nobody may read.
fn slice_of(source: &Source, is_present: bool) -> Matrix<'_> {
    let gguf = source.parse().unwrap();
    let tensor = gguf.require_tensor("slice").unwrap();
    if !is_present {
        File::options().write(true).open(source.path()).unwrap().set_len(tensor.offset()).unwrap();
    }
    tensor.matrix().unwrap()
}

/// By the driver and by a resident stack, which agree.
fn multiply(folder: &Path, routes: &[Route]) -> Vec<f32> {
    let sources: Vec<Source> = TYPES.iter().map(|ty| map_slice(&folder.join(format!("{}.gguf", ty.ty)), ty)).collect();
    let slices: Vec<Matrix<'_>> =
        sources.iter().zip(0..).map(|(source, i)| slice_of(source, PRESENT.contains(&i))).collect();

    let x: Vec<f32> = (0..M as u64).flat_map(|t| Floats::Gaussian.row(K, 7000 + t)).collect();
    let pool = Rayon::new(2).unwrap();
    let driver = Driver::new(Tier::best(), &pool);
    let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
    let [mut by_driver, mut by_stack] = [(); 2].map(|()| vec![f32::NAN; routes.len() * N]);
    let mut x = buffer.share(M, K, &x);
    driver.matmul_indexed(&mut x, &slices, routes, &mut by_driver, &mut scratch).unwrap();
    let stack = WeightStack::new(&slices, Residency::Keep).unwrap();
    stack.matmul_indexed(&driver, &mut x, routes, &mut by_stack, &mut scratch).unwrap();
    assert_eq!(by_driver, by_stack);
    by_stack
}

#[test]
fn slices_without_a_route_may_be_absent() {
    let folder = tempfile::tempdir().unwrap();
    let route = |i| Route { row: i % M as u32, slice: PRESENT[i as usize % PRESENT.len()] };
    let routes: Vec<Route> = (0..3 * M as u32).map(route).collect();
    let y = multiply(folder.path(), &routes);
    assert!(y.iter().all(|v| v.is_finite() && *v != 0.0));
}

/// The trap works: a route to an absent slice ends a process of its own by a signal.
#[test]
fn a_route_to_an_absent_slice_is_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "in_a_process_of_its_own", "--ignored"]).env(FOLDER, folder.path());
    let output = child.output().unwrap();
    assert!(output.status.signal().is_some(), "{output:?}");
}

/// Where the child writes its slices.
const FOLDER: &str = "KEEPQ_TEST_FOLDER";

#[test]
#[ignore = "ends its process: another test starts it"]
fn in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    multiply(Path::new(&folder), &[Route { row: 0, slice: PRESENT[1] + 1 }]);
}

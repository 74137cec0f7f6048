//! [`Options`]: the arguments of `bench --kernels`, and the cases that they ask for.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use keepq_blocks::GgmlType;
use keepq_tinygemm::select::Policy;

use super::candle;
use super::case::{self, Case, TYPES, Type, cases};
use super::four_bit::{self, FourBit};
use crate::model_files;
use crate::runtime::group;

/// The arguments of `bench --kernels`, beside those that it shares with `bench`.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Options {
    /// Measure single multiplications in place of the arms
    #[arg(long, conflicts_with_all = ["arms", "model", "prompt_len", "gen_len", "ids"])]
    pub(in super::super) kernels: bool,
    /// With --kernels, a type of weights, given once for each [default: all that have kernels]
    #[arg(long = "type", value_name = "TYPE", value_parser = weight_type, requires = "kernels")]
    types: Vec<GgmlType>,
    /// A 4-bit path, given once for each: w4a16, w4a8, int4 or fallback. A checkpoint is multiplied by it in place of arms, or by the path that
    /// auto, fidelity or upstream chooses; with --kernels it takes the place of types
    #[arg(long = "path", value_name = "PATH", value_parser = model_files::policy, conflicts_with = "types")]
    paths: Vec<Policy>,
    /// With --kernels and --path, codes that share a scale [default: 128]
    #[arg(long, value_name = "CODES", value_parser = group, requires_all = ["kernels", "paths"])]
    group: Option<usize>,
    /// With --kernels and --path, keep a row-major copy of W4A16's weights, which many tokens are multiplied by in place of panels of the packed ones
    #[arg(long, requires_all = ["kernels", "paths"])]
    pub(super) row_major: bool,
    /// With --kernels, rows of the weights, given once for each --k [default: 4096, 14336 and 2048; with --path 2048, 3072 and 13312]
    #[arg(long, value_name = "N", value_parser = size, requires_all = ["kernels", "k"])]
    n: Vec<usize>,
    /// With --kernels, columns of the weights, given once for each --n [default: 4096, 4096 and 6144; with --path 2048]
    #[arg(long, value_name = "K", value_parser = size, requires_all = ["kernels", "n"])]
    k: Vec<usize>,
    /// With --kernels, tokens, given once for each number [default: 1, 8, 128 and 512; with --path 1, 32 and 128]
    #[arg(long, value_name = "M", value_parser = size, requires = "kernels")]
    m: Vec<usize>,
    /// With --kernels, seconds that each side multiplies a row at least, in turns [default: 0.25]
    #[arg(long, value_name = "S", value_parser = seconds, requires = "kernels")]
    pub(super) seconds: Option<f64>,
    /// With --kernels, a Python that has onnxruntime, onnx and numpy, to run ONNX Runtime beside the types and paths of 4 bits
    #[arg(long, value_name = "PYTHON", requires = "kernels")]
    pub(super) onnxruntime: Option<OsString>,
    /// With --kernels and --path, a Python that has torch and numpy, to run PyTorch's int4pack and its product of floats beside the paths
    #[arg(long, value_name = "PYTHON", requires_all = ["kernels", "paths"])]
    pub(super) torch: Option<OsString>,
    /// With --kernels, compile candle for a processor as rustc names it, and run it beside all types [default: haswell, which has AVX2]
    #[arg(long, value_name = "CPU", num_args = 0..=1, require_equals = true, default_missing_value = candle::AVX2)]
    #[arg(requires = "kernels")]
    pub(super) candle: Option<OsString>,
    /// With --kernels, a folder with ik_llama.cpp's libggml.so, to run it beside all types
    #[arg(long, value_name = "DIR", requires = "kernels")]
    pub(super) ik_llama: Option<PathBuf>,
    /// With --kernels, multiply by copies of the weights whose rows are interleaved, for the types that have them
    #[arg(long, requires = "kernels")]
    pub(super) interleaved: bool,
}

/// Parses the name of a type that has kernels.
fn weight_type(name: &str) -> Result<GgmlType, String> {
    let known = TYPES.into_iter().find(|ty| ty.name().eq_ignore_ascii_case(name));
    known.ok_or_else(|| format!("none of {}", TYPES.map(GgmlType::name).join(", ")))
}

/// The most elements of a row, or rows: beyond, a slip of the finger would fill the memory.
const MOST_ELEMENTS: usize = 1 << 20;

fn size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size @ 1..=MOST_ELEMENTS) => Ok(size),
        _ => Err(format!("not a number from 1 to {MOST_ELEMENTS}")),
    }
}

/// Parses seconds to fill.
pub(in super::super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("not a number from 0 to 3600".to_owned()),
    }
}

impl Options {
    /// The paths that a checkpoint is to be multiplied by.
    pub(in super::super) fn policies(&self) -> &[Policy] {
        &self.paths
    }

    /// All combinations of what was given, or of the defaults.
    pub(super) fn cases(&self, threads: usize) -> Result<Vec<Case>> {
        ensure!(
            self.n.len() == self.k.len(),
            "--n is given {} times, --k {}: give one of each for a shape",
            self.n.len(),
            self.k.len()
        );
        let given: Vec<_> = self.n.iter().copied().zip(self.k.iter().copied()).collect();
        let group = self.group.unwrap_or(four_bit::GROUP);
        let (types, shapes, tokens): (Vec<Type>, &[_], &[_]) = match (&self.paths[..], &self.types[..]) {
            ([], []) => (TYPES.map(Type::Blocks).into(), &case::SHAPES, &case::TOKENS),
            ([], types) => (types.iter().copied().map(Type::Blocks).collect(), &case::SHAPES, &case::TOKENS),
            (paths, _) => {
                let path = |policy: &Policy| match policy {
                    Policy::Named(path) => Ok(Type::FourBit(FourBit { path: *path, group })),
                    _ => bail!("--path {policy}: kernels are those of a path, {policy} chooses one for a checkpoint"),
                };
                (paths.iter().map(path).collect::<Result<_>>()?, &four_bit::SHAPES, &four_bit::TOKENS)
            }
        };
        let shapes = if given.is_empty() { shapes } else { &given };
        let tokens = if self.m.is_empty() { tokens } else { &self.m };
        let cases = cases(&types, shapes, tokens, threads);
        if let Some(case) = cases.iter().find(|case| case.weight_bytes().is_none()) {
            match case.ty {
                Type::Blocks(ty) => bail!("--k {}: rows of {ty} are multiples of {}", case.k, ty.block_len()),
                Type::FourBit(four_bit) => bail!("--n {} --k {}: no shape of {four_bit}", case.n, case.k),
            }
        }
        Ok(cases)
    }
}

#[cfg(test)]
mod tests {
    use keepq_act::ActFormat;

    use super::*;

    #[test]
    fn names_of_types_and_numbers_are_checked() {
        assert_eq!(weight_type("q4_k"), Ok(GgmlType::Q4_K));
        assert_eq!(weight_type("bf16"), Ok(GgmlType::BF16));
        let error = weight_type("IQ4_NL").expect_err("no kernel");
        assert!(error.starts_with("none of Q2_K, Q3_K, Q4_0, "), "{error}");
        assert_eq!((size("4096"), seconds("0")), (Ok(4096), Ok(0.0)));
        for wrong in ["0", "-1", "9999999", "x", ""] {
            assert_eq!(size(wrong), Err("not a number from 1 to 1048576".to_owned()), "{wrong}");
        }
        assert_eq!((group("64"), group("16")), (Ok(64), Err("none of 32, 64, 128, 256".to_owned())));
        for wrong in ["-1", "NaN", "inf", "x"] {
            assert_eq!(seconds(wrong), Err("not a number from 0 to 3600".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn every_type_has_a_kernel() {
        for ty in TYPES {
            assert_eq!(weight_type(ty.name()), Ok(ty));
            assert!(ActFormat::for_weights(ty).is_some(), "{ty}");
        }
    }

    #[test]
    fn shapes_are_pairs_of_n_and_k() {
        let args = |n: &[usize], k: &[usize]| Options {
            kernels: true,
            types: vec![GgmlType::Q4_K],
            paths: Vec::new(),
            group: None,
            row_major: false,
            n: n.to_vec(),
            k: k.to_vec(),
            m: vec![2],
            seconds: None,
            onnxruntime: None,
            torch: None,
            candle: None,
            ik_llama: None,
            interleaved: false,
        };
        let cases = |n: &[usize], k: &[usize]| args(n, k).cases(1).map_err(|error| error.to_string());
        let shapes: Vec<_> = cases(&[5, 6], &[256, 512]).expect("pairs").iter().map(|case| (case.n, case.k)).collect();
        assert_eq!(shapes, [(5, 256), (6, 512)]);
        assert_eq!(cases(&[], &[]).expect("the defaults").len(), 3);
        assert_eq!(
            cases(&[5], &[256, 512]).expect_err("a k too many"),
            "--n is given 1 times, --k 2: give one of each for a shape"
        );
        assert_eq!(cases(&[5], &[128]).expect_err("half a block"), "--k 128: rows of Q4_K are multiples of 256");
    }
}

//! What travels between `xtask bench --kernels` and this program: the other side's is xtask's `peer_process.rs`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What this program says of itself, first of all.
#[derive(Serialize)]
pub(crate) struct Hello {
    pub(crate) version: String,
    pub(crate) about: String,
}

/// What it is asked.
#[derive(Deserialize)]
pub(crate) enum Request {
    /// To prepare a case in place of the one before, and to multiply once.
    Prepare { case: Case, data: Data },
    /// To multiply for a while.
    Take { turn: Turn },
}

/// `y[m,n] = x[m,k] · w[n,k]ᵀ`; the threads are those of the environment.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Case {
    /// ggml's id of the type.
    pub(crate) ty: u32,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) m: usize,
}

/// Operands in files.
#[derive(Deserialize)]
pub(crate) struct Data {
    /// The first rows of the weights, as blocks; they repeat until there are n.
    pub(crate) blocks: PathBuf,
    /// m rows of k, as little-endian f32.
    pub(crate) x: PathBuf,
    /// How often the weights are to lie in memory.
    pub(crate) copies: usize,
    /// The tokens whose outputs are compared.
    pub(crate) tokens: Vec<usize>,
}

#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Turn {
    pub(crate) seconds: f64,
}

/// What a case can be computed with.
#[derive(Serialize)]
pub(crate) struct Prepared {
    pub(crate) setting: &'static str,
    pub(crate) layout: String,
    pub(crate) requantized: bool,
    pub(crate) sample: Vec<f32>,
}

/// Seconds of one multiplication, and the share of the processor time asked for that was got.
#[derive(Serialize)]
pub(crate) struct Repetition {
    pub(crate) seconds: f64,
    pub(crate) processor_share: Option<f64>,
}

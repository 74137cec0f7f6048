//! **Invariant: what benches share; nothing here is measured.**
//!
//! `cargo bench -p keepq-benches` runs them all; `cargo bench -p keepq-benches -- Q4_1/x86-64-v3` some.

use std::time::Duration;

use criterion::Criterion;
use keepq_blocks::{Bf16, GgmlType, encode_row};

/// Short measurements, so that all of them take minutes: what is compared is in the same run, and differences are large.
#[must_use]
pub fn short() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
}

/// `len` floats between -1 and 1, the same every time.
#[must_use]
pub fn floats(len: usize) -> Vec<f32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// The bytes of a matrix of `n` rows of `k` such floats in `ty`.
///
/// # Panics
/// Where `k` is no multiple of the block or the type has no encoder.
#[must_use]
pub fn weights(ty: GgmlType, n: usize, k: usize) -> Vec<u8> {
    let mut bytes = vec![0; n * ty.row_bytes(k).expect("whole blocks")];
    encode_row(ty, &floats(n * k), &mut bytes).expect("a type with an encoder");
    bytes
}

/// The elements of a bf16 matrix `[k,n]`.
#[must_use]
pub fn weights_kn(n: usize, k: usize) -> Vec<Bf16> {
    floats(n * k).into_iter().map(Bf16::from_f32).collect()
}

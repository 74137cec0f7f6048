//! [`Operands`]: the weights and tokens of a case, the same in every process.

use std::fs;

use anyhow::{Context, Result};
use keepq_blocks::encode_row;

use super::case::Case;
use crate::synth::random::Random;

/// Rows that differ. More would only take time to encode, and a prime number of them puts equal rows at
/// different places of the tiles.
const ROWS: usize = 61;

/// Elements of weights have this deviation, as those of trained models have about.
pub(super) const DEVIATION: f32 = 0.02;

/// Weights that are read once have to be at least so many bytes in all.
const MEMORY: usize = 256 << 20;

/// Weights that are read once have to be so many times the last cache.
const CACHES: usize = 8;

/// The cache that is assumed where the system tells none.
const USUAL_CACHE: usize = 32 << 20;

/// What a case multiplies.
#[derive(Debug)]
pub(super) struct Operands {
    /// n rows of blocks.
    pub(super) weights: Vec<u8>,
    /// How many of them differ; after them they repeat.
    pub(super) distinct: usize,
    /// m rows of k.
    pub(super) x: Vec<f32>,
    /// How often the weights are to lie in memory.
    pub(super) copies: usize,
}

impl Operands {
    /// Makes them from the case alone.
    pub(super) fn of(case: &Case) -> Result<Self> {
        let &Case { ty, n, k, m, .. } = case;
        let ty = ty.blocks()?;
        let bytes = case.weight_bytes().with_context(|| format!("{ty}: rows of {k} are no whole blocks"))?;
        let mut random = Random::seeded(1);
        let distinct = distinct_rows(n);
        let mut weights = vec![0; bytes / n * distinct];
        encode_row(ty, &random.normals(distinct * k, DEVIATION), &mut weights)?;
        let row = weights.len();
        let mut weights = weights.repeat(bytes.div_ceil(row));
        weights.truncate(bytes);
        let copies = if case.is_cold() { beyond_caches().div_ceil(bytes) } else { 1 };
        Ok(Self { weights, distinct, x: random.normals(m * k, 1.0), copies })
    }
}

/// How many of n rows differ.
pub(super) fn distinct_rows(n: usize) -> usize {
    ROWS.min(n)
}

/// Bytes that no cache holds.
pub(super) fn beyond_caches() -> usize {
    MEMORY.max(last_cache().unwrap_or(USUAL_CACHE).saturating_mul(CACHES))
}

/// Bytes of the last cache, as Linux tells.
fn last_cache() -> Option<usize> {
    let caches = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    caches.filter_map(|cache| parse_size(&fs::read_to_string(cache.ok()?.path().join("size")).ok()?)).max()
}

/// `32768K`.
fn parse_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;

    use super::*;

    #[test]
    fn sizes_of_caches_have_units() {
        assert_eq!(parse_size("32768K\n"), Some(32 << 20));
        assert_eq!(parse_size("96M"), Some(96 << 20));
        assert_eq!(parse_size("32"), None);
        assert!(beyond_caches() >= MEMORY);
    }

    #[test]
    fn rows_repeat_and_one_token_reads_more_than_the_caches_hold() {
        let case = Case { ty: GgmlType::Q8_0.into(), n: 200, k: 64, m: 1, threads: 1 };
        let Operands { weights, distinct, x, copies } = Operands::of(&case).expect("whole blocks");
        assert_eq!((weights.len(), distinct, x.len()), (200 * 68, 61, 64));
        assert_eq!(weights[..68], weights[61 * 68..62 * 68]);
        assert_ne!(weights[..68], weights[68..136]);
        assert!(copies * weights.len() >= beyond_caches());
        assert_eq!(Operands::of(&Case { m: 2, ..case }).expect("whole blocks").copies, 1);

        let error = Operands::of(&Case { k: 33, ..case }).expect_err("half a block");
        assert_eq!(error.to_string(), "Q8_0: rows of 33 are no whole blocks");
    }
}

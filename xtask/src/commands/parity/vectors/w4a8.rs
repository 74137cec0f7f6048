//! W4A8: records, activations and products that were derived from PyTorch's source.

use std::path::Path;

use anyhow::{Context, Result};
use half::bf16;
use keepq_gemm::{Driver, Executor, Scratch};
use keepq_simd::Tier;
use keepq_tinygemm::w4a8::{MAX_BLOCK, ROWS, Weights, by_blocks, pack, packed_bytes};
use keepq_tinygemm::{ActBuf, Acts, narrow, widen};
use serde::Deserialize;

use super::arrays::{Npz, check_sha256};
use super::{Case, Vectors};
use crate::sha256;

/// Tokens of the activations.
const TOKENS: usize = 8;

/// How many of them are multiplied together.
const PRODUCTS: [usize; 3] = [1, 3, TOKENS];

/// A case in `w4a8_derived.json`.
#[derive(Debug, Deserialize)]
pub(super) struct CaseIndex {
    file: String,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "K")]
    k: usize,
    group: usize,
    symmetric: bool,
    packed_sha256: String,
    out_sha256: String,
}

/// The arrays of a case.
struct W4A8 {
    n: usize,
    k: usize,
    group: usize,
    x: Vec<f32>,
    codes: Vec<u8>,
    /// By blocks, as the records need them.
    scales: Vec<f32>,
    zeros: Vec<i8>,
    records: Vec<u8>,
    /// With 128 added.
    act_codes: Vec<u8>,
    act_scales: Vec<f32>,
    products: Vec<bf16>,
}

/// The cases of an index, with their arrays.
pub(super) fn cases(folder: &Path, index: Vec<CaseIndex>) -> Result<Vec<Case>> {
    let case = |index: CaseIndex| {
        let &CaseIndex { n, k, group, symmetric, .. } = &index;
        let kind = if symmetric { "symmetric" } else { "asymmetric" };
        let name = format!("w4a8/{kind}/n{n}-k{k}-g{group}");
        let mut npz = Npz::open(folder, &index.file)?;
        let vectors = W4A8::read(&mut npz, &index).with_context(|| name.clone())?;
        Ok(Case { name, sha256: Some(npz.file_sha256()?), vectors: Some(Box::new(vectors)) })
    };
    index.into_iter().map(case).collect()
}

impl W4A8 {
    fn read(npz: &mut Npz, index: &CaseIndex) -> Result<Self> {
        let &CaseIndex { n, k, group, .. } = index;
        // Refuses what is no such shape.
        let bytes = packed_bytes(n, k, group)?;
        let (groups, block) = (k / group, group.min(MAX_BLOCK));
        let record = bytes / (n / ROWS).max(1) / (k / block).max(1);

        let records: Vec<u8> = npz.array("packed", &[n / ROWS, k / block, record])?;
        check_sha256(&index.packed_sha256, &sha256::of_bytes(&records)).context("packed")?;
        let products: Vec<u16> = npz.array("out_bf16", &[TOKENS, n])?;
        let bytes: Vec<u8> = products.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        check_sha256(&index.out_sha256, &sha256::of_bytes(&bytes)).context("out_bf16")?;

        let (mut scales, mut zeros) = (vec![0.0; n * groups], vec![0; n * groups]);
        by_blocks(n, &npz.array("S", &[n, groups])?, &mut scales)?;
        let plain: Vec<_> = npz.array("Z", &[n, groups])?.into_iter().map(u8::cast_signed).collect();
        by_blocks(n, &plain, &mut zeros)?;
        let x: Vec<_> = npz.array("A", &[TOKENS, k])?.into_iter().map(bf16::from_bits).collect();
        let mut wide = vec![0.0; x.len()];
        widen(&x, &mut wide);
        Ok(Self {
            n,
            k,
            group,
            x: wide,
            codes: npz.array("W", &[n, k])?,
            scales,
            zeros,
            records,
            act_codes: npz.array("act_u8", &[TOKENS, k])?,
            act_scales: npz.array("act_scale", &[TOKENS])?,
            products: products.into_iter().map(bf16::from_bits).collect(),
        })
    }

    fn weights(&self) -> Result<Weights<'_>> {
        Ok(Weights::new((self.n, self.k), self.group, &self.records, &self.scales, &self.zeros)?)
    }

    /// Whether token t is the stored one.
    fn has(&self, x: Acts<'_>, t: usize) -> bool {
        let mut codes = x.codes(t).iter().zip(&self.act_codes[t * self.k..]);
        codes.all(|(code, stored)| i16::from(*code) + 128 == i16::from(*stored))
            && x.scale(t).to_bits() == self.act_scales[t].to_bits()
    }
}

impl Vectors for W4A8 {
    fn packing(&self) -> Result<Vec<String>> {
        let &Self { n, k, group, .. } = self;
        let mut differences = Vec::new();
        let mut records = vec![0; self.records.len()];
        pack((n, k), group, &self.codes, &self.scales, &self.zeros, &mut records)?;
        if records != self.records {
            differences.push("the records differ".to_owned());
        }
        let mut codes = vec![0; self.codes.len()];
        self.weights()?.unpack(&mut codes)?;
        if codes != self.codes {
            differences.push("the unpacked codes differ".to_owned());
        }
        Ok(differences)
    }

    fn products(&self, tier: Tier, executor: &dyn Executor) -> Result<Vec<String>> {
        let &Self { n, k, .. } = self;
        let driver = Driver::new(tier, executor);
        let mut differences = Vec::new();
        let mut buffer = ActBuf::new();
        for m in PRODUCTS {
            let x = tier.quantize_tokens(&mut buffer, m, k, &self.x[..m * k])?;
            if !(0..m).all(|t| self.has(x, t)) {
                differences.push(format!("activations/m{m}"));
            }
            let (mut y, mut rounded) = (vec![f32::NAN; m * n], vec![bf16::NAN; m * n]);
            driver.matmul_w4a8(x, self.weights()?, &mut y, &mut Scratch::new())?;
            narrow(&y, &mut rounded);
            if rounded.iter().zip(&self.products).any(|(y, wanted)| y.to_bits() != wanted.to_bits()) {
                differences.push(format!("m{m}"));
            }
        }
        Ok(differences)
    }
}

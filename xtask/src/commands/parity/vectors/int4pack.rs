//! int4pack: bytes of PyTorch's three packers, and products in each layout's own arithmetic.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use half::bf16;
use keepq_gemm::{Driver, Executor, Scratch, W4A16Switches, W4A16Weight};
use keepq_simd::Tier;
use keepq_tinygemm::w4a16::{Layout, Packed, Weights, pack};
use serde::Deserialize;

use super::arrays::{Bin, BinIndex};
use super::{Case, Vectors};

/// Tokens of the activations; products are of the first ones.
const TOKENS: usize = 32;

/// How many there are products of.
const PRODUCTS: [usize; 3] = [1, 3, TOKENS];

/// `index.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Index {
    cases: Vec<CaseIndex>,
}

#[derive(Debug, Deserialize)]
struct CaseIndex {
    kind: String,
    #[serde(rename = "N")]
    n: usize,
    #[serde(rename = "K")]
    k: usize,
    group: usize,
    #[serde(default)]
    sha256: BTreeMap<String, String>,
    /// None where only sums are stored.
    bin: Option<BinIndex>,
}

/// The arrays of a case.
struct Int4Pack {
    n: usize,
    k: usize,
    group: usize,
    x: Vec<bf16>,
    codes: Vec<u8>,
    scales: Vec<[bf16; 2]>,
    layouts: Vec<Of>,
}

/// Those of a layout.
struct Of {
    layout: Layout,
    packed: Vec<u8>,
    /// Tokens, and their outputs.
    products: Vec<(usize, Vec<bf16>)>,
}

/// PyTorch's name of a layout's capability, and that of its products. Those of AVX-512 are of an emulation.
const fn names(layout: Layout) -> (&'static str, &'static str) {
    match layout {
        Layout::Avx512 => ("avx512", "avx512_emulated"),
        Layout::Avx2 => ("avx2", "avx2"),
        Layout::Scalar => ("default", "default"),
    }
}

/// The cases of an index, with their arrays.
pub(super) fn cases(folder: &Path, index: Index) -> Result<Vec<Case>> {
    let case = |index: CaseIndex| {
        let CaseIndex { kind, n, k, group, sha256, bin } = index;
        let name = format!("int4pack/{kind}/n{n}-k{k}-g{group}");
        let Some(bin) = bin else { return Ok(Case { name, sha256: None, vectors: None }) };
        let bin = Bin::open(folder, bin, sha256)?;
        let vectors = Int4Pack::read(&bin, n, k, group).with_context(|| name.clone())?;
        Ok(Case { name, sha256: Some(bin.file_sha256()), vectors: Some(Box::new(vectors)) })
    };
    index.cases.into_iter().map(case).collect()
}

impl Int4Pack {
    fn read(bin: &Bin, n: usize, k: usize, group: usize) -> Result<Self> {
        let floats = |name: &str, shape: &[usize]| {
            Ok::<_, anyhow::Error>(bin.array(name, shape)?.into_iter().map(bf16::from_bits).collect::<Vec<_>>())
        };
        let groups = k.checked_div(group).context("groups of nothing")?;
        let mut layouts = Vec::new();
        for layout in Layout::ALL {
            let (packer, operator) = names(layout);
            let mut products = Vec::new();
            for m in PRODUCTS {
                let name = format!("out_{operator}_m{m}");
                if bin.has(&name) {
                    products.push((m, floats(&name, &[m, n])?));
                }
            }
            layouts.push(Of { layout, packed: bin.array(&format!("packed_{packer}"), &[n, k / 2])?, products });
        }
        Ok(Self {
            n,
            k,
            group,
            x: floats("A", &[TOKENS, k])?,
            codes: bin.array("W", &[n, k])?,
            scales: floats("SZ", &[groups, n, 2])?.as_chunks().0.to_vec(),
            layouts,
        })
    }
}

impl Vectors for Int4Pack {
    fn packing(&self) -> Result<Vec<String>> {
        let &Self { n, k, .. } = self;
        let mut differences = Vec::new();
        for Of { layout, packed, .. } in &self.layouts {
            let mut bytes = vec![0; packed.len()];
            pack(*layout, n, k, &self.codes, &mut bytes)?;
            if bytes != *packed {
                differences.push(format!("{layout:?}: the packed bytes differ"));
            }
            let mut codes = vec![0; self.codes.len()];
            let packed = Packed::new(*layout, n, k, packed)?;
            Weights::new(packed, self.group, &self.scales)?;
            packed.unpack(&mut codes)?;
            if codes != self.codes {
                differences.push(format!("{layout:?}: the unpacked codes differ"));
            }
        }
        Ok(differences)
    }

    fn products(&self, tier: Tier, executor: &dyn Executor) -> Result<Vec<String>> {
        let &Self { n, k, group, .. } = self;
        let driver = Driver::new(tier, executor);
        let mut differences = Vec::new();
        for Of { layout, packed, products } in &self.layouts {
            let weights = Weights::new(Packed::new(*layout, n, k, packed)?, group, &self.scales)?;
            for (m, wanted) in products {
                // By codes where they lie, and by panels of floats wherever they fill a tile.
                for dequant_threshold in [usize::MAX, 0] {
                    let weight =
                        W4A16Weight::new(weights, W4A16Switches { dequant_threshold, ..W4A16Switches::default() })?;
                    let mut y = vec![bf16::NAN; m * n];
                    driver.matmul_w4a16(*m, &self.x[..m * k], &weight, &mut y, &mut Scratch::new())?;
                    if y.iter().zip(wanted).any(|(y, wanted)| y.to_bits() != wanted.to_bits()) {
                        let how = if dequant_threshold == 0 { "panels" } else { "codes" };
                        differences.push(format!("{layout:?}/m{m}/{how}"));
                    }
                }
            }
        }
        Ok(differences)
    }
}

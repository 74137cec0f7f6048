//! [`OursFourBit`]: this project's side of a row of a 4-bit path.

use anyhow::Result;
use half::bf16;
use keepq_gemm::{Driver, Scratch, W4A16Switches, W4A16Weight};
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::select::PathKind;
use keepq_tinygemm::w4a16::{Layout, Packed};
use keepq_tinygemm::{ActBuf, w4a8, w4a16, wna16};

use super::case::Case;
use super::four_bit::Codes;
use super::ours::Multiply;

/// int4pack's layout: the one that is made for machines of this project's best tier.
const LAYOUT: Layout = Layout::Avx2;

/// The weights, packed for their path.
pub(super) enum Stored {
    W4A16 { packed: Vec<u8>, scales: Vec<[bf16; 2]>, group: usize },
    W4A8 { records: Vec<u8>, scales: Vec<f32>, zeros: Vec<i8>, group: usize },
    Int4(QuantizedMatrixQ4),
    Wna16 { words: Vec<u8>, scales: Vec<bf16>, group: usize },
}

impl Stored {
    /// Packs n rows.
    pub(super) fn new(&Case { n, k, .. }: &Case, path: PathKind, from: &Codes) -> Result<Self> {
        let &Codes { group, distinct, ref codes, ref scales, .. } = from;
        let codes: Vec<_> = (0..n).flat_map(|row| &codes[row % distinct * k..][..k]).copied().collect();
        let groups = k / group;
        let scale = |row: usize, g: usize| scales[row % distinct * groups + g];
        // By groups, as all but W4A8 have them.
        let by_groups = || (0..groups).flat_map(|g| (0..n).map(move |row| (row, g)));
        Ok(match path {
            PathKind::W4A16 => {
                let mut packed = vec![0; w4a16::packed_bytes(n, k)?];
                w4a16::pack(LAYOUT, n, k, &codes, &mut packed)?;
                Self::W4A16 { packed, scales: by_groups().map(|(row, g)| scale(row, g)).collect(), group }
            }
            PathKind::W4A8 => {
                let plain: Vec<_> = (0..n * groups).map(|i| scale(i / groups, i % groups)[0].to_f32()).collect();
                let (mut scales, zeros) = (vec![0.0; plain.len()], vec![8; plain.len()]);
                w4a8::by_blocks(n, &plain, &mut scales)?;
                let mut records = vec![0; w4a8::packed_bytes(n, k, group)?];
                w4a8::pack((n, k), group, &codes, &scales, &zeros, &mut records)?;
                Self::W4A8 { records, scales, zeros, group }
            }
            PathKind::Int4 => {
                let rows = codes.chunks_exact(k).flat_map(|row| row.chunks(2));
                // 8 is the code of 0, which fills up rows of odd length.
                let bytes = rows.map(|two| two[0] | two.get(1).unwrap_or(&8) << 4).collect();
                let scales = (0..n).map(|row| scale(row, 0)[0].to_f32()).collect();
                Self::Int4(QuantizedMatrixQ4::from_parts(n, k, bytes, scales)?)
            }
            PathKind::Fallback => {
                let mut words = vec![0; n * k / 2];
                wna16::pack(n, k, &codes, &mut words)?;
                Self::Wna16 { words, scales: by_groups().map(|(row, g)| scale(row, g)[0]).collect(), group }
            }
        })
    }
}

/// Weights as the driver takes them.
enum Weights<'a> {
    W4A16(W4A16Weight<'a>),
    W4A8(w4a8::Weights<'a>),
    Int4(&'a QuantizedMatrixQ4),
    Wna16(wna16::Weights<'a>),
}

/// The driver, with the weights in the path's own layout, and nothing beside it where nothing else is asked for.
pub(super) struct OursFourBit<'a> {
    case: Case,
    driver: Driver<'a>,
    weights: Weights<'a>,
    x: Vec<f32>,
    /// W4A16 has bf16 in and out.
    x16: Vec<bf16>,
    y16: Vec<bf16>,
    y: Vec<f32>,
    acts: ActBuf,
    scratch: Scratch,
}

impl<'a> OursFourBit<'a> {
    pub(super) fn new(case: Case, stored: &'a Stored, x: &[f32], row_major: bool, driver: Driver<'a>) -> Result<Self> {
        let Case { n, k, m, .. } = case;
        let weights = match stored {
            Stored::W4A16 { packed, scales, group } => {
                let packed = Packed::new(LAYOUT, n, k, packed)?;
                let weights = w4a16::Weights::new(packed, *group, scales)?;
                let switches = W4A16Switches { direct_dequant: !row_major, ..W4A16Switches::default() };
                Weights::W4A16(W4A16Weight::new(weights, switches)?)
            }
            Stored::W4A8 { records, scales, zeros, group } => {
                Weights::W4A8(w4a8::Weights::new((n, k), *group, records, scales, zeros)?)
            }
            Stored::Int4(weights) => Weights::Int4(weights),
            Stored::Wna16 { words, scales, group } => {
                Weights::Wna16(wna16::Weights::new((n, k), *group, words, scales, wna16::Zeros::Eight)?)
            }
        };
        Ok(Self {
            case,
            driver,
            weights,
            x: x.to_vec(),
            x16: x.iter().copied().map(bf16::from_f32).collect(),
            y16: vec![bf16::ZERO; m * n],
            y: vec![0.0; m * n],
            acts: ActBuf::new(),
            scratch: Scratch::new(),
        })
    }
}

impl OursFourBit<'_> {
    fn multiply_inside(&mut self) -> Result<()> {
        let Self { case, driver, weights, x, x16, y16, y, acts, scratch } = self;
        let &mut Case { k, m, .. } = case;
        match weights {
            Weights::W4A16(w) => driver.matmul_w4a16(m, x16, w, y16, scratch)?,
            Weights::W4A8(w) => driver.matmul_w4a8(driver.tier().quantize_tokens(acts, m, k, x)?, *w, y, scratch)?,
            Weights::Int4(w) => driver.matmul_int4(driver.tier().quantize_tokens(acts, m, k, x)?, w, y, scratch)?,
            Weights::Wna16(w) => driver.matmul_wna16(m, x, *w, y, scratch)?,
        }
        Ok(())
    }
}

impl Multiply for OursFourBit<'_> {
    fn copies(&self) -> usize {
        1
    }

    fn multiply(&mut self) -> Result<()> {
        let driver = self.driver;
        let mut result = Ok(());
        // Inside the pool, as a whole forward pass is.
        driver.executor().enter(&mut || result = self.multiply_inside());
        result
    }

    fn output(&self) -> Vec<f32> {
        match self.weights {
            Weights::W4A16(_) => self.y16.iter().map(|y| y.to_f32()).collect(),
            _ => self.y.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use keepq_gemm::Serial;
    use keepq_simd::Tier;

    use super::super::agreement;
    use super::super::case::Type;
    use super::super::four_bit::FourBit;
    use super::*;

    impl Stored {
        fn bytes(&self) -> usize {
            match self {
                Self::W4A16 { packed, scales, .. } => packed.len() + size_of_val(&**scales),
                Self::W4A8 { records, scales, zeros, .. } => records.len() + size_of_val(&**scales) + zeros.len(),
                Self::Int4(weights) => weights.bytes(),
                Self::Wna16 { words, scales, .. } => words.len() + size_of_val(&**scales),
            }
        }
    }

    #[test]
    fn every_path_multiplies_the_rows_that_the_peers_have() {
        for path in PathKind::ALL {
            let four_bit = FourBit { path, group: 64 };
            let case = Case { ty: Type::FourBit(four_bit), n: 96, k: 128, m: 7, threads: 1 };
            let codes = Codes::of(&case, four_bit);
            let rows = codes.rows();
            let dot =
                |x: &[f32], row: &[f32]| x.iter().zip(row).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>();
            let row = |n: usize| &rows[n % codes.distinct * 128..][..128];
            let products = codes.x.chunks(128).flat_map(|x| (0..96).map(move |n| dot(x, row(n)) as f32));
            let wanted: Vec<_> = products.collect();

            let stored = Stored::new(&case, path, &codes).expect("a legal shape");
            assert_eq!(Some(stored.bytes()), case.weight_bytes(), "{four_bit}");
            for row_major in [false, true] {
                let driver = Driver::new(Tier::best(), &Serial);
                let mut ours = OursFourBit::new(case, &stored, &codes.x, row_major, driver).expect("a legal shape");
                ours.multiply().expect("shapes that fit");
                let difference = agreement::difference(&wanted, &ours.output(), false).expect("the same operands");
                assert!(difference < 0.012, "{four_bit}: {difference}");
            }
        }
    }
}

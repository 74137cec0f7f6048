//! [`Tier::self_test`]: kernels beside the definitions, by a few operands that are hard on them.

use std::error::Error;

use half::bf16;
use keepq_tinygemm::int4::{QuantizedMatrixQ4, linear_q4};
use keepq_tinygemm::select::PathKind;
use keepq_tinygemm::w4a16::{self, Layout};
use keepq_tinygemm::{ActBuf, w4a8, wna16};

use crate::Tier;

/// Tokens: more than go by codes where they lie, a tile of panels and a rest.
const TOKENS: usize = 7;

/// Tokens by AMX: two tiles, one and a rest.
const TOKENS_BY_AMX: usize = 53;

/// Codes of a row: two groups.
const K: usize = 128;

/// See [`K`].
const GROUP: usize = 64;

/// What codes and activations are.
#[derive(Clone, Copy)]
enum Operands {
    /// Anything, of magnitudes that are far apart.
    Mixed,
    /// All codes the highest, all activations the same: the largest sums of products.
    Highest,
    /// All codes the lowest, activations of either sign in turn.
    Lowest,
}

impl Operands {
    const ALL: [Self; 3] = [Self::Mixed, Self::Highest, Self::Lowest];
}

impl Tier {
    /// Whether the kernels of a 4-bit path have the bits of its definition: all layouts, the largest sums of either sign, blocks that are
    /// not full, tokens one by one and many at once. It takes about a millisecond.
    ///
    /// A processor that is virtual, or mends its faults in microcode, may announce instructions that it does not run as they are defined.
    #[must_use]
    pub fn self_test(self, path: PathKind) -> bool {
        Operands::ALL.into_iter().all(|operands| {
            let same = match path {
                PathKind::W4A16 => self.same_w4a16(operands),
                PathKind::W4A8 => self.same_w4a8(operands),
                PathKind::Int4 => self.same_int4(operands),
                PathKind::Fallback => self.same_fallback(operands),
            };
            same.expect("operands of a legal shape")
        })
    }

    const fn tokens_tried(self) -> usize {
        if self.amx().is_some() { TOKENS_BY_AMX } else { TOKENS }
    }

    fn same_w4a16(self, operands: Operands) -> Result<bool, Box<dyn Error>> {
        // A block of AVX-512's layout and one of 16 rows, which lies in pairs in every layout.
        let n = 80;
        let (m, mut numbers) = (self.tokens_tried(), Numbers::new(operands));
        let (codes, x) = (numbers.codes(n * K), numbers.activations(m));
        let scales: Vec<[bf16; 2]> = (0..n * (K / GROUP)).map(|_| [numbers.bf16(), numbers.bf16()]).collect();
        let mut bytes = vec![0; n * K / 2];
        for layout in Layout::ALL {
            let w = w4a16::Weights::new(w4a16::pack(layout, n, K, &codes, &mut bytes)?, GROUP, &scales)?;
            let same = same(
                (m, n),
                |y| w.multiply(&x, y),
                |tokens, y| self.w4a16_strip(w, 0..n, &x[..tokens * K], y, Self::DEQUANT_THRESHOLD),
            );
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn same_w4a8(self, operands: Operands) -> Result<bool, Box<dyn Error>> {
        let n = 64;
        let (m, mut numbers) = (self.tokens_tried(), Numbers::new(operands));
        let (codes, x) = (numbers.codes(n * K), numbers.activations(m));
        let scales: Vec<f32> = (0..n * (K / GROUP)).map(|_| numbers.float()).collect();
        let zeros: Vec<i8> = (0..scales.len()).map(|_| numbers.zero()).collect();
        let mut records = vec![0; w4a8::packed_bytes(n, K, GROUP)?];
        let w = w4a8::pack((n, K), GROUP, &codes, &scales, &zeros, &mut records)?;
        let mut buffer = ActBuf::new();
        let x = buffer.quantize(m, K, &x)?;
        Ok(same((m, n), |y| w.multiply(x, y), |tokens, y| self.w4a8_strip(w, 0..n, x.tokens(0..tokens), y)))
    }

    fn same_int4(self, operands: Operands) -> Result<bool, Box<dyn Error>> {
        // Neither rows nor codes are whole steps of a kernel.
        let (n, k) = (37, K - 1);
        let (m, mut numbers) = (self.tokens_tried(), Numbers::new(operands));
        let codes = numbers.codes(n * k);
        // Two to a byte, and what is after the last one is the code of 0.
        let bytes = codes.chunks(k).flat_map(|row| row.chunks(2));
        let bytes = bytes.map(|two| two[0] | two.get(1).unwrap_or(&8) << 4).collect();
        let scales = (0..n).map(|_| numbers.float().abs()).collect();
        let w = QuantizedMatrixQ4::from_parts(n, k, bytes, scales)?;
        let x = numbers.activations(m);
        let mut buffer = ActBuf::new();
        let x = buffer.quantize(m, k, &x[..m * k])?;
        Ok(same((m, n), |y| linear_q4(x, &w, y), |tokens, y| self.int4_strip(&w, 0..n, x.tokens(0..tokens), y)))
    }

    fn same_fallback(self, operands: Operands) -> Result<bool, Box<dyn Error>> {
        let n = 48;
        let (m, mut numbers) = (self.tokens_tried(), Numbers::new(operands));
        let (codes, x) = (numbers.codes(n * K), numbers.activations(m));
        let scales: Vec<bf16> = (0..n * (K / GROUP)).map(|_| numbers.bf16()).collect();
        let zeros: Vec<i32> = (0..n * (K / GROUP) / 8).map(|_| numbers.bits().cast_signed()).collect();
        let mut words = vec![0; n * K / 2];
        wna16::pack(n, K, &codes, &mut words)?;
        let w = wna16::Weights::new((n, K), GROUP, &words, &scales, wna16::Zeros::Packed(&zeros))?;
        Ok(same((m, n), |y| w.multiply(&x, y), |tokens, y| self.wna16_strip(w, 0..n, &x[..tokens * K], y)))
    }
}

/// Whether one token and all of them have the bits that are defined.
fn same((m, n): (usize, usize), define: impl FnOnce(&mut [f32]), multiply: impl Fn(usize, &mut [f32])) -> bool {
    let (mut want, mut y) = (vec![f32::NAN; m * n], vec![f32::NAN; m * n]);
    define(&mut want);
    [1, m].into_iter().all(|tokens| {
        let (want, y) = (&want[..tokens * n], &mut y[..tokens * n]);
        multiply(tokens, y);
        y.iter().zip(want).all(|(y, want)| y.to_bits() == want.to_bits())
    })
}

/// Operands, the same each time.
struct Numbers {
    operands: Operands,
    state: u64,
}

impl Numbers {
    const fn new(operands: Operands) -> Self {
        Self { operands, state: 1 }
    }

    fn bits(&mut self) -> u32 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 32) as u32
    }

    /// Of either sign, up to 2^11 times as large as others.
    fn float(&mut self) -> f32 {
        (self.bits() as f32 / 2_147_483_648.0 - 1.0) * (1 << (self.bits() % 12)) as f32
    }

    fn bf16(&mut self) -> bf16 {
        bf16::from_f32(self.float())
    }

    fn codes(&mut self, len: usize) -> Vec<u8> {
        let code = |_| match self.operands {
            Operands::Mixed => (self.bits() >> 28) as u8,
            Operands::Highest => 15,
            Operands::Lowest => 0,
        };
        (0..len).map(code).collect()
    }

    /// A zero point as far from the codes as it may be.
    fn zero(&mut self) -> i8 {
        match self.operands {
            Operands::Mixed => self.bits() as i8,
            Operands::Highest => i8::MIN,
            Operands::Lowest => i8::MAX,
        }
    }

    /// `m * K` of them.
    fn activations(&mut self, m: usize) -> Vec<f32> {
        let activation = |i: usize| match self.operands {
            Operands::Mixed => self.float(),
            Operands::Highest => 1.0,
            Operands::Lowest => [1.0, -1.0][i % 2],
        };
        (0..m * K).map(activation).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_passes_on_every_path() {
        for tier in Tier::available() {
            for path in PathKind::ALL {
                assert!(tier.self_test(path), "{path} on {tier}");
            }
        }
    }

    /// In the first token, and in the last one.
    #[test]
    fn a_single_bit_is_found() {
        let define = |y: &mut [f32]| y.fill(1.0);
        assert!(same((7, 3), define, |_, y| y.fill(1.0)));
        for at in [0, 7 * 3 - 1] {
            let off_by_one = |_, y: &mut [f32]| {
                y.fill(1.0);
                if let Some(y) = y.get_mut(at) {
                    *y = 1.0_f32.next_up();
                }
            };
            assert!(!same((7, 3), define, off_by_one), "{at}");
        }
        // -0 is not 0, and what is not written is not right.
        assert!(!same((7, 3), |y| y.fill(0.0), |_, y| y.fill(-0.0)));
        assert!(!same((7, 3), define, |_, _| {}));
    }
}

//! Each tier's kernels of the 4-bit paths have the bits of the definitions, whatever m, the strip and the layout.

mod acts;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
mod int4;
mod w4a16;
mod w4a8;
mod wna16;

use std::sync::LazyLock;

use half::bf16;
use keepq_goldens::tested_tiers;
use keepq_simd::Tier;

/// Asked for once, since there are thousands of comparisons.
static TIERS: LazyLock<Vec<Tier>> = LazyLock::new(tested_tiers);

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    fn codes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.bits() >> 28) as u8).collect()
    }

    /// Of magnitudes that are far apart, so that roundings show.
    fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| (self.bits() as f32 / 2_147_483_648.0 - 1.0) * (1 << (self.bits() % 12)) as f32).collect()
    }

    fn bf16s(&mut self, len: usize) -> Vec<bf16> {
        self.floats(len).into_iter().map(bf16::from_f32).collect()
    }

    fn pairs(&mut self, len: usize) -> Vec<[bf16; 2]> {
        self.bf16s(2 * len).as_chunks().0.to_vec()
    }

    /// Any floats, infinities and NaN among them.
    fn any(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| f32::from_bits(self.bits())).collect()
    }
}

fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|y| if y.is_nan() { f32::NAN } else { *y }.to_bits()).collect()
}

/// Compares what `strip` makes of `rows` on each tier with these rows of `want[m,n]`.
fn compare(want: &[f32], n: usize, rows: &std::ops::Range<usize>, what: &str, strip: impl Fn(Tier, &mut [f32])) {
    compare_on(&TIERS, want, n, rows, what, strip);
}

/// [`compare`] on these tiers.
fn compare_on(
    tiers: &[Tier],
    want: &[f32],
    n: usize,
    rows: &std::ops::Range<usize>,
    what: &str,
    strip: impl Fn(Tier, &mut [f32]),
) {
    let m = want.len() / n;
    for &tier in tiers {
        let mut y = vec![f32::NAN; m * rows.len()];
        strip(tier, &mut y);
        for t in 0..m {
            let (got, want) = (&y[t * rows.len()..][..rows.len()], &want[t * n..][rows.clone()]);
            assert_eq!(bits(got), bits(want), "{tier} {what}, rows {rows:?} of {n}, token {t} of {m}");
        }
    }
}

//! W4A16: packed in every layout, and row by row.

use half::bf16;
use keepq_goldens::is_quick;
use keepq_simd::Tier;
use keepq_tinygemm::w4a16::{Layout, RowMajor, Weights, pack};

use super::{Random, compare};

/// Below, at and above what goes together: up to 3 tokens directly, tiles of 1 to 6, 256 that wait.
const TOKENS: [usize; 14] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 257, 263];

#[test]
fn results_are_the_definition_on_every_tier() {
    let mut random = Random(1);
    // An emulator meets blocks of all widths, and a group that is not the only one.
    let (ns, ks): (&[usize], &[(usize, usize)]) = match is_quick() {
        true => (&[16, 80], &[(160, 32)]),
        false => (
            &[16, 32, 48, 64, 80, 96, 112, 144],
            &[(0, 32), (32, 32), (128, 64), (160, 32), (256, 256), (384, 128), (512, 256)],
        ),
    };
    for &n in ns {
        for &(k, group) in ks {
            let most = if (n, k) == (112, 384) { 263 } else { 13 };
            let (codes, scales, x) = (random.codes(n * k), random.pairs(k / group * n), random.floats(most * k));
            for layout in Layout::ALL {
                let mut bytes = vec![0; n * k / 2];
                let packed = pack(layout, n, k, &codes, &mut bytes).unwrap();
                let w = Weights::new(packed, group, &scales).unwrap();
                let mut want = vec![f32::NAN; most * n];
                w.multiply(&x, &mut want);
                for m in TOKENS.into_iter().filter(|m| *m <= most) {
                    check(w, &x[..m * k], &want[..m * n]);
                }
            }
        }
    }
}

/// Strips of whole blocks of any layout, with thresholds on both sides of m.
fn check(w: Weights<'_>, x: &[f32], want: &[f32]) {
    let (n, layout) = (w.packed().n(), w.packed().layout());
    for rows in [0..n, n / 64 * 64..n] {
        for threshold in [0, usize::MAX] {
            let what = format!("{layout:?} k = {}, from {threshold} tokens", w.packed().k());
            compare(want, n, &rows, &what, |tier, y| tier.w4a16_strip(w, rows.clone(), x, y, threshold));
        }
    }
}

#[test]
fn row_by_row_the_results_are_those_of_the_layout() {
    let mut random = Random(2);
    // 37 rows have no packed form: those of 48 that they are the first of.
    for (k, group) in [(0, 32), (32, 32), (160, 32), (512, 256), (384, 64)] {
        let (n, m) = (48, 13);
        let (codes, scales, x) = (random.codes(n * k), random.pairs(k / group * n), random.floats(m * k));
        for layout in Layout::ALL {
            let mut bytes = vec![0; n * k / 2];
            let w = Weights::new(pack(layout, n, k, &codes, &mut bytes).unwrap(), group, &scales).unwrap();
            let [mut plain_scales, mut plain_zeros] = [(); 2].map(|()| vec![bf16::ZERO; scales.len()]);
            let mut plain = vec![0; n * k / 2];
            w.to_row_major(&mut plain, &mut plain_scales, &mut plain_zeros).unwrap();
            let groups = 37 * (k / group);
            let plain =
                RowMajor::new((37, k), group, &plain[..37 * k / 2], &plain_scales[..groups], &plain_zeros[..groups]);
            let plain = plain.unwrap();
            let mut want = vec![f32::NAN; m * n];
            w.multiply(&x, &mut want);
            for m in [0, 1, 6, m] {
                let (x, want) = (&x[..m * k], &want[..m * n]);
                for rows in [0..37, 5..6, 3..36, 37..37] {
                    let what = format!("{layout:?} k = {k}");
                    compare(want, n, &rows, &what, |tier, y| {
                        tier.w4a16_row_major_strip(layout, plain, rows.clone(), x, y);
                    });
                }
            }
        }
    }
}

#[test]
fn strips_are_parts_of_the_whole() {
    let (n, k, group, m) = (176, 64, 32, 7);
    let mut random = Random(2);
    let (codes, x, scales) = (random.codes(n * k), random.floats(m * k), random.pairs(k / group * n));
    for layout in Layout::ALL {
        let mut bytes = vec![0; n * k / 2];
        let w = Weights::new(pack(layout, n, k, &codes, &mut bytes).unwrap(), group, &scales).unwrap();
        let mut want = vec![f32::NAN; m * n];
        w.multiply(&x, &mut want);
        for rows in [0..64, 64..n, 128..n, 0..0, n..n] {
            compare(&want, n, &rows, &format!("{layout:?}"), |tier, y| {
                tier.w4a16_strip(w, rows.clone(), &x, y, Tier::DEQUANT_THRESHOLD);
            });
        }
    }
}

/// Infinities, NaN and denormals among scales, zeros and activations.
#[test]
fn any_numbers_have_the_same_results() {
    let (n, k, m) = (80, 64, 8);
    let mut random = Random(3);
    let codes = random.codes(n * k);
    let scales: Vec<[bf16; 2]> = (0..2 * n).map(|_| [(); 2].map(|()| bf16::from_bits(random.bits() as u16))).collect();
    for layout in Layout::ALL {
        let mut bytes = vec![0; n * k / 2];
        let w = Weights::new(pack(layout, n, k, &codes, &mut bytes).unwrap(), 32, &scales).unwrap();
        for x in [random.any(m * k), vec![f32::from_bits(1); m * k]] {
            let mut want = vec![f32::NAN; m * n];
            w.multiply(&x, &mut want);
            check(w, &x, &want);
        }
    }
}

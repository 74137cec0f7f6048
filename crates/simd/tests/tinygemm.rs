//! Each tier's kernels of the 4-bit paths have the bits of the definitions, whatever m, the strip and the layout.

use half::bf16;
use keepq_simd::Tier;
use keepq_tinygemm::w4a16::{self, Layout};
use keepq_tinygemm::{ActBuf, w4a8};

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
}

fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|y| if y.is_nan() { f32::NAN } else { *y }.to_bits()).collect()
}

/// Below, at and above what goes together: 1 to 3 tokens directly, tiles of 6, 96 that wait.
const W4A16_TOKENS: [usize; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 97, 103];

#[test]
fn w4a16_is_the_definition_on_every_tier() {
    let mut random = Random(1);
    for n in [16, 32, 48, 64, 80, 96, 112, 144] {
        for (k, group) in [(0, 32), (32, 32), (128, 64), (160, 32), (256, 256), (384, 128)] {
            let codes = random.codes(n * k);
            let scales: Vec<[bf16; 2]> = random
                .floats(k / group * n * 2)
                .as_chunks()
                .0
                .iter()
                .map(|pair: &[f32; 2]| pair.map(bf16::from_f32))
                .collect();
            let x = random.floats(103 * k);
            for layout in Layout::ALL {
                let mut bytes = vec![0; n * k / 2];
                let packed = w4a16::pack(layout, n, k, &codes, &mut bytes).unwrap();
                let w = w4a16::Weights::new(packed, group, &scales).unwrap();
                let mut want = vec![f32::NAN; 103 * n];
                w.multiply(&x, &mut want);
                for tier in Tier::available() {
                    for m in W4A16_TOKENS.into_iter().filter(|m| n == 112 || *m < 8) {
                        for threshold in [0, 2, usize::MAX] {
                            let mut y = vec![f32::NAN; m * n];
                            tier.w4a16_strip(w, 0..n, &x[..m * k], &mut y, threshold);
                            assert_eq!(
                                bits(&y),
                                bits(&want[..m * n]),
                                "{tier} {layout:?} m = {m}, [{n},{k}], {threshold}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn w4a16_strips_are_parts_of_the_whole() {
    let (n, k, group, m) = (176, 64, 32, 7);
    let mut random = Random(2);
    let (codes, x) = (random.codes(n * k), random.floats(m * k));
    let scales: Vec<[bf16; 2]> =
        random.floats(k / group * n * 2).as_chunks().0.iter().map(|pair: &[f32; 2]| pair.map(bf16::from_f32)).collect();
    for layout in Layout::ALL {
        let mut bytes = vec![0; n * k / 2];
        let packed = w4a16::pack(layout, n, k, &codes, &mut bytes).unwrap();
        let w = w4a16::Weights::new(packed, group, &scales).unwrap();
        let mut want = vec![f32::NAN; m * n];
        w.multiply(&x, &mut want);
        for tier in Tier::available() {
            for rows in [0..64, 64..n, 128..n, 0..0, n..n] {
                let mut y = vec![f32::NAN; m * rows.len()];
                tier.w4a16_strip(w, rows.clone(), &x, &mut y, Tier::DEQUANT_THRESHOLD);
                for t in 0..m {
                    let want = &want[t * n..][rows.clone()];
                    assert_eq!(bits(&y[t * rows.len()..][..rows.len()]), bits(want), "{tier} {layout:?} {rows:?}");
                }
            }
        }
    }
}

/// Infinities, NaN and denormals among scales, zeros and activations.
#[test]
fn w4a16_has_the_same_of_any_numbers() {
    let (n, k, m) = (80, 64, 8);
    let mut random = Random(3);
    let codes = random.codes(n * k);
    let scales: Vec<[bf16; 2]> = (0..2 * n).map(|_| [(); 2].map(|()| bf16::from_bits(random.bits() as u16))).collect();
    let x: Vec<f32> = (0..m * k).map(|_| f32::from_bits(random.bits())).collect();
    for layout in Layout::ALL {
        let mut bytes = vec![0; n * k / 2];
        let w = w4a16::pack(layout, n, k, &codes, &mut bytes).unwrap();
        let w = w4a16::Weights::new(w, 32, &scales).unwrap();
        for x in [&x[..], &[f32::from_bits(1); 64 * 8]] {
            let mut want = vec![0.0; m * n];
            w.multiply(x, &mut want);
            for tier in Tier::available() {
                let mut y = vec![0.0; m * n];
                tier.w4a16_strip(w, 0..n, x, &mut y, 2);
                assert_eq!(bits(&y), bits(&want), "{tier} {layout:?}");
            }
        }
    }
}

#[test]
fn w4a8_is_the_definition_on_every_tier() {
    let mut random = Random(4);
    for (n, k, group) in [(32, 0, 32), (32, 32, 32), (64, 96, 32), (96, 128, 64), (64, 384, 128), (128, 512, 256)] {
        let codes = random.codes(n * k);
        let scales = random.floats(n * (k / group));
        let random_zeros: Vec<i8> = (0..scales.len()).map(|_| random.bits() as i8).collect();
        for zeros in [random_zeros, vec![8; scales.len()], vec![-128; scales.len()], vec![127; scales.len()]] {
            let mut records = vec![0; w4a8::packed_bytes(n, k, group).unwrap()];
            let w = w4a8::pack((n, k), group, &codes, &scales, &zeros, &mut records).unwrap();
            w4a8_on_every_tier(w, &mut random);
        }
    }
}

/// All codes at one end and all activations at either: the largest sums that 16 bits have to hold.
#[test]
fn w4a8_does_not_overflow() {
    let (n, k, group) = (32, 256, 128);
    for (code, zero) in [(15, -128), (15, 127), (0, 127), (15, 8)] {
        let (scales, zeros) = (vec![1.0; 2 * n], vec![zero; 2 * n]);
        let mut records = vec![0; w4a8::packed_bytes(n, k, group).unwrap()];
        let w = w4a8::pack((n, k), group, &vec![code; n * k], &scales, &zeros, &mut records).unwrap();
        let x: Vec<f32> = (0..9 * k).map(|i| if i / k % 2 == 0 { 1.0 } else { -1.0 }).collect();
        compare_w4a8(w, &x, 9);
        compare_w4a8(w, &x[..k], 1);
    }
}

fn w4a8_on_every_tier(w: w4a8::Weights<'_>, random: &mut Random) {
    // 1 to 4 directly, panels from 8 on.
    for m in [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12] {
        let mut x = random.floats(m * w.k());
        compare_w4a8(w, &x, m);
        if let Some(x) = x.last_mut() {
            *x = f32::NAN;
        }
        compare_w4a8(w, &x, m);
    }
}

fn compare_w4a8(w: w4a8::Weights<'_>, x: &[f32], m: usize) {
    let (mut buffer, n) = (ActBuf::new(), w.n());
    let x = buffer.quantize(m, w.k(), x).unwrap();
    let mut want = vec![f32::NAN; m * n];
    w.multiply(x, &mut want);
    for tier in Tier::available() {
        for rows in [0..n, 0..32, n - 32..n] {
            let mut y = vec![f32::NAN; m * rows.len()];
            tier.w4a8_strip(w, rows.clone(), x, &mut y);
            for t in 0..m {
                let want = &want[t * n..][rows.clone()];
                assert_eq!(
                    bits(&y[t * rows.len()..][..rows.len()]),
                    bits(want),
                    "{tier} m = {m}, {rows:?} of [{n},{}]",
                    w.k()
                );
            }
        }
    }
}

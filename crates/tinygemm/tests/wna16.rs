//! The fallback's words, zero points and results.

mod common;

use common::Random;
use half::bf16;
use keepq_tinygemm::wna16::{Weights, Zeros, pack};
use keepq_tinygemm::{LayoutError, SLAB_HALF};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// For all legal small shapes: up to five words of rows, up to two groups.
    #[test]
    fn codes_come_back_one_by_one_and_by_slabs(seed in any::<u64>()) {
        let mut random = Random(seed);
        for group in [32, 64, 128, 256] {
            for (n, k) in (0..=5).flat_map(|words| (0..=2).map(move |groups| (16 * words, groups * group))) {
                let (codes, scales) = (random.codes(n * k), random.bf16s(k / group * n));
                let mut words = vec![0xa5; n * k / 2];
                pack(n, k, &codes, &mut words).unwrap();
                let w = Weights::new((n, k), group, &words, &scales, Zeros::Eight).unwrap();
                prop_assert_eq!(w.bytes(), words.len() + 2 * scales.len());
                prop_assert!((0..n * k).all(|i| w.code(i / k, i % k) == Some(codes[i])));
                let mut rows: Vec<usize> = Vec::new();
                for slab in w.slabs(0, n) {
                    for (lane, row) in slab.rows() {
                        for i in 0..k {
                            let column = if slab.is_whole() { slab.column::<true>(i) } else { slab.column::<false>(i) };
                            let byte = column.as_flattened()[lane % SLAB_HALF];
                            prop_assert_eq!(byte >> (lane / SLAB_HALF * 4) & 15, codes[row * k + i]);
                        }
                        rows.push(row);
                    }
                }
                rows.sort_unstable();
                prop_assert_eq!(rows, (0..n).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn codes_zero_points_and_results_follow_the_picture() {
    let mut random = Random(5);
    for (n, k, group) in [(16, 32, 32), (48, 128, 64), (32, 256, 128), (16, 256, 256), (0, 32, 32), (16, 0, 32)] {
        let (groups, m) = (k / group, 3);
        let (codes, points) = (random.codes(n * k), random.codes(groups * n));
        let (scales, x) = (random.bf16s(groups * n), random.floats(m * k));
        let mut words = vec![0xa5; n * k / 2];
        pack(n, k, &codes, &mut words).unwrap();
        for (at, word) in words.as_chunks().0.iter().enumerate() {
            for i in 0..16 {
                let code = codes[(at / k * 16 + i) * k + at % k];
                assert_eq!((u64::from_le_bytes(*word) >> (4 * i) & 15) as u8, code);
            }
        }
        let eights = points.as_chunks::<8>().0.iter();
        let packed: Vec<i32> = eights.map(|p| (0..8).fold(0, |word, i| word | i32::from(p[i]) << (4 * i))).collect();
        for zeros in [Zeros::Eight, Zeros::Packed(&packed)] {
            let w = Weights::new((n, k), group, &words, &scales, zeros).unwrap();
            let mut y = vec![f32::NAN; m * n];
            w.multiply(&x, &mut y);
            for (t, r) in (0..m).flat_map(|t| (0..n).map(move |r| (t, r))) {
                let mut sum = 0.0_f32;
                for i in 0..k {
                    let of_group = i / group * n + r;
                    let zero = if matches!(zeros, Zeros::Eight) { 8 } else { points[of_group] };
                    assert_eq!((w.code(r, i), w.zero(r, i)), (Some(codes[r * k + i]), Some(zero)));
                    let level = f32::from(codes[r * k + i]) - f32::from(zero);
                    let weight = bf16::from_f32(level * scales[of_group].to_f32());
                    assert_eq!(w.weight(r, i), Some(weight));
                    sum = x[t * k + i].mul_add(weight.to_f32(), sum);
                }
                assert_eq!(y[t * n + r].to_bits(), sum.to_bits());
            }
            assert!(w.code(n, 0).is_none() && w.zero(0, k).is_none() && w.weight(n, k).is_none());
            assert_eq!((w.n(), w.k(), w.group()), (n, k, group));
        }
    }
}

#[test]
fn what_is_no_such_matrix_is_refused() {
    let format = "wna16";
    let (n, k) = (16, 64);
    let (words, scales, zeros) = (vec![0; n * k / 2], vec![bf16::ONE; 2 * n], vec![0; 4]);
    let length = |what, expected, found| LayoutError::Length { format, what, expected, found };
    let refusal = |shape, group, w: &[u8], s: &[bf16], z| Weights::new(shape, group, w, s, z).unwrap_err();
    for group in [0, 16, 48, 128] {
        assert_eq!(refusal((n, k), group, &words, &scales, Zeros::Eight), LayoutError::Group { format, k, group });
    }
    let error = refusal((24, k), 32, &words, &scales, Zeros::Eight);
    assert_eq!(error, LayoutError::RaggedRows { format, n: 24, multiple: 16 });
    let n_huge = usize::MAX / 32 * 16;
    let error = refusal((n_huge, k), 32, &words, &scales, Zeros::Eight);
    assert_eq!(error, LayoutError::TooLarge { format, n: n_huge, k });
    let of_words = length("bytes of words", 512, 511);
    assert_eq!(refusal((n, k), 32, &words[1..], &scales, Zeros::Eight), of_words);
    assert_eq!(refusal((n, k), 32, &words, &scales[1..], Zeros::Eight), length("scales", 32, 31));
    let of_zeros = length("words of zero points", 4, 3);
    assert_eq!(refusal((n, k), 32, &words, &scales, Zeros::Packed(&zeros[1..])), of_zeros);

    let (mut codes, mut out) = (vec![0; n * k], vec![0xa5; 512]);
    assert_eq!(pack(n, k, &codes[1..], &mut out), Err(length("codes", 1024, 1023)));
    codes[2 * k + 9] = 16;
    assert_eq!(pack(n, k, &codes, &mut out), Err(LayoutError::CodeOutOfRange { format, row: 2, column: 9, code: 16 }));
    assert!(out.iter().all(|&byte| byte == 0xa5));
}

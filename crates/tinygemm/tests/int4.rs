//! Per-channel int4 and its edges.

mod common;

use common::Random;
use keepq_tinygemm::int4::{MAX_K, QuantizedMatrixQ4, dot_i32_q4, linear_q4};
use keepq_tinygemm::{ActBuf, LayoutError};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn levels_are_the_nearest_and_results_follow_from_them(seed in any::<u64>(), n in 0..5_usize, k in 0..70_usize) {
        let (mut random, m) = (Random(seed), 3);
        let (w, x) = (random.floats(n * k), random.floats(m * k));
        let q = QuantizedMatrixQ4::quantize(n, k, &w).unwrap();
        prop_assert_eq!(q.bytes(), n * k.div_ceil(2) + 4 * n);
        for r in 0..n {
            let row = &w[r * k..][..k];
            let (codes, scale) = q.row(r).unwrap();
            let amax = row.iter().fold(0.0_f32, |amax, w| amax.max(w.abs()));
            prop_assert_eq!(scale, amax / 7.0);
            for (i, w) in row.iter().enumerate() {
                let level = q.level(r, i).unwrap();
                prop_assert_eq!(i32::from(codes[i / 2] >> (4 * (i % 2)) & 15), i32::from(level) + 8);
                prop_assert!((-7..=7).contains(&level));
                prop_assert!((f64::from(*w) - f64::from(level) * f64::from(scale)).abs() <= f64::from(scale) * 0.500_001);
            }
            prop_assert!(k % 2 == 0 || codes[k / 2] >> 4 == 8);
            prop_assert!(q.level(r, k).is_none());
        }
        prop_assert!(q.row(n).is_none() && q.level(n, 0).is_none());

        // Negated weights have negated levels, all of them.
        let negated = QuantizedMatrixQ4::quantize(n, k, &w.iter().map(|w| -w).collect::<Vec<_>>()).unwrap();
        prop_assert!((0..n * k).all(|i| negated.level(i / k, i % k) == q.level(i / k, i % k).map(|level| -level)));

        let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * n]);
        let x = buffer.quantize(m, k, &x).unwrap();
        linear_q4(x, &q, &mut y);
        for (t, r) in (0..m).flat_map(|t| (0..n).map(move |r| (t, r))) {
            let codes = x.codes(t).iter().enumerate();
            let dot: i64 = codes.map(|(i, &x)| i64::from(x) * i64::from(q.level(r, i).unwrap())).sum();
            let (bytes, scale) = q.row(r).unwrap();
            prop_assert_eq!(i64::from(dot_i32_q4(x.codes(t), bytes)), dot);
            // The token's scale first, then the row's.
            let scaled = dot as f32 * x.scale(t);
            prop_assert_eq!(y[t * n + r].to_bits(), (scaled * scale).to_bits());
        }
        let again = QuantizedMatrixQ4::from_parts(
            n, k,
            (0..n).flat_map(|r| q.row(r).unwrap().0.to_vec()).collect(),
            (0..n).map(|r| q.row(r).unwrap().1).collect(),
        );
        prop_assert_eq!(again, Ok(q));
    }
}

#[test]
fn rows_without_a_usable_scale_are_zeros() {
    let tiny = f32::from_bits(3);
    // A row of zeros, rows whose scale underflows to 0, or to a number without a finite reciprocal, and the least that has one.
    let least = 7.0 * f32::from_bits(0x0020_0001);
    let w = [0.0, -0.0, tiny, -tiny, 1e-39, -1e-39, least, -least];
    let q = QuantizedMatrixQ4::quantize(4, 2, &w).unwrap();
    for r in 0..3 {
        assert_eq!(q.row(r), Some((&[0x88][..], 0.0)));
    }
    assert_eq!(q.row(3).unwrap().0, [0x1f]);
}

#[test]
fn halves_go_to_even_levels() {
    let w = [7.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 6.5];
    let q = QuantizedMatrixQ4::quantize(1, 8, &w).unwrap();
    assert_eq!((0..8).map(|k| q.level(0, k).unwrap()).collect::<Vec<_>>(), [7, 0, 2, 2, 0, -2, -2, 6]);
}

#[test]
fn the_longest_rows_stay_within_32_bits() {
    let x = vec![127; MAX_K];
    assert_eq!(dot_i32_q4(&x, &vec![0xff; MAX_K / 2]), 127 * 7 * MAX_K as i32);
    assert_eq!(dot_i32_q4(&x, &vec![0x00; MAX_K / 2]), -127 * 8 * MAX_K as i32);
    assert_eq!(dot_i32_q4(&vec![-128; MAX_K], &vec![0xff; MAX_K / 2]), -128 * 7 * MAX_K as i32);
}

#[test]
fn what_is_no_such_matrix_is_refused() {
    let format = "int4";
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let error = QuantizedMatrixQ4::quantize(2, 3, &[0.0, 0.0, 0.0, 0.0, bad, bad]).unwrap_err();
        assert_eq!(error, LayoutError::NotFinite { format, row: 1, column: 1 });
        assert_eq!(error.to_string(), "int4: row 1, column 1: the weight is not finite");
    }
    let length = |what, expected, found| LayoutError::Length { format, what, expected, found };
    assert_eq!(QuantizedMatrixQ4::quantize(2, 3, &[0.0; 5]), Err(length("weights", 6, 5)));
    let too_large = LayoutError::TooLarge { format, n: 0, k: MAX_K + 1 };
    assert_eq!(QuantizedMatrixQ4::quantize(0, MAX_K + 1, &[]), Err(too_large));
    assert!(QuantizedMatrixQ4::quantize(usize::MAX, 2, &[]).is_err());

    let parts = |codes: &[u8], scales: &[f32]| QuantizedMatrixQ4::from_parts(2, 3, codes.to_vec(), scales.to_vec());
    let codes = [0x00, 0x8f, 0x12, 0x83];
    assert_eq!(parts(&codes, &[1.0, 0.0]).unwrap().level(0, 0), Some(-8)); // never made, and read as what it says
    assert_eq!(parts(&codes[1..], &[1.0, 0.0]), Err(length("bytes of codes", 4, 3)));
    assert_eq!(parts(&codes, &[1.0]), Err(length("scales", 2, 1)));
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(parts(&codes, &[1.0, bad]), Err(LayoutError::Scale { format, row: 1 }));
    }
    assert_eq!(parts(&[0x00, 0x8f, 0x12, 0x03], &[1.0; 2]), Err(LayoutError::Pad { format, row: 1, found: 0 }));
}

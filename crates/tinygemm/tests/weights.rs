//! W4A16 weights: their shapes, their plain form, and conversions that use no memory of their own.

mod common;

use common::{Random, bits};
use half::bf16;
use keepq_tinygemm::LayoutError;
use keepq_tinygemm::w4a16::{Layout, Packed, PackedError, RowMajor, Weights, pack, pack_row_major};

const GROUPS: [usize; 4] = [32, 64, 128, 256];

#[test]
fn row_major_goes_into_every_layout_and_back() {
    let mut random = Random(1);
    for n in (0..=144).step_by(16) {
        for (group, k) in GROUPS.into_iter().flat_map(|group| [0, group, 2 * group].map(|k| (group, k))) {
            let codes = random.codes(n * k);
            let (scales, zeros) = (random.bf16s(k / group * n), random.bf16s(k / group * n));
            let mut bytes = vec![0xa5; n * k / 2];
            pack_row_major(n, k, &codes, &mut bytes).unwrap();
            assert!((0..n * k / 2).all(|i| bytes[i] == codes[2 * i] | codes[2 * i + 1] << 4));

            let plain = RowMajor::new((n, k), group, &bytes, &scales, &zeros).unwrap();
            assert!((0..n).all(|r| plain.row(r).unwrap().eq(codes[r * k..][..k].iter().copied())));
            assert!(plain.row(n).is_none());
            for layout in Layout::ALL {
                let (mut packed, mut want) = (vec![0xa5; n * k / 2], vec![0; n * k / 2]);
                let mut pairs = vec![[bf16::NAN; 2]; k / group * n];
                let w = plain.pack(layout, &mut packed, &mut pairs).unwrap();
                pack(layout, n, k, &codes, &mut want).unwrap();
                assert_eq!(w.packed().bytes(), want, "{layout:?} [{n},{k}]");
                for (i, pair) in w.scales().iter().enumerate() {
                    let (g, r) = (i / n, i % n);
                    assert_eq!(*pair, [scales[r * (k / group) + g], zeros[r * (k / group) + g]]);
                }
                assert_eq!(w.bytes(), n * k / 2 + 4 * n * (k / group));

                let (mut back, mut s, mut z) = (vec![0xa5; n * k / 2], scales.clone(), zeros.clone());
                s.fill(bf16::NAN);
                z.fill(bf16::NAN);
                w.to_row_major(&mut back, &mut s, &mut z).unwrap();
                assert!(back == bytes && s == scales && z == zeros, "{layout:?} [{n},{k}]");

                for other in Layout::ALL {
                    let (mut again, mut want) = (vec![0xa5; n * k / 2], vec![0; n * k / 2]);
                    let again = w.packed().repack(other, &mut again).unwrap();
                    let want = pack(other, n, k, &codes, &mut want).unwrap();
                    assert_eq!((again.layout(), again.bytes()), (other, want.bytes()));
                }
            }
        }
    }
}

#[test]
fn a_row_is_its_codes_by_the_scale_and_zero_of_each_group() {
    let (n, k, group) = (48, 96, 32);
    let mut random = Random(2);
    let codes = random.codes(n * k);
    // Powers of two: nothing is rounded, so that all layouts agree.
    let scales: Vec<[bf16; 2]> =
        (0..k / group * n).map(|i| [1.0 / (1 << (i % 5)) as f32, i as f32].map(bf16::from_f32)).collect();
    for layout in Layout::ALL {
        let mut bytes = vec![0; n * k / 2];
        let w = Weights::new(pack(layout, n, k, &codes, &mut bytes).unwrap(), group, &scales).unwrap();
        for r in 0..n {
            let row: Vec<f32> = w.row(r).unwrap().collect();
            for (i, weight) in row.into_iter().enumerate() {
                let [scale, zero] = scales[i / group * n + r].map(bf16::to_f32);
                assert_eq!(weight, (f32::from(codes[r * k + i]) - 8.0) * scale + zero);
            }
        }
        assert!(w.row(n).is_none());
    }
}

#[test]
fn each_layout_rounds_in_its_own_way() {
    // 7 * scale needs a bit more than f32 has beside this zero; f64 rounds no sum of these.
    let (scale, zero, code) = (f32::from_bits(0x3f81_0000), f32::from_bits(0x4b10_0000), 15_u8);
    let exact = f64::from(scale) * 7.0 + f64::from(zero);
    let shifted = (f64::from(scale) * -8.0 + f64::from(zero)) as f32;
    let two_steps = (f64::from(scale) * 15.0 + f64::from(shifted)) as f32;
    assert_eq!(Layout::Avx512.weight(code, scale, zero), exact as f32);
    assert_eq!(Layout::Avx2.weight(code, scale, zero), two_steps);
    assert_eq!(Layout::Scalar.weight(code, scale, zero), scale * 7.0 + zero);
    let (a, b) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
    assert_eq!(Layout::Avx2.step(a, b, -1.0), -f32::EPSILON * f32::EPSILON);
    assert_eq!(Layout::Avx512.step(a, b, -1.0), -f32::EPSILON * f32::EPSILON);
    assert_eq!(Layout::Scalar.step(a, b, -1.0), 0.0);
}

#[test]
fn a_token_does_not_depend_on_others() {
    let (n, k, m) = (32, 64, 5);
    let mut random = Random(3);
    let (codes, pairs) = (random.codes(n * k), random.bf16s(2 * n));
    let x = random.floats(m * k);
    let mut bytes = vec![0; n * k / 2];
    for layout in Layout::ALL {
        let w = Weights::new(pack(layout, n, k, &codes, &mut bytes).unwrap(), 64, pairs.as_chunks().0).unwrap();
        let mut all = vec![f32::NAN; m * n];
        w.multiply(&x, &mut all);
        for t in 0..m {
            let mut one = vec![f32::NAN; n];
            w.multiply(&x[t * k..][..k], &mut one);
            assert_eq!(bits(&one), bits(&all[t * n..][..n]));
        }
        w.multiply(&[], &mut []);
    }
}

#[test]
fn groups_scales_and_lengths_are_checked() {
    let (n, k) = (16, 96);
    let bytes = vec![0; n * k / 2];
    let packed = Packed::new(Layout::Avx2, n, k, &bytes).unwrap();
    let pairs = vec![[bf16::ONE; 2]; 4 * n];
    for group in [0, 1, 16, 48, 64, 96, 512, usize::MAX] {
        assert_eq!(Weights::new(packed, group, &pairs).unwrap_err(), PackedError::Group { k, group });
        let error = RowMajor::new((n, k), group, &bytes, &[], &[]).unwrap_err();
        assert_eq!(error, LayoutError::Group { format: "cpu_int4", k, group });
    }
    // A row of scales too few, a row too many.
    for found in [2 * n, 4 * n] {
        let error = Weights::new(packed, 32, &pairs[..found]).unwrap_err();
        assert_eq!(error, PackedError::ScalesLength { n, groups: 3, expected: 48, found });
    }

    let (scales, zeros) = (vec![bf16::ONE; 3 * n], vec![bf16::ZERO; 3 * n]);
    let of = |what, expected, found| LayoutError::Length { format: "cpu_int4", what, expected, found };
    let refusal =
        |bytes: &[u8], scales: &[bf16], zeros: &[bf16]| RowMajor::new((n, k), 32, bytes, scales, zeros).unwrap_err();
    assert_eq!(refusal(&bytes[1..], &scales, &zeros), of("packed bytes", 768, 767));
    assert_eq!(refusal(&bytes, &scales[1..], &zeros), of("scales", 48, 47));
    assert_eq!(refusal(&bytes, &scales, &zeros[1..]), of("zeros", 48, 47));
    let error = RowMajor::new((n, 3), 32, &bytes, &scales, &zeros).unwrap_err();
    assert_eq!(error, LayoutError::OddK { format: "cpu_int4", k: 3 });
    let error = RowMajor::new((usize::MAX, 32), 32, &bytes, &scales, &zeros).unwrap_err();
    assert_eq!(error, LayoutError::TooLarge { format: "cpu_int4", n: usize::MAX, k: 32 });

    // What is legal row by row, and has no packed form; nothing is written where it is refused.
    let plain = RowMajor::new((8, k), 32, &bytes[..8 * k / 2], &scales[..24], &zeros[..24]).unwrap();
    let (mut out, mut pairs) = (vec![0xa5; 8 * k / 2], vec![[bf16::ONE; 2]; 24]);
    assert_eq!(plain.pack(Layout::Avx2, &mut out, &mut pairs).unwrap_err(), PackedError::RaggedRows { n: 8 });
    let plain = RowMajor::new((n, k), 32, &bytes, &scales, &zeros).unwrap();
    let mut out = vec![0xa5; n * k / 2];
    assert!(plain.pack(Layout::Avx2, &mut out, &mut pairs).is_err());
    assert!(out.iter().all(|&byte| byte == 0xa5));

    let mut codes = vec![3; n * k];
    codes[5 * k + 7] = 16;
    let error = pack_row_major(n, k, &codes, &mut out).unwrap_err();
    assert_eq!(error, LayoutError::CodeOutOfRange { format: "cpu_int4", row: 5, column: 7, code: 16 });
    assert_eq!(error.to_string(), "cpu_int4: row 5, column 7: code 16 is above 15");
    assert!(out.iter().all(|&byte| byte == 0xa5));
}

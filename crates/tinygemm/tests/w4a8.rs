//! W4A8: records, activations and results equal those derived from PyTorch's source, and what is no such matrix is refused.

mod common;

use common::{Arrays, Random, bits};
use half::bf16;
use keepq_tinygemm::w4a8::{Weights, by_blocks, pack, packed_bytes};
use keepq_tinygemm::{ActBuf, LayoutError, narrow, widen};
use proptest::prelude::*;

/// Shape and group, then the arrays that `tests/data/README.md` lists.
const CASES: [(usize, usize, usize, &[u8]); 3] = [
    (32, 64, 32, include_bytes!("data/w4a8_32_64_32.bin")),
    (64, 256, 64, include_bytes!("data/w4a8_64_256_64.bin")),
    (64, 512, 256, include_bytes!("data/w4a8_64_512_256.bin")),
];

const M: usize = 8;

#[test]
fn records_activations_and_results_are_the_derived_ones() {
    for (n, k, group, file) in CASES {
        let (mut file, groups) = (Arrays(file), k / group);
        let x = file.bf16s(M * k);
        let codes = file.bytes(n * k);
        let plain_zeros: Vec<i8> = file.bytes(n * groups).iter().map(|zero| zero.cast_signed()).collect();
        let plain_scales = file.floats(n * groups);
        let want_records = file.bytes(packed_bytes(n, k, group).unwrap());
        let (want_codes, want_scales, want) = (file.bytes(M * k), file.floats(M), file.bf16s(M * n));
        assert!(file.0.is_empty());

        let (mut zeros, mut scales) = (vec![0; n * groups], vec![0.0; n * groups]);
        by_blocks(n, &plain_zeros, &mut zeros).unwrap();
        by_blocks(n, &plain_scales, &mut scales).unwrap();
        let mut records = vec![0xa5; want_records.len()];
        let w = pack((n, k), group, codes, &scales, &zeros, &mut records).unwrap();
        w.check_compensations().unwrap();
        for (r, i) in (0..n).flat_map(|r| (0..k).map(move |i| (r, i))) {
            let at = r * groups + i / group;
            assert_eq!((w.scale(r, i), w.zero(r, i)), (Some(plain_scales[at]), Some(plain_zeros[at])));
        }

        let (mut wide, mut buffer) = (vec![0.0; M * k], ActBuf::new());
        widen(&x, &mut wide);
        let x = buffer.quantize(M, k, &wide).unwrap();
        for t in 0..M {
            assert!(x.codes(t).iter().zip(&want_codes[t * k..]).all(|(x, u)| i16::from(*x) + 128 == i16::from(*u)));
            assert_eq!(x.scale(t).to_bits(), want_scales[t].to_bits());
        }
        let (mut y, mut rounded) = (vec![f32::NAN; M * n], vec![bf16::NAN; M * n]);
        w.multiply(x, &mut y);
        narrow(&y, &mut rounded);
        assert!(rounded == want, "[{n},{k}] group {group}: results");
        assert!(records == want_records, "[{n},{k}] group {group}: records");
    }
}

/// Legal small shapes: up to three blocks of rows, up to three groups.
fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    let groups = [32, 64, 128, 256].into_iter();
    groups.flat_map(|group| (0..=3).flat_map(move |b| (0..=2).map(move |g| (32 * b, g * group, group))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn codes_come_back_and_compensations_are_their_sums(seed in any::<u64>()) {
        let mut random = Random(seed);
        for (n, k, group) in shapes() {
            let codes = random.codes(n * k);
            let zeros: Vec<i8> = (0..n * (k / group)).map(|_| random.bits() as i8).collect();
            let scales = random.floats(zeros.len());
            let mut records = vec![0xa5; packed_bytes(n, k, group).unwrap()];
            let w = pack((n, k), group, &codes, &scales, &zeros, &mut records).unwrap();
            prop_assert_eq!(w.check_compensations(), Ok(()));
            let mut unpacked = vec![0xa5; n * k];
            w.unpack(&mut unpacked).unwrap();
            prop_assert_eq!(&unpacked, &codes, "[{},{}] group {}", n, k, group);
            prop_assert!((0..n * k).all(|i| w.code(i / k, i % k) == Some(codes[i])));
            prop_assert!(w.code(n, 0).is_none() && w.code(0, k).is_none() && w.zero(n, 0).is_none());
            prop_assert_eq!(w.bytes(), records.len() + 5 * zeros.len());
        }
    }
}

#[test]
fn integers_are_exact_at_their_extremes_and_scales_come_one_by_one() {
    let (n, k, group) = (32, 256, 128);
    let mut buffer = ActBuf::new();
    let x: Vec<f32> = (0..2 * k).map(|i| if i < k || i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let x = buffer.quantize(2, k, &x).unwrap();
    for (code, zero) in [(0, 127), (15, -128), (15, 8), (0, 8), (15, 127), (0, -128)] {
        let (zeros, scales) = (vec![zero; 2 * n], vec![0.3; 2 * n]);
        let mut records = vec![0; packed_bytes(n, k, group).unwrap()];
        let w = pack((n, k), group, &vec![code; n * k], &scales, &zeros, &mut records).unwrap();
        let mut y = vec![f32::NAN; 2 * n];
        w.multiply(x, &mut y);
        for t in 0..2 {
            let level = i64::from(code) - i64::from(zero);
            let block = |b: usize| x.codes(t)[b * 128..][..128].iter().map(|&x| i64::from(x) * level).sum::<i64>();
            // The token's scale first; the product of the two scales would round otherwise.
            let want = (0..2).fold(0.0_f32, |y, b| y + (block(b) as f32 * (1.0 / 127.0)) * 0.3);
            assert!(y[t * n..][..n].iter().all(|y| y.to_bits() == want.to_bits()), "code {code}, zero {zero}");
        }
    }
}

#[test]
fn activations_at_their_edges() {
    let mut buffer = ActBuf::new();
    let x = [0.0, 0.0, 1e-9, -1e-9, f32::MAX, -f32::MAX, 1.0, f32::INFINITY, f32::NAN, 2.0, 127.0, 2.5];
    let x = buffer.quantize(6, 2, &x).unwrap();
    assert_eq!((x.codes(0), x.scale(0)), (&[0, 0][..], 1e-7 / 127.0));
    assert_eq!((x.codes(1), x.scale(1)), (&[1, -1][..], 1e-7 / 127.0));
    assert_eq!((x.codes(2), x.scale(2)), (&[127, -127][..], f32::MAX / 127.0));
    assert!(x.scale(3).is_nan() && x.codes(3) == [0, 0] && x.sums(3) == [0]);
    assert!(x.scale(4).is_nan() && x.codes(4) == [0, 0]);
    // Halves to even: 2.5 is 2.
    assert_eq!((x.codes(5), x.scale(5), x.sums(5)), (&[127, 2][..], 1.0, &[129][..]));
    let x = buffer.quantize(1, 65, &[1.0; 65]).unwrap();
    assert_eq!(x.sums(0), [32 * 127, 32 * 127, 127]);
    let x = buffer.quantize(3, 33, &[[1.0; 33], [2.0; 33], [-4.0; 33]].concat()).unwrap();
    let last = x.tokens(1..3);
    assert_eq!((last.m(), last.k(), last.scale(1)), (2, 33, 4.0 / 127.0));
    assert_eq!((last.codes(1), last.sums(1)), (x.codes(2), x.sums(2)));
    let error = buffer.quantize(2, 3, &[0.0; 5]).unwrap_err();
    assert_eq!(error.to_string(), "int8 activations: elements: expected 6, found 5");
    assert!(buffer.quantize(usize::MAX, 3, &[]).is_err());
}

#[test]
fn a_token_that_is_not_finite_poisons_itself_alone() {
    let (n, k) = (32, 32);
    let mut random = Random(4);
    let (codes, zeros, scales) = (random.codes(n * k), vec![8; n], random.floats(n));
    let mut records = vec![0; packed_bytes(n, k, 32).unwrap()];
    let w = pack((n, k), 32, &codes, &scales, &zeros, &mut records).unwrap();
    let mut x = random.floats(3 * k);
    x[k + 5] = f32::NEG_INFINITY;
    let (mut buffer, mut y, mut one) = (ActBuf::new(), vec![0.0; 3 * n], vec![0.0; n]);
    w.multiply(buffer.quantize(3, k, &x).unwrap(), &mut y);
    assert!(y[n..2 * n].iter().all(|y| y.is_nan()));
    for t in [0, 2] {
        w.multiply(buffer.quantize(1, k, &x[t * k..][..k]).unwrap(), &mut one);
        assert_eq!(bits(&one), bits(&y[t * n..][..n]));
    }
}

#[test]
fn what_is_no_such_matrix_is_refused() {
    let format = "W4A8";
    for n in [1, 16, 48, usize::MAX] {
        assert_eq!(packed_bytes(n, 32, 32), Err(LayoutError::RaggedRows { format, n, multiple: 32 }));
        assert_eq!(by_blocks(n, &[0; 2], &mut [0; 2]), Err(LayoutError::RaggedRows { format, n, multiple: 32 }));
    }
    for (k, group) in [(32, 0), (32, 16), (48, 32), (96, 64), (512, 512), (33, 32)] {
        assert_eq!(packed_bytes(32, k, group), Err(LayoutError::Group { format, k, group }));
    }
    let huge = usize::MAX / 64 * 32;
    assert_eq!(packed_bytes(huge, 256, 256), Err(LayoutError::TooLarge { format, n: huge, k: 256 }));

    let (n, k, group) = (32, 64, 32);
    let (records, scales, zeros) = (vec![0; 2 * 640], vec![1.0; 64], vec![8; 64]);
    let length = |what, expected, found| LayoutError::Length { format, what, expected, found };
    let refusal = |r: &[u8], s: &[f32], z: &[i8]| Weights::new((n, k), group, r, s, z).unwrap_err();
    assert_eq!(refusal(&records[1..], &scales, &zeros), length("bytes of records", 1280, 1279));
    assert_eq!(refusal(&records, &scales[1..], &zeros), length("scales", 64, 63));
    assert_eq!(refusal(&records, &scales, &zeros[1..]), length("zero points", 64, 63));
    assert!(by_blocks(32, &[0; 33], &mut [0; 33]).is_err() && by_blocks(32, &[0; 64], &mut [0; 63]).is_err());

    // Codes of 0 with the zero point 8: each block of 32 sums to -256, which is not what zeros say.
    let w = Weights::new((n, k), group, &records, &scales, &zeros).unwrap();
    let error = w.check_compensations().unwrap_err();
    assert_eq!(error, LayoutError::Compensation { format, row: 0, block: 0, expected: -256, found: 0 });

    let mut codes = vec![0; n * k];
    let mut out = vec![0xa5; 1280];
    assert!(pack((n, k), group, &codes[1..], &scales, &zeros, &mut out).is_err());
    codes[3 * k + 60] = 77;
    let error = pack((n, k), group, &codes, &scales, &zeros, &mut out).unwrap_err();
    assert_eq!(error, LayoutError::CodeOutOfRange { format, row: 3, column: 60, code: 77 });
    assert!(out.iter().all(|&byte| byte == 0xa5));
    assert!(w.unpack(&mut codes[1..]).is_err());
}

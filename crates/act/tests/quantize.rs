//! Activations equal the naive implementation's (whose bytes equal ggml's) for any floats, infinities and NaNs included.

use keepq_act::{ActBuf, ActError, ActFormat, Acts, Q8Rows, quantize_row_q8_1, quantize_row_q8_k};
use keepq_blocks::{BlockQ8_0, BlockQ8_1, BlockQ8_K};
use keepq_goldens::naive::{Quantized, encode_q8_1, encode_q8_k, quantize, quantize_k};
use proptest::prelude::*;

/// Compares codes, scales and sums, block by block.
fn check_rows(format: ActFormat, x: &[f32], naive: fn(&[f32]) -> Quantized) {
    let mut buffer = ActBuf::new();
    let rows = buffer.quantize(format, 1, x.len(), x).expect("whole blocks");
    let (Acts::Q8_0(rows) | Acts::Q8_K(rows)) = rows.typed() else { panic!("{format} was asked for") };
    let len = format.block_len();
    assert_eq!(rows.scales.len(), x.len() / len);
    for (b, x) in x.chunks(len).enumerate() {
        let Q8Rows { codes, scales, sums } = rows.blocks(b..b + 1, len / 32);
        let want = naive(x);
        let sums: Vec<i32> = sums.as_flattened().iter().map(|&sum| i32::from(sum)).collect();
        assert_eq!((codes.as_flattened(), sums), (&want.codes[..], want.sums), "{x:?}");
        let same = scales[0].to_bits() == want.a.to_bits() || (scales[0].is_nan() && want.a.is_nan());
        assert!(same, "{} instead of {}: {x:?}", scales[0], want.a);
        assert!(codes.as_flattened().iter().all(|&q| q >= -127));
    }
}

fn check(x: &[f32]) {
    check_rows(ActFormat::Q8_0, x, quantize);
    check_rows(ActFormat::Q8_K, x, quantize_k);
    let mut q8_k = vec![BlockQ8_K::encode(&[0.0; 256]); x.len() / 256];
    quantize_row_q8_k(x, &mut q8_k);
    for (block, x) in q8_k.iter().zip(x.chunks(256)) {
        let want = encode_q8_k(x);
        let d = block.d.to_f32();
        assert_eq!(d.is_nan(), x.iter().any(|v| !v.is_finite()), "{x:?}");
        assert!(d.is_nan() || d.to_le_bytes() == want[..4], "{x:?}");
        let codes = block.qs.iter().map(|&q| q as u8);
        assert!(codes.chain(block.bsums.into_iter().flatten()).eq(want[4..].iter().copied()), "{x:?}");
    }
    let mut q8_1 = vec![BlockQ8_1::encode(&[0.0; 32]); x.len() / 32];
    quantize_row_q8_1(x, &mut q8_1);
    for (block, x) in q8_1.iter().zip(x.chunks(32)) {
        let want = encode_q8_1(x);
        let bits = |i: usize| u16::from_le_bytes([want[i], want[i + 1]]);
        let is_nan = bits(0) & 0x7fff > 0x7c00;
        if is_nan {
            assert!(block.d.to_f32().is_nan() && block.s.to_f32().is_nan(), "{x:?}");
        } else {
            assert_eq!((block.d.to_bits(), block.s.to_bits()), (bits(0), bits(2)), "{x:?}");
        }
        assert!(block.qs.iter().zip(&want[4..]).all(|(&q, &want)| q == want as i8), "{x:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bits(x in prop::collection::vec(any::<u32>().prop_map(f32::from_bits), 256)) {
        check(&x);
    }

    /// Of 256 any bits a few are not finite; here one super-block is, and the other perhaps.
    #[test]
    fn a_super_block_of_any_finite_bits(
        finite in prop::collection::vec(any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |v| v.is_finite()), 256),
        (at, odd) in (0..256_usize, any::<u32>().prop_map(f32::from_bits)),
    ) {
        let mut other = finite.clone();
        other[at] = odd;
        check(&[finite, other].concat());
    }

    #[test]
    fn elements_of_one_magnitude(exponent in -149..128_i32, x in prop::collection::vec(-1.0..1.0_f32, 256)) {
        check(&x.into_iter().map(|v| v * 2.0_f32.powi(exponent)).collect::<Vec<_>>());
    }
}

#[test]
fn ragged_k_is_refused_whatever_form_activations_come_in() {
    let mut buffer = ActBuf::new();
    for k in [1, 16, 31, 33, 63] {
        let ragged = ActError::RaggedRow { format: ActFormat::Q8_0, k };
        for x in [vec![0.0; k], vec![0.0; k.next_multiple_of(32)]] {
            assert_eq!(buffer.quantize(ActFormat::Q8_0, 1, k, &x).unwrap_err(), ragged);
            assert_eq!(buffer.share(1, k, &x).rows(ActFormat::Q8_0).unwrap_err(), ragged);
        }
        let ragged_k = ActError::RaggedRow { format: ActFormat::Q8_K, k };
        assert_eq!(buffer.quantize(ActFormat::Q8_K, 1, k, &vec![0.0; k]).unwrap_err(), ragged_k);
        for count in [k / 32, k / 32 + 1] {
            let q8_0 = vec![BlockQ8_0::encode(&[0.0; 32]); count];
            let q8_1 = vec![BlockQ8_1::encode(&[0.0; 32]); count];
            assert_eq!(buffer.load_q8_0(1, k, &q8_0).unwrap_err(), ragged);
            assert_eq!(buffer.load_q8_1(1, k, &q8_1).unwrap_err(), ragged);
        }
    }
    // Whole blocks of 32, but no super-blocks.
    for k in [32, 128, 255, 257, 384] {
        let ragged = ActError::RaggedRow { format: ActFormat::Q8_K, k };
        for x in [vec![0.0; k], vec![0.0; k.next_multiple_of(256)]] {
            assert_eq!(buffer.quantize(ActFormat::Q8_K, 1, k, &x).unwrap_err(), ragged);
            assert_eq!(buffer.share(1, k, &x).rows(ActFormat::Q8_K).unwrap_err(), ragged);
        }
    }
}

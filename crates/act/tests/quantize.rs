//! Activations equal the naive implementation's (whose bytes equal ggml's) for any floats, infinities and NaNs included.

use keepq_act::{ActBuf, ActError, ActFormat, Acts, Q8_0Rows, quantize_row_q8_1};
use keepq_blocks::{BlockQ8_0, BlockQ8_1};
use keepq_goldens::naive::{encode_q8_1, quantize};
use proptest::prelude::*;

fn blocks(x: &[f32], test: impl FnOnce(Q8_0Rows<'_>)) {
    let mut buffer = ActBuf::new();
    let rows = buffer.quantize(ActFormat::Q8_0, 1, x.len(), x).expect("whole blocks");
    match rows.typed() {
        Acts::Q8_0(rows) => test(rows),
        Acts::F32(_) => panic!("quantized rows were asked for"),
    }
}

fn check(x: &[f32]) {
    blocks(x, |rows| {
        for (b, x) in x.chunks(32).enumerate() {
            let want = quantize(x);
            assert_eq!((rows.codes[b].to_vec(), rows.sums[b]), (want.codes, want.sum), "{x:?}");
            let scale = rows.scales[b];
            assert!(scale.to_bits() == want.a.to_bits() || (scale.is_nan() && want.a.is_nan()), "{x:?}");
            assert!(rows.codes[b].iter().all(|&q| q >= -127));
        }
    });
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
    fn any_bits(x in prop::collection::vec(any::<u32>().prop_map(f32::from_bits), 64)) {
        check(&x);
    }

    #[test]
    fn elements_of_one_magnitude(exponent in -149..128_i32, x in prop::collection::vec(-1.0..1.0_f32, 64)) {
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
        for count in [k / 32, k / 32 + 1] {
            let q8_0 = vec![BlockQ8_0::encode(&[0.0; 32]); count];
            let q8_1 = vec![BlockQ8_1::encode(&[0.0; 32]); count];
            assert_eq!(buffer.load_q8_0(1, k, &q8_0).unwrap_err(), ragged);
            assert_eq!(buffer.load_q8_1(1, k, &q8_1).unwrap_err(), ragged);
        }
    }
}

//! Q4_0, Q5_0, Q5_1, IQ4_NL, IQ4_XS, MXFP4 and Q8_K write the bytes and read the floats that ggml does.
//! `data/legacy/README.md` says how ggml's answers were made.

use std::fmt::Debug;

use bytemuck::Pod;
use keepq_blocks::{Block, BlockIQ4_NL, BlockIQ4_XS, BlockMXFP4, BlockQ4_0, BlockQ5_0, BlockQ5_1, BlockQ8_K};
use proptest::prelude::*;

macro_rules! data {
    ($file:literal) => {
        include_bytes!(concat!("data/legacy/", $file))
    };
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (floats, rest) = bytes.as_chunks::<4>();
    assert_eq!(rest, []);
    floats.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// Every block of the inputs becomes the block that ggml made of it.
fn check_encoder<B: Pod + Debug + PartialEq, const LEN: usize>(encode: impl Fn(&[f32; LEN]) -> B, ggml: &[u8]) {
    let inputs = floats(data!("inputs.bin"));
    let (inputs, rest) = inputs.as_chunks::<LEN>();
    assert_eq!(rest, []);
    let ggml: &[B] = bytemuck::cast_slice(ggml);
    assert_eq!(inputs.len(), ggml.len());
    for (i, (x, want)) in inputs.iter().zip(ggml).enumerate() {
        assert_eq!(encode(x), *want, "block {i}: {x:?}");
    }
}

/// Every block becomes the floats that ggml made of it, bit for bit, but that any NaN equals any NaN.
fn check_decoder<B: Block + Debug>(blocks: &[u8], ggml: &[u8]) {
    let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    let blocks: &[B] = bytemuck::cast_slice(blocks);
    let ggml = floats(ggml);
    assert_eq!(blocks.len() * B::LEN, ggml.len());
    for (i, (block, want)) in blocks.iter().zip(ggml.chunks_exact(B::LEN)).enumerate() {
        let decoded = block.decode();
        let (got, want): (Vec<_>, Vec<_>) =
            (decoded.as_ref().iter().map(bits).collect(), want.iter().map(bits).collect());
        assert_eq!(got, want, "block {i}: {block:x?}");
    }
}

#[test]
fn encoders_write_ggmls_bytes() {
    check_encoder(BlockQ4_0::encode, data!("q4_0-encoded.bin"));
    check_encoder(BlockQ5_0::encode, data!("q5_0-encoded.bin"));
    check_encoder(BlockQ5_1::encode, data!("q5_1-encoded.bin"));
    check_encoder(BlockQ8_K::encode, data!("q8_k-encoded.bin"));
}

#[test]
fn decoders_read_ggmls_floats_from_any_bytes() {
    check_decoder::<BlockQ4_0>(data!("q4_0-blocks.bin"), data!("q4_0-floats.bin"));
    check_decoder::<BlockQ5_0>(data!("q5_0-blocks.bin"), data!("q5_0-floats.bin"));
    check_decoder::<BlockQ5_1>(data!("q5_1-blocks.bin"), data!("q5_1-floats.bin"));
    check_decoder::<BlockIQ4_NL>(data!("iq4_nl-blocks.bin"), data!("iq4_nl-floats.bin"));
    check_decoder::<BlockIQ4_XS>(data!("iq4_xs-blocks.bin"), data!("iq4_xs-floats.bin"));
    check_decoder::<BlockMXFP4>(data!("mxfp4-blocks.bin"), data!("mxfp4-floats.bin"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Infinities and NaN included: nothing overflows on the way, and Q8_K keeps the range that kernels rely on.
    #[test]
    fn codes_stay_in_range_whatever_the_elements(bits in prop::collection::vec(any::<u32>(), 256)) {
        let x: [f32; 256] = std::array::from_fn(|j| f32::from_bits(bits[j]));
        for x in x.as_chunks::<32>().0 {
            prop_assert!(BlockQ4_0::encode(x).codes().iter().all(|q| (-8..8).contains(q)));
            prop_assert!(BlockQ5_0::encode(x).codes().iter().all(|q| (-16..16).contains(q)));
            prop_assert!(BlockQ5_1::encode(x).codes().iter().all(|q| (0..32).contains(q)));
        }
        let q8_k = BlockQ8_K::encode(&x);
        prop_assert!(q8_k.qs.iter().all(|q| (-127..=127).contains(q)));
        for (codes, sum) in q8_k.qs.as_chunks::<16>().0.iter().zip(q8_k.sums()) {
            prop_assert_eq!(codes.iter().map(|&q| i16::from(q)).sum::<i16>(), sum);
        }
    }
}

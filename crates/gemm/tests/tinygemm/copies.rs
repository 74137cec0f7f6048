//! What a W4A16 weight holds, and that copies change no bit.

use half::bf16;
use keepq_gemm::{Driver, Reason, Scratch, Serial, W4A16Switches, W4A16Weight};
use keepq_simd::Tier;
use keepq_tinygemm::select::Config;
use keepq_tinygemm::w4a16::{PackedError, RowMajor};

use crate::weights::{Int4pack, Random, bits};

const COPY: W4A16Switches = W4A16Switches { prefill_dequant: true, direct_dequant: false, dequant_threshold: 2 };

/// A checkpoint's three tensors.
struct Plain(Vec<u8>, Vec<bf16>, Vec<bf16>);

impl Plain {
    fn of(weights: &Int4pack) -> Self {
        let (mut plain, mut scales) = (vec![0; weights.n * weights.k / 2], vec![bf16::ZERO; weights.pairs.len()]);
        let mut zeros = scales.clone();
        weights.view(0).to_row_major(&mut plain, &mut scales, &mut zeros).unwrap();
        Self(plain, scales, zeros)
    }

    fn view(&self, weights: &Int4pack) -> RowMajor<'_> {
        RowMajor::new((weights.n, weights.k), weights.group, &self.0, &self.1, &self.2).unwrap()
    }
}

fn product(tier: Tier, w: &W4A16Weight<'_>, x: &[f32]) -> Vec<u32> {
    let m = x.len() / w.k();
    let mut y = vec![f32::NAN; m * w.n()];
    Driver::new(tier, &Serial).matmul_w4a16_f32(m, x, w, &mut y, &mut Scratch::new()).unwrap();
    bits(&y)
}

/// Directly, and through a row-major copy: real shapes, few tokens.
#[test]
fn panels_of_packed_codes_and_of_a_copy_have_the_same_bits() {
    for (n, k) in [(2048, 2048), (3072, 2048), (13312, 2048)] {
        let weights = Int4pack::new(n, k, 128);
        let x = Random(11).floats(7 * k);
        for layout in 0..3 {
            let w = weights.view(layout);
            let direct = W4A16Weight::new(w, W4A16Switches { direct_dequant: true, ..COPY }).unwrap();
            let copied = W4A16Weight::new(w, COPY).unwrap();
            assert_eq!((direct.expansion(), copied.expansion()), (None, Some((w.bytes(), Reason::RowMajor))));
            assert_eq!((direct.bytes(), copied.bytes()), (w.bytes(), 2 * w.bytes()));
            let want = product(Tier::best(), &direct, &x);
            assert!(want == product(Tier::best(), &copied, &x), "[{n},{k}] layout {layout}");
            // Each dequantizes nothing for one token.
            assert!(want[..n] == product(Tier::best(), &copied, &x[..k]), "[{n},{k}] layout {layout}, one token");
        }
    }
}

#[test]
fn switches_are_keys_of_a_configuration() {
    let config = Config { prefill_dequant: false, direct_dequant: false, dequant_threshold: 7, ..Config::default() };
    let of_config = W4A16Switches { prefill_dequant: false, direct_dequant: false, dequant_threshold: 7 };
    assert_eq!(W4A16Switches::from(&config), of_config);
    let default = W4A16Switches { prefill_dequant: true, direct_dequant: true, dequant_threshold: 2 };
    assert_eq!(W4A16Switches::from(&Config::default()), default);
}

#[test]
fn switches_change_what_is_held_and_no_result() {
    let weights = Int4pack::new(144, 128, 32);
    let x = Random(12).floats(9 * 128);
    for layout in 0..3 {
        let w = weights.view(layout);
        let mut want = vec![0.0; 9 * 144];
        w.multiply(&x, &mut want);
        for prefill_dequant in [false, true] {
            for direct_dequant in [false, true] {
                for dequant_threshold in [0, 1, 9, 10, usize::MAX] {
                    let switches = W4A16Switches { prefill_dequant, direct_dequant, dequant_threshold };
                    let held = W4A16Weight::new(w, switches).unwrap();
                    let copy = (prefill_dequant && !direct_dequant).then_some((w.bytes(), Reason::RowMajor));
                    assert_eq!((held.n(), held.k(), held.expansion()), (144, 128, copy));
                    for tier in Tier::available() {
                        for m in [0, 1, 9] {
                            let got = product(tier, &held, &x[..m * 128]);
                            assert_eq!(got, bits(&want[..m * 144]), "{tier} {switches:?} m = {m}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn packed_codes_without_a_tag_are_read_only_where_they_are_what_they_should_be() {
    let switches = W4A16Switches::default();
    for (n, in_place) in [(16, false), (64, true), (80, false), (96, false), (128, true)] {
        let weights = Int4pack::new(n, 64, 32);
        let (plain, x) = (Plain::of(&weights), Random(13).floats(8 * 64));
        let plain = plain.view(&weights);
        let mut want = vec![0.0; 8 * n];
        weights.view(0).multiply(&x, &mut want);
        let packed = weights.view(0).packed().bytes();
        for switches in [switches, COPY] {
            let w = W4A16Weight::untagged(packed, &weights.pairs, plain, switches).unwrap();
            let copy = !in_place || switches == COPY;
            assert_eq!(w.expansion(), copy.then_some((plain.bytes(), Reason::RowMajor)), "n = {n}");
            assert_eq!((w.n(), w.k()), (n, 64));
            assert_eq!(w.bytes(), plain.bytes() * if in_place && copy { 2 } else { 1 });
            for m in [1, 8] {
                assert_eq!(product(Tier::best(), &w, &x[..m * 64]), bits(&want[..m * n]), "n = {n}, m = {m}");
            }
        }
        // Another layout's bytes are found out, or not looked at.
        let other = weights.view(1).packed().bytes();
        let found = W4A16Weight::untagged(other, &weights.pairs, plain, switches).map(|w| w.expansion());
        if in_place {
            let error = found.unwrap_err();
            let PackedError::OtherCode { row, column, expected, found } = error else { panic!("{error}") };
            assert_eq!(weights.view(0).packed().code(row, column), Some(expected));
            let want = format!(
                "int4pack: not in AVX-512's layout: row {row}, column {column}: expected {expected}, found {found}"
            );
            assert_eq!(error.to_string(), want);
            let short = W4A16Weight::untagged(&packed[1..], &weights.pairs, plain, switches).unwrap_err();
            assert!(matches!(short, PackedError::PackedLength { .. }));
            let short = W4A16Weight::untagged(packed, &weights.pairs[1..], plain, switches).unwrap_err();
            assert!(matches!(short, PackedError::ScalesLength { .. }));
        } else {
            assert_eq!(found, Ok(Some((plain.bytes(), Reason::RowMajor))));
        }
    }
}

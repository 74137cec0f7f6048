//! int8 activations: each tier's are those of the definition.

use keepq_simd::Tier;
use keepq_tinygemm::ActBuf;

use super::{Random, TIERS};

#[test]
fn codes_scales_and_sums_are_the_definition_on_every_tier() {
    let mut random = Random(9);
    for k in [0, 1, 31, 32, 33, 100, 257] {
        for m in [0, 1, 3] {
            let mut x = random.floats(m * k);
            for bad in [0.0, 1e-9, f32::MAX, f32::INFINITY, f32::NAN] {
                if let Some(x) = x.last_mut() {
                    *x = bad;
                }
                let mut buffer = ActBuf::new();
                let want = buffer.quantize(m, k, &x).unwrap();
                for tier in TIERS.iter() {
                    let mut buffer = ActBuf::new();
                    let got = tier.quantize_tokens(&mut buffer, m, k, &x).unwrap();
                    assert_eq!((got.m(), got.k()), (m, k));
                    for t in 0..m {
                        assert_eq!((got.codes(t), got.sums(t)), (want.codes(t), want.sums(t)), "{tier} k = {k}");
                        assert!(got.scale(t).total_cmp(&want.scale(t)).is_eq(), "{tier} k = {k}");
                    }
                }
            }
        }
    }
    assert!(Tier::best().quantize_tokens(&mut ActBuf::new(), 2, 3, &[0.0; 5]).is_err());
}

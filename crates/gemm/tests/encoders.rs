//! Every tier's encoders beside those that have none, in buffers that held more and less before.

use keepq_act::{ActBuf, ActFormat, ActRows, Acts};
use keepq_goldens::inputs::Random;
use keepq_simd::Tier;

/// Codes, bits of scales, sums.
fn parts(rows: ActRows<'_>) -> (Vec<[i8; 32]>, Vec<u32>, Vec<[i16; 2]>) {
    let (Acts::Q8_0(rows) | Acts::Q8_K(rows)) = rows.typed() else { panic!("quantized rows expected") };
    let scales = rows.scales.iter().map(|scale| if scale.is_nan() { f32::NAN } else { *scale });
    (rows.codes.to_vec(), scales.map(f32::to_bits).collect(), rows.sums.to_vec())
}

#[test]
fn tiers_give_the_same_codes_scales_and_sums() {
    let mut random = Random::new(5);
    let mut buffer = ActBuf::new();
    for (m, k) in [(3, 1024), (1, 256), (0, 256), (2, 0), (7, 512)] {
        // Numbers, halves between codes, and any bits.
        for kind in 0..3 {
            let x: Vec<f32> = (0..m * k)
                .map(|i| match (kind, i % 256) {
                    (0, _) => (random.below(20_001) as f32 - 10_000.0) / 777.0,
                    (1, 0) => 127.0,
                    (1, _) => (random.below(509) as f32 - 254.0) / 2.0,
                    _ => f32::from_bits(random.below(1 << 32) as u32),
                })
                .collect();
            for format in [ActFormat::Q8_0, ActFormat::Q8_K] {
                let mut plain = ActBuf::new();
                let want = parts(plain.quantize(format, m, k, &x).unwrap());
                for tier in Tier::available() {
                    let got = parts(tier.quantize(&mut buffer, format, m, k, &x).unwrap());
                    assert_eq!(got, want, "{format} {tier} m = {m}, k = {k}, kind {kind}");
                }
            }
        }
    }
}

//! int8 has the bits of its definition on every tier.

use keepq_goldens::tested_tiers;
use keepq_tinygemm::ActBuf;

/// `(float(Σ x · code) ⊗ a) ⊗ s`
fn defined(codes: &[i8], scale: f32, x: &[i8], x_scale: f32) -> f32 {
    let isum: i32 = codes.iter().zip(x).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
    isum as f32 * x_scale * scale
}

#[test]
fn int8_is_the_definition_on_every_tier() {
    let tiers = tested_tiers();
    let mut state = 1_u64;
    let mut bits = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    for (n, k) in [(0, 8), (1, 0), (1, 1), (7, 31), (8, 32), (9, 33), (17, 1000), (3, 70_000)] {
        // Random codes, then all at either end, whose sums are the largest.
        for extreme in [None, Some(127), Some(-127)] {
            let codes: Vec<i8> = (0..n * k).map(|_| extreme.unwrap_or((bits() % 255) as i8).max(-127)).collect();
            let scales: Vec<f32> = (0..n).map(|_| (bits() % 1000) as f32 * 1e-3).collect();
            let x: Vec<f32> = (0..3 * k).map(|i| if i < k { 1.0 } else { bits() as f32 / 1e9 - 2.0 }).collect();
            let mut buffer = ActBuf::new();
            let x = buffer.quantize(3, k, &x).unwrap();
            for tier in &tiers {
                let mut y = vec![f32::NAN; 3 * n];
                tier.int8_strip(&codes, &scales, x, &mut y);
                for (i, y) in y.iter().enumerate() {
                    let (t, r) = (i / n, i % n);
                    let wanted = defined(&codes[r * k..][..k], scales[r], x.codes(t), x.scale(t));
                    assert_eq!(y.to_bits(), wanted.to_bits(), "{tier} [{n},{k}], token {t}, row {r}");
                }
            }
        }
    }
}

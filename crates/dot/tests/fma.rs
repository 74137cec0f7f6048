//! Fused multiply-add rounds once where rounding to f64 first, and then to f32, gives another result.

use keepq_dot::{LANES, Portable, Target};

fn fma(a: f32, b: f32, c: f32) -> f32 {
    let lanes = Portable.fma([a; LANES], [b; LANES], [c; LANES]);
    assert!(lanes.iter().all(|lane| lane.to_bits() == lanes[0].to_bits()));
    lanes[0]
}

fn rounded_twice(a: f32, b: f32, c: f32) -> f32 {
    (f64::from(a) * f64::from(b) + f64::from(c)) as f32
}

/// Odd multiples of the smallest denormal, and half of it less a little that f64 cannot hold beside them: in f64 the sum is
/// in the middle between two floats, of which the even one is the wrong one.
#[test]
fn sums_among_the_denormals() {
    // (1 + 2^-23) 2^-126 and (1 - 2^-23) 2^-24.
    let (a, b) = (f32::from_bits(0x0080_0001), f32::from_bits(0x337f_fffe));
    for c in (0x0000_4001..0x0080_0000).step_by(4098).map(f32::from_bits) {
        for (a, c) in [(a, c), (-a, -c)] {
            assert_ne!(rounded_twice(a, b, c), c, "{c:e}");
            assert_eq!(fma(a, b, c), c, "{c:e}");
        }
    }
}

/// The same of usual numbers.
#[test]
fn sums_in_the_middle_between_two_floats() {
    for exponent in [-60, -1, 0, 60] {
        let power = 2.0_f32.powi(exponent);
        // (1 + 2^-23)(1 - 2^-23) half units of c's last place.
        let (a, b) = (1.0 + f32::EPSILON, (1.0 - f32::EPSILON) * power * 2.0_f32.powi(-24));
        for odd in [1, 3, 0x7f_ffff] {
            let c = f32::from_bits(power.to_bits() | odd);
            assert_ne!(rounded_twice(a, b, c), c, "{c:e}");
            assert_eq!(fma(a, b, c), c, "{c:e}");
            assert_eq!(fma(-a, b, -c), -c, "{c:e}");
        }
    }
}

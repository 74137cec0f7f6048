//! bf16 in and out: rows of activations and of results.

use half::bf16;

/// Writes `x` as floats, exactly.
///
/// # Panics
/// Where the lengths differ.
#[inline(always)]
pub fn widen(x: &[bf16], to: &mut [f32]) {
    assert_eq!(x.len(), to.len(), "as many floats as numbers");
    to.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_f32());
}

/// Writes the bf16 nearest to each of `y`, ties to even: the only rounding to 16 bits of a W4A16 result.
///
/// # Panics
/// Where the lengths differ.
#[inline(always)]
pub fn narrow(y: &[f32], to: &mut [bf16]) {
    assert_eq!(y.len(), to.len(), "as many numbers as floats");
    to.iter_mut().zip(y).for_each(|(to, y)| *to = bf16::from_f32(*y));
}

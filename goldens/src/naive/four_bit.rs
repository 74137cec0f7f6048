//! The 4-bit paths beside GGUF: bytes, activations and products as docs/NUMERICS.md and the modules of `keepq-tinygemm` picture them.
//!
//! Codes come in as `codes[row][k]`, a byte each; products are of one row by one token.

pub(crate) mod int4;
pub(crate) mod w4a16;
pub(crate) mod w4a8;
pub(crate) mod wna16;

/// A token of int8: its codes and its scale.
pub(crate) struct Token {
    pub(crate) codes: Vec<i8>,
    pub(crate) scale: f32,
}

/// Quantizes a token.
pub(crate) fn token(x: &[f32]) -> Token {
    if x.iter().any(|x| !x.is_finite()) {
        return Token { codes: vec![0; x.len()], scale: f32::NAN };
    }
    let mut amax = 1e-7_f32;
    for x in x {
        if x.abs() > amax {
            amax = x.abs();
        }
    }
    let inverse = 127.0 / amax;
    Token { codes: x.iter().map(|x| (x * inverse).round_ties_even() as i8).collect(), scale: amax / 127.0 }
}

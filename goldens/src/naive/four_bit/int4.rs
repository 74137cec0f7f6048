//! Per-channel int4: one scale a row.

use super::Token;

/// A row: its levels and its scale.
pub(crate) struct Row {
    pub(crate) levels: Vec<i8>,
    pub(crate) scale: f32,
}

/// Quantizes a row of finite weights.
pub(crate) fn quantize(w: &[f32]) -> Row {
    let mut amax = 0.0_f32;
    for w in w {
        if w.abs() > amax {
            amax = w.abs();
        }
    }
    let scale = amax / 7.0;
    if !(1.0 / scale).is_finite() {
        return Row { levels: vec![0; w.len()], scale: 0.0 };
    }
    let level = |w: &f32| ((w / scale).round_ties_even() as i8).clamp(-7, 7);
    Row { levels: w.iter().map(level).collect(), scale }
}

/// The bytes of a row.
pub(crate) fn pack(levels: &[i8]) -> Vec<u8> {
    let nibble = |level: Option<&i8>| (8 + level.copied().unwrap_or(0)) as u8;
    levels.chunks(2).map(|two| nibble(two.first()) + 16 * nibble(two.get(1))).collect()
}

/// The dot of a row and a token.
pub(crate) fn dot(row: &Row, x: &Token) -> f32 {
    let isum: i32 = row.levels.iter().zip(&x.codes).map(|(&level, &x)| i32::from(level) * i32::from(x)).sum();
    isum as f32 * x.scale * row.scale
}

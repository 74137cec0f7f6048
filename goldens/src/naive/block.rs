//! What blocks of 32 share: codes, a scale at their start, perhaps a minimum after it.

use super::act;
use super::half::read_f16;

pub(super) struct Block {
    /// Bytes.
    pub(super) bytes: usize,
    /// Whether there is a minimum, in bytes 2 and 3.
    pub(super) has_min: bool,
    /// The code of element j, its bias removed.
    pub(super) code: fn(&[u8], usize) -> i32,
}

impl Block {
    pub(super) fn decode(&self, block: &[u8]) -> Vec<f32> {
        let d = read_f16(block);
        let product = |j| d * (self.code)(block, j) as f32;
        (0..32).map(|j| if self.has_min { product(j) + read_f16(&block[2..]) } else { product(j) }).collect()
    }

    pub(super) fn dot(&self, row: &[u8], x: &[f32]) -> f32 {
        let mut acc = 0.0;
        for (block, x) in row.chunks(self.bytes).zip(x.chunks(32)) {
            let x = act::quantize(x);
            let mut isum = 0;
            for j in 0..32 {
                isum += (self.code)(block, j) * i32::from(x.codes[j]);
            }
            acc += (read_f16(block) * x.a) * isum as f32;
            if self.has_min {
                acc += (read_f16(&block[2..]) * x.a) * x.sum() as f32;
            }
        }
        acc
    }

    pub(super) fn steps(&self, k: usize) -> usize {
        k / 32 * if self.has_min { 2 } else { 1 }
    }

    pub(super) fn parts(&self, block: &[u8]) -> Vec<f64> {
        let d = f64::from(read_f16(block));
        let m = if self.has_min { f64::from(read_f16(&block[2..])) } else { 0.0 };
        (0..32).map(|j| (d * f64::from((self.code)(block, j))).abs() + m.abs()).collect()
    }
}

/// Of the elements of largest magnitude the first, with its sign; 0.0 where all are zeros.
pub(super) fn extreme(x: &[f32]) -> f32 {
    let mut extreme = 0.0_f32;
    for v in x {
        if v.abs() > extreme.abs() {
            extreme = *v;
        }
    }
    extreme
}

/// Scale and codes, which are 0 to `top`, of elements around 0.
pub(super) fn around_zero(x: &[f32], top: u8) -> (f32, Vec<u8>) {
    let half = f32::from(top / 2 + 1);
    let d = extreme(x) / -half;
    let i = if (1.0 / d).is_infinite() { 0.0 } else { 1.0 / d };
    (d, x.iter().map(|v| ((v * i + (half + 0.5)).trunc() as u8).min(top)).collect())
}

/// Scale, minimum and codes, which are 0 to `top`.
pub(super) fn from_min(x: &[f32], top: u8) -> (f32, f32, Vec<u8>) {
    let (mut min, mut max) = (x[0], x[0]);
    for &v in x {
        if v < min {
            min = v;
        }
        if v > max {
            max = v;
        }
    }
    let d = (max - min) / f32::from(top);
    let i = if (1.0 / d).is_infinite() { 0.0 } else { 1.0 / d };
    // A NaN becomes 0 in the cast.
    (d, min, x.iter().map(|v| (((v - min) * i + 0.5).trunc() as u8).min(top)).collect())
}

//! What super-blocks share: 256 codes, integer scales of parts of them, a float scale, perhaps minima in the same manner.

use super::act;
use super::half::read_f16;

/// From a block's bytes an integer of element j.
type Integer = fn(&[u8], usize) -> i32;

pub(super) struct SuperBlock {
    /// Bytes.
    pub(super) bytes: usize,
    /// Where the float scale is.
    pub(super) d: usize,
    /// Where the float scale of the minima is, and the integer minimum of element j.
    pub(super) min: Option<(usize, Integer)>,
    /// The integer scale of element j, its bias removed.
    pub(super) scale: Integer,
    /// The code of element j, its bias removed.
    pub(super) code: Integer,
}

impl SuperBlock {
    pub(super) fn decode(&self, block: &[u8]) -> Vec<f32> {
        let d = read_f16(&block[self.d..]);
        let element = |j| {
            let product = (d * (self.scale)(block, j) as f32) * (self.code)(block, j) as f32;
            match self.min {
                Some((dmin, min)) => product - read_f16(&block[dmin..]) * min(block, j) as f32,
                None => product,
            }
        };
        (0..256).map(element).collect()
    }

    pub(super) fn dot(&self, row: &[u8], x: &[f32]) -> f32 {
        let mut acc = 0.0;
        for (block, x) in row.chunks(self.bytes).zip(x.chunks(256)) {
            let x = act::quantize_k(x);
            let mut isum = 0;
            for j in 0..256 {
                isum += (self.scale)(block, j) * (self.code)(block, j) * i32::from(x.codes[j]);
            }
            acc += (read_f16(&block[self.d..]) * x.a) * isum as f32;
            if let Some((dmin, min)) = self.min {
                let mut msum = 0;
                for i in 0..16 {
                    msum += min(block, 16 * i) * x.sums[i];
                }
                acc += (-read_f16(&block[dmin..]) * x.a) * msum as f32;
            }
        }
        acc
    }

    pub(super) fn steps(&self, k: usize) -> usize {
        k / 256 * if self.min.is_some() { 2 } else { 1 }
    }

    pub(super) fn parts(&self, block: &[u8]) -> Vec<f64> {
        let d = f64::from(read_f16(&block[self.d..]));
        let element = |j| {
            let product = d * f64::from((self.scale)(block, j) * (self.code)(block, j));
            let min =
                self.min.map_or(0.0, |(dmin, min)| f64::from(read_f16(&block[dmin..])) * f64::from(min(block, j)));
            product.abs() + min.abs()
        };
        (0..256).map(element).collect()
    }
}

//! Softmax of a row.

use super::sum;
use crate::exp;

/// Softmax in place: `e^(x - max) / Σ`. Of an empty row nothing; of one that is all -∞, NaN.
#[inline(always)]
pub fn softmax(x: &mut [f32]) {
    let max = x.iter().fold(f32::NEG_INFINITY, |max, &v| if v > max { v } else { max });
    for v in &mut *x {
        *v = exp(*v - max);
    }
    let inverse = 1.0 / sum(x.len(), |i| x[i]);
    for v in x {
        *v *= inverse;
    }
}

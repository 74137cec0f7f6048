//! Q8_0 weights by Q8_0 activations.

use keepq_blocks::BlockQ8_0;

use crate::Quantized;

impl Quantized for BlockQ8_0 {
    const HAS_MIN: bool = false;

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        self.qs
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }

    #[inline(always)]
    fn min(&self) -> f32 {
        0.0
    }
}

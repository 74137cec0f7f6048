//! Q8_0 weights by Q8_0 activations.

use keepq_blocks::BlockQ8_0;

use crate::Quantized;

impl Quantized for BlockQ8_0 {
    const EXACT_GROUPS: usize = 1; // 32 * 128 * 127 < 2^24
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        self.qs
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }
}

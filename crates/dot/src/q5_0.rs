//! Q5_0 weights by Q8_0 activations.

use keepq_blocks::BlockQ5_0;

use crate::Quantized;

impl Quantized for BlockQ5_0 {
    const EXACT_GROUPS: usize = 1; // 32 * 16 * 127 < 2^24
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        BlockQ5_0::codes(self)
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }
}

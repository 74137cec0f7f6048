//! Q3_K weights by Q8_K activations.

use keepq_blocks::BlockQ3_K;

use crate::Quantized;

impl Quantized for BlockQ3_K {
    const SUB_BLOCK: usize = 16;
    const EXACT_GROUPS: usize = 8; // 8 * 32 * (4 * 32) * 127 < 2^24
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ3_K::codes(self)
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }

    #[inline(always)]
    fn sub_scales(&self) -> [[i8; 2]; 8] {
        let mut pairs = [[0; 2]; 8];
        pairs.as_flattened_mut().copy_from_slice(&self.scales());
        pairs
    }
}

//! Q5_K weights by Q8_K activations.

use keepq_blocks::BlockQ5_K;

use crate::Quantized;

impl Quantized for BlockQ5_K {
    const SUB_BLOCK: usize = 32;
    const HAS_MIN: bool = true;
    const EXACT_GROUPS: usize = 2; // 2 * 32 * (31 * 63) * 127 < 2^24
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ5_K::codes(self)
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }

    #[inline(always)]
    fn min(&self) -> f32 {
        -self.dmin.to_f32()
    }

    #[inline(always)]
    fn sub_scales(&self) -> [[i8; 2]; 8] {
        let mut pairs = [[0; 2]; 8];
        for (pair, scale) in pairs.iter_mut().zip(self.scales()) {
            *pair = [scale as i8; 2];
        }
        pairs
    }

    #[inline(always)]
    fn sub_mins(&self) -> [[u8; 2]; 8] {
        let mut pairs = [[0; 2]; 8];
        for (pair, min) in pairs.iter_mut().zip(self.mins()) {
            *pair = [min; 2];
        }
        pairs
    }
}

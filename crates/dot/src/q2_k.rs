//! Q2_K weights by Q8_K activations.

use keepq_blocks::BlockQ2_K;

use crate::Quantized;

impl Quantized for BlockQ2_K {
    const SUB_BLOCK: usize = 16;
    const HAS_MIN: bool = true;
    const EXACT_GROUPS: usize = 8; // 8 * 32 * (3 * 15) * 127 < 2^24
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ2_K::codes(self)
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
        let scales = self.scales();
        let mut pairs = [[0; 2]; 8];
        for (pair, scales) in pairs.iter_mut().zip(scales.as_chunks::<2>().0) {
            *pair = [scales[0] as i8, scales[1] as i8];
        }
        pairs
    }

    #[inline(always)]
    fn sub_mins(&self) -> [[u8; 2]; 8] {
        let mut pairs = [[0; 2]; 8];
        pairs.as_flattened_mut().copy_from_slice(&self.mins());
        pairs
    }
}

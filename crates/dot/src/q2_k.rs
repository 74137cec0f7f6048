//! Q2_K weights by Q8_K activations.

use keepq_blocks::BlockQ2_K;

use crate::{Quantized, Target};

impl Quantized for BlockQ2_K {
    const SUB_BLOCK: usize = 16;
    const HAS_MIN: bool = true;
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 3;
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ2_K::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, group: usize) -> T::Bytes {
        let bytes = target.load_bytes(&self.qs.as_chunks().0[group / 4]);
        target.field(bytes, 2 * (group % 4) as u32, 3)
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
    fn sub_scales(&self) -> [i8; 16] {
        self.scales().map(u8::cast_signed)
    }

    #[inline(always)]
    fn sub_mins(&self) -> [u8; 16] {
        self.mins()
    }
}

//! Q3_K weights by Q8_K activations.

use keepq_blocks::BlockQ3_K;

use crate::{Quantized, Target};

impl Quantized for BlockQ3_K {
    const SUB_BLOCK: usize = 16;
    const BIAS: u8 = 4;
    const MAX_CODE: u8 = 7;
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ3_K::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, group: usize) -> T::Bytes {
        let low = target.load_bytes(&self.qs.as_chunks().0[group / 4]);
        let low = target.field(low, 2 * (group % 4) as u32, 3);
        let high = target.field(target.load_bytes(&self.hmask), group as u32, 1);
        target.join(low, high, 2)
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }

    #[inline(always)]
    fn sub_scales(&self) -> [i8; 16] {
        self.scales()
    }
}

//! Q6_K weights by Q8_K activations.

use keepq_blocks::{BlockQ6_K, F16};

use crate::{Quantized, Target};

impl Quantized for BlockQ6_K {
    const SUB_BLOCK: usize = 16;
    const BIAS: u8 = 32;
    const MAX_CODE: u8 = 63;
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ6_K::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, group: usize) -> T::Bytes {
        let low = target.load_bytes(&self.ql.as_chunks().0[group / 4 * 2 + group % 2]);
        let low = target.field(low, 4 * (group % 4 / 2) as u32, 15);
        let high = target.load_bytes(&self.qh.as_chunks().0[group / 4]);
        target.join(low, target.field(high, 2 * (group % 4) as u32, 3), 4)
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }

    #[inline(always)]
    fn sub_scales(&self) -> [i8; 16] {
        self.scales()
    }
}

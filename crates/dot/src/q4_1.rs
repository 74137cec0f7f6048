//! Q4_1 weights by Q8_0 activations and their sums (ggml: Q8_1).

use keepq_blocks::BlockQ4_1;

use crate::{Quantized, Target};

impl Quantized for BlockQ4_1 {
    const HAS_MIN: bool = true;
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 15;
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        BlockQ4_1::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, _group: usize) -> T::Bytes {
        target.nibbles(&self.qs)
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }

    #[inline(always)]
    fn min(&self) -> f32 {
        self.m.to_f32()
    }
}

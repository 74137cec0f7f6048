//! Q5_0 weights by Q8_0 activations.

use keepq_blocks::{BlockQ5_0, F16};

use crate::{Quantized, Target};

impl Quantized for BlockQ5_0 {
    const BIAS: u8 = 16;
    const MAX_CODE: u8 = 31;
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        BlockQ5_0::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, _group: usize) -> T::Bytes {
        target.join(target.nibbles(&self.qs), target.bits(self.qh), 4)
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }
}

//! Q4_0 weights by Q8_0 activations.

use keepq_blocks::{BlockQ4_0, F16};

use crate::{Quantized, Target};

impl Quantized for BlockQ4_0 {
    const BIAS: u8 = 8;
    const MAX_CODE: u8 = 15;
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        BlockQ4_0::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, _group: usize) -> T::Bytes {
        target.nibbles(&self.qs)
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }
}

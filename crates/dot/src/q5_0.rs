//! Q5_0 weights by Q8_0 activations.

use core::mem::offset_of;

use keepq_blocks::{BlockQ5_0, F16};

use crate::columns::{eight, nibbles};
use crate::octets::Octet;
use crate::{Quantized, Target};

impl Quantized for BlockQ5_0 {
    const BIAS: u8 = 16;
    const MAX_CODE: u8 = 31;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        BlockQ5_0::codes(self)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        let low = nibbles(target, octet, offset_of!(Self, qs));
        let [high] = octet.words(target, offset_of!(Self, qh));
        eight(
            #[inline(always)]
            |q| put(0, q, target.join(low[q], target.lane_bits(high, 4 * q, 16), 0)),
        );
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }
}

//! Q4_1 weights by Q8_0 activations and their sums (ggml: Q8_1).

use core::mem::offset_of;

use keepq_blocks::{BlockQ4_1, F16};

use crate::columns::{eight, nibbles};
use crate::octets::Octet;
use crate::{Quantized, Target};

impl Quantized for BlockQ4_1 {
    const HAS_MIN: bool = true;
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 15;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        BlockQ4_1::codes(self)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        let codes = nibbles(target, octet, offset_of!(Self, qs));
        eight(
            #[inline(always)]
            |q| put(0, q, codes[q]),
        );
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }

    #[inline(always)]
    fn m(&self) -> F16 {
        self.m
    }
}

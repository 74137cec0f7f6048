//! Q5_K weights by Q8_K activations.

use core::mem::offset_of;

use keepq_blocks::{BlockQ5_K, F16};

use crate::columns::{eight, four};
use crate::octets::Octet;
use crate::quantized::{negated, six_bits, sixteen};
use crate::{Quantized, Target};

impl Quantized for BlockQ5_K {
    const SUB_BLOCK: usize = 32;
    const HAS_MIN: bool = true;
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 31;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ5_K::codes(self)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        let high: [T::Bytes; 8] = octet.words(target, offset_of!(Self, qh));
        four(
            #[inline(always)]
            |pair| {
                let packed: [T::Bytes; 8] = octet.words(target, offset_of!(Self, qs) + 32 * pair);
                eight(
                    #[inline(always)]
                    |q| {
                        let fifth = |g| target.field(high[q], g as u32, 1);
                        put(2 * pair, q, target.join(target.field(packed[q], 0, 15), fifth(2 * pair), 4));
                        put(2 * pair + 1, q, target.join(target.field(packed[q], 4, 15), fifth(2 * pair + 1), 4));
                    },
                );
            },
        );
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }

    #[inline(always)]
    fn m(&self) -> F16 {
        negated(self.dmin)
    }

    #[inline(always)]
    fn sub_scales(&self) -> [i8; 16] {
        sixteen(self.scales()).map(u8::cast_signed)
    }

    #[inline(always)]
    fn sub_mins(&self) -> [u8; 16] {
        sixteen(self.mins())
    }

    #[inline(always)]
    fn octet_scales<T: Target>(target: T, octet: impl Octet<Self>) -> [[T::Bytes; 4]; 2] {
        six_bits(target, octet)
    }
}

//! Q2_K weights by Q8_K activations.

use core::mem::offset_of;

use keepq_blocks::{BlockQ2_K, F16};

use crate::columns::eight;
use crate::octets::Octet;
use crate::quantized::negated;
use crate::{Quantized, Target};

impl Quantized for BlockQ2_K {
    const SUB_BLOCK: usize = 16;
    const HAS_MIN: bool = true;
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 3;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ2_K::codes(self)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        for half in 0..2 {
            let packed: [T::Bytes; 8] = octet.words(target, offset_of!(Self, qs) + 32 * half);
            eight(
                #[inline(always)]
                |q| {
                    put(4 * half, q, target.field(packed[q], 0, 3));
                    put(4 * half + 1, q, target.field(packed[q], 2, 3));
                    put(4 * half + 2, q, target.field(packed[q], 4, 3));
                    put(4 * half + 3, q, target.field(packed[q], 6, 3));
                },
            );
        }
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
        self.scales().map(u8::cast_signed)
    }

    #[inline(always)]
    fn sub_mins(&self) -> [u8; 16] {
        self.mins()
    }

    #[inline(always)]
    fn octet_scales<T: Target>(target: T, octet: impl Octet<Self>) -> [[T::Bytes; 4]; 2] {
        let [a, b, c, d] = octet.words(target, offset_of!(Self, scales));
        let nibbles = |shift| {
            [
                target.field(a, shift, 15),
                target.field(b, shift, 15),
                target.field(c, shift, 15),
                target.field(d, shift, 15),
            ]
        };
        [nibbles(0), nibbles(4)]
    }
}

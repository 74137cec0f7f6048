//! Q3_K weights by Q8_K activations.

use core::mem::offset_of;

use keepq_blocks::{BlockQ3_K, F16};

use crate::columns::{eight, four};
use crate::octets::Octet;
use crate::{Quantized, Target};

impl Quantized for BlockQ3_K {
    const SUB_BLOCK: usize = 16;
    const BIAS: u8 = 4;
    const MAX_CODE: u8 = 7;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ3_K::codes(self)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        let high: [T::Bytes; 8] = octet.words(target, offset_of!(Self, hmask));
        for half in 0..2 {
            let low: [T::Bytes; 8] = octet.words(target, offset_of!(Self, qs) + 32 * half);
            eight(
                #[inline(always)]
                |q| {
                    four(
                        #[inline(always)]
                        |i| {
                            let g = 4 * half + i;
                            let two = target.field(low[q], 2 * i as u32, 3);
                            put(g, q, target.join(two, target.field(high[q], g as u32, 1), 2));
                        },
                    );
                },
            );
        }
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }

    #[inline(always)]
    fn sub_scales(&self) -> [i8; 16] {
        self.scales()
    }

    #[inline(always)]
    fn octet_scales<T: Target>(target: T, octet: impl Octet<Self>) -> [[T::Bytes; 4]; 2] {
        let [a, b, high] = octet.words(target, offset_of!(Self, scales));
        let scales = |low, shift, quarter: u32| {
            let biased = target.join(target.field(low, shift, 15), target.field(high, 2 * quarter, 3), 4);
            target.sub_bytes(biased, 32)
        };
        [[scales(a, 0, 0), scales(b, 0, 1), scales(a, 4, 2), scales(b, 4, 3)]; 2]
    }
}

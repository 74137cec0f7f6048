//! Q6_K weights by Q8_K activations.

use core::mem::offset_of;

use keepq_blocks::{BlockQ6_K, F16};

use crate::columns::{eight, four};
use crate::octets::Octet;
use crate::{Quantized, Target};

impl Quantized for BlockQ6_K {
    const SUB_BLOCK: usize = 16;
    const BIAS: u8 = 32;
    const MAX_CODE: u8 = 63;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ6_K::codes(self)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        four(
            #[inline(always)]
            |i| {
                let (half, odd) = (i / 2, i % 2);
                let low: [T::Bytes; 8] = octet.words(target, offset_of!(Self, ql) + 32 * i);
                let high: [T::Bytes; 8] = octet.words(target, offset_of!(Self, qh) + 32 * half);
                eight(
                    #[inline(always)]
                    |q| {
                        let code = |shift: u32, top| {
                            target.join(target.field(low[q], shift, 15), target.field(high[q], top, 3), 4)
                        };
                        put(4 * half + odd, q, code(0, 2 * odd as u32));
                        put(4 * half + odd + 2, q, code(4, 2 * odd as u32 + 4));
                    },
                );
            },
        );
    }

    #[inline(always)]
    fn octet_scales<T: Target>(target: T, octet: impl Octet<Self>) -> [[T::Bytes; 4]; 2] {
        [octet.words(target, offset_of!(Self, scales)); 2]
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

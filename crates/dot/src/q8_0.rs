//! Q8_0 weights by Q8_0 activations.

use core::mem::offset_of;

use keepq_blocks::{BlockQ8_0, F16};

use crate::columns::eight;
use crate::octets::Octet;
use crate::{Quantized, Target};

impl Quantized for BlockQ8_0 {
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 128;
    const SIGNED: bool = true;
    const FLOATS_AT: usize = offset_of!(Self, d);
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        self.qs
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, octet: impl Octet<Self>, mut put: impl FnMut(usize, usize, T::Bytes)) {
        let codes: [T::Bytes; 8] = octet.words(target, offset_of!(Self, qs));
        eight(
            #[inline(always)]
            |q| put(0, q, codes[q]),
        );
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }
}

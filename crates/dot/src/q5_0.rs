//! Q5_0 weights by Q8_0 activations.

use keepq_blocks::{BlockQ5_0, F16};

use crate::columns::{eight, headers, nibbles, of_each};
use crate::{LANES, Quantized, Target};

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
        target.join(target.nibbles(&self.qs), target.bits(self.qh, 16), 0)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, rows: [&Self; LANES], mut put: impl FnMut(usize, usize, T::Bytes)) {
        // The fifth bits are in two words: they begin in the middle of the first.
        let (low, [first, last, ..]) = (nibbles(target, of_each(rows, |row| &row.qs)), headers(target, rows));
        eight(
            #[inline(always)]
            |q| {
                let high = if q < 4 {
                    target.lane_bits(first, 16 + 4 * q, 16)
                } else {
                    target.lane_bits(last, 4 * q - 16, 16)
                };
                put(0, q, target.join(low[q], high, 0));
            },
        );
    }

    #[inline(always)]
    fn d(&self) -> F16 {
        self.d
    }
}

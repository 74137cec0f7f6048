//! Q8_0 weights by Q8_0 activations.

use keepq_blocks::{BlockQ8_0, F16};

use crate::columns::{columns, eight, of_each};
use crate::{LANES, Quantized, Target};

impl Quantized for BlockQ8_0 {
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 128;
    const SIGNED: bool = true;
    type Codes = [i8; 32];

    #[inline(always)]
    fn codes(&self) -> [i8; 32] {
        self.qs
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, _group: usize) -> T::Bytes {
        target.load_codes(&self.qs)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, rows: [&Self; LANES], mut put: impl FnMut(usize, usize, T::Bytes)) {
        let codes = columns(target, of_each(rows, |row| bytemuck::cast_ref(&row.qs)));
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

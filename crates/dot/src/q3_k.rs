//! Q3_K weights by Q8_K activations.

use keepq_blocks::{BlockQ3_K, F16};

use crate::columns::{columns, eight, four, of_each};
use crate::{LANES, Quantized, Target};

impl Quantized for BlockQ3_K {
    const SUB_BLOCK: usize = 16;
    const BIAS: u8 = 4;
    const MAX_CODE: u8 = 7;
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ3_K::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, group: usize) -> T::Bytes {
        let low = target.load_bytes(&self.qs.as_chunks().0[group / 4]);
        let low = target.field(low, 2 * (group % 4) as u32, 3);
        let high = target.field(target.load_bytes(&self.hmask), group as u32, 1);
        target.join(low, high, 2)
    }

    #[inline(always)]
    fn octet_codes<T: Target>(target: T, rows: [&Self; LANES], mut put: impl FnMut(usize, usize, T::Bytes)) {
        let high = columns(target, of_each(rows, |row| &row.hmask));
        for half in 0..2 {
            let low = columns(target, of_each(rows, |row| &row.qs.as_chunks().0[half]));
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
    fn octet_scales<T: Target>(target: T, rows: [&Self; LANES]) -> [[T::Bytes; 4]; 2] {
        let mut packed = [[0; 16]; LANES];
        for r in 0..LANES {
            packed[r][..12].copy_from_slice(&rows[r].scales);
        }
        let [a, b, high, _] = target.words(packed.each_ref());
        let scales = |low, shift, quarter: u32| {
            let biased = target.join(target.field(low, shift, 15), target.field(high, 2 * quarter, 3), 4);
            target.sub_bytes(biased, 32)
        };
        [[scales(a, 0, 0), scales(b, 0, 1), scales(a, 4, 2), scales(b, 4, 3)]; 2]
    }
}

//! Q4_K weights by Q8_K activations.

use keepq_blocks::BlockQ4_K;

use crate::quantized::{six_bit_words, sixteen};
use crate::{LANES, Quantized, Target};

impl Quantized for BlockQ4_K {
    const SUB_BLOCK: usize = 32;
    const HAS_MIN: bool = true;
    const BIAS: u8 = 0;
    const MAX_CODE: u8 = 15;
    type Codes = [i8; 256];

    #[inline(always)]
    fn codes(&self) -> [i8; 256] {
        BlockQ4_K::codes(self)
    }

    #[inline(always)]
    fn bytes<T: Target>(&self, target: T, group: usize) -> T::Bytes {
        let bytes = target.load_bytes(&self.qs.as_chunks().0[group / 2]);
        target.field(bytes, 4 * (group % 2) as u32, 15)
    }

    #[inline(always)]
    fn scale(&self) -> f32 {
        self.d.to_f32()
    }

    #[inline(always)]
    fn min(&self) -> f32 {
        -self.dmin.to_f32()
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
    fn octet_scales(rows: [&Self; LANES]) -> [[u32; LANES]; 4] {
        let mut words = [[0; LANES]; 4];
        for r in 0..LANES {
            let [sixes, _, nibbles] = six_bit_words(&rows[r].scales);
            words[0][r] = sixes & 0x3f3f_3f3f;
            words[1][r] = nibbles & 0x0f0f_0f0f | sixes >> 2 & 0x3030_3030;
        }
        words
    }

    #[inline(always)]
    fn octet_mins(rows: [&Self; LANES]) -> [[u32; LANES]; 4] {
        let mut words = [[0; LANES]; 4];
        for r in 0..LANES {
            let [_, sixes, nibbles] = six_bit_words(&rows[r].scales);
            words[0][r] = sixes & 0x3f3f_3f3f;
            words[1][r] = nibbles >> 4 & 0x0f0f_0f0f | sixes >> 2 & 0x3030_3030;
        }
        words
    }
}

//! Eight scales and eight minimums of six bits in twelve bytes: Q4_K and Q5_K.
//!
//! ```text
//! byte     bits 7,6                      bits 5-0
//! j        scale j + 4, its bits 5,4     scale j         j < 4
//! 4 + j    min j + 4, its bits 5,4       min j
//!          bits 7-4                      bits 3-0
//! 8 + j    min j + 4, its bits 3-0       scale j + 4, its bits 3-0
//! ```
//!
//! Four bytes are read as one word, so that a shift and a mask serve four values.

/// The twelve bytes.
pub(crate) fn pack(scales: [u8; 8], mins: [u8; 8]) -> [u8; 12] {
    core::array::from_fn(|i| {
        let j = i % 4;
        match i / 4 {
            0 => scales[j] & 63 | scales[j + 4] >> 4 << 6,
            1 => mins[j] & 63 | mins[j + 4] >> 4 << 6,
            _ => scales[j + 4] & 15 | mins[j + 4] << 4,
        }
    })
}

/// The eight scales.
#[inline(always)]
pub(crate) fn scales(packed: &[u8; 12]) -> [u8; 8] {
    let [scales, _, nibbles] = words(packed);
    join(scales, nibbles)
}

/// The eight minimums.
#[inline(always)]
pub(crate) fn mins(packed: &[u8; 12]) -> [u8; 8] {
    let [_, mins, nibbles] = words(packed);
    join(mins, nibbles >> 4)
}

#[inline(always)]
fn words(packed: &[u8; 12]) -> [u32; 3] {
    let words = packed.as_chunks().0;
    [words[0], words[1], words[2]].map(u32::from_le_bytes)
}

/// The first four values from the low six bits of `sixes`; the last from its high two and the low nibbles of `nibbles`.
#[inline(always)]
fn join(sixes: u32, nibbles: u32) -> [u8; 8] {
    let first = sixes & 0x3f3f_3f3f;
    let last = nibbles & 0x0f0f_0f0f | sixes >> 2 & 0x3030_3030;
    (u64::from(first) | u64::from(last) << 32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_bits_of_its_own() {
        for j in 0..8 {
            for value in 0..64 {
                let mut some = [0; 8];
                some[j] = value;
                assert_eq!((scales(&pack(some, [0; 8])), mins(&pack(some, [0; 8]))), (some, [0; 8]));
                assert_eq!((scales(&pack([0; 8], some)), mins(&pack([0; 8], some))), ([0; 8], some));
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_picture() {
        let scales = [1, 2, 3, 4, 0x15, 0x26, 0x37, 0x08];
        let mins = [5, 6, 7, 8, 0x3a, 0x2b, 0x1c, 0x0d];
        let want = [0x41, 0x82, 0xc3, 0x04, 0xc5, 0x86, 0x47, 0x08, 0xa5, 0xb6, 0xc7, 0xd8];
        assert_eq!(pack(scales, mins), want);
    }
}

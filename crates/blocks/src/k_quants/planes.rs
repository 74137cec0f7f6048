//! Codes of 1, 2 or 4 bits in bytes, as all K-quants spread them.
//!
//! The element `STRIDE` further on is in the same byte, one plane of bits higher; when a byte is full the next
//! `STRIDE` bytes begin. With two bits and a stride of 32:
//!
//! ```text
//! byte l of 0..32     | 96 + l | 64 + l | 32 + l | l       |   elements, high bits first
//! byte 32 + l         | 224 + l | …              | 128 + l |
//! ```
//!
//! So a vector of bytes, shifted and masked, is a vector of neighbouring elements.

use super::LEN;

/// The lowest `BITS` bits of every code, in `BYTES` bytes.
pub(crate) fn pack<const BITS: usize, const STRIDE: usize, const BYTES: usize>(codes: &[u8; LEN]) -> [u8; BYTES] {
    const { assert!(8 % BITS == 0 && BYTES * 8 == LEN * BITS && BYTES.is_multiple_of(STRIDE)) }
    let mut packed = [0; BYTES];
    let groups = codes.chunks_exact(STRIDE * 8 / BITS);
    for (bytes, codes) in packed.as_chunks_mut::<STRIDE>().0.iter_mut().zip(groups) {
        for (plane, codes) in codes.as_chunks::<STRIDE>().0.iter().enumerate() {
            for (byte, &code) in bytes.iter_mut().zip(codes) {
                *byte |= (code & mask(BITS)) << (plane * BITS);
            }
        }
    }
    packed
}

/// What [`pack`] packed, in the order of k.
///
/// Eight codes at a time in 64-bit words: written byte by byte, compilers vectorize this for some instruction sets and not
/// for others, at 650 instructions a block instead of 150.
#[inline(always)]
pub(crate) fn unpack<const BITS: usize, const STRIDE: usize, const BYTES: usize>(packed: &[u8; BYTES]) -> [i8; LEN] {
    const { assert!(8 % BITS == 0 && BYTES * 8 == LEN * BITS && BYTES.is_multiple_of(STRIDE)) }
    let mut codes = [0; LEN];
    let groups = codes.chunks_exact_mut(STRIDE * 8 / BITS);
    for (bytes, codes) in packed.as_chunks::<STRIDE>().0.iter().zip(groups) {
        for (plane, codes) in codes.as_chunks_mut::<STRIDE>().0.iter_mut().enumerate() {
            for (codes, bytes) in codes.as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks::<8>().0) {
                // What the shift brings in from the byte above is masked off.
                let word = u64::from_le_bytes(*bytes) >> (plane * BITS) & u64::from_le_bytes([mask(BITS); 8]);
                *codes = word.to_le_bytes();
            }
        }
    }
    bytemuck::cast(codes)
}

const fn mask(bits: usize) -> u8 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The byte and the lowest bit of every element, written down once more.
    fn place(j: usize, bits: usize, stride: usize) -> (usize, usize) {
        let group = stride * 8 / bits;
        (j / group * stride + j % stride, j % group / stride * bits)
    }

    fn every_element_is_in_its_place<const BITS: usize, const STRIDE: usize, const BYTES: usize>() {
        let max = u8::MAX >> (8 - BITS);
        for j in 0..LEN {
            let mut codes = [0; LEN];
            codes[j] = max;
            let packed = pack::<BITS, STRIDE, BYTES>(&codes);
            let (byte, bit) = place(j, BITS, STRIDE);
            let mut want = [0; BYTES];
            want[byte] = max << bit;
            assert_eq!(packed, want, "{j}");
            assert_eq!(unpack::<BITS, STRIDE, BYTES>(&packed).map(|code| code as u8), codes, "{j}");
        }
    }

    #[test]
    fn planes_of_all_types() {
        every_element_is_in_its_place::<1, 32, 32>();
        every_element_is_in_its_place::<2, 32, 64>();
        every_element_is_in_its_place::<4, 32, 128>();
        every_element_is_in_its_place::<4, 64, 128>();
    }

    #[test]
    fn higher_bits_of_a_code_go_elsewhere() {
        assert_eq!(pack::<4, 32, 128>(&[0x35; LEN]), [0x55; 128]);
    }
}

//! Codes of four bits, and the fifth bits of those that have one.

/// Element j is the low half of byte j, element j + 16 the high one.
pub(super) fn nibble(qs: &[u8], j: usize) -> u8 {
    let byte = qs[j % 16];
    if j < 16 { byte % 16 } else { byte / 16 }
}

/// The 16 bytes of 32 codes, without their fifth bits.
pub(super) fn join(codes: &[u8]) -> Vec<u8> {
    (0..16).map(|j| codes[j] % 16 + 16 * (codes[j + 16] % 16)).collect()
}

/// The fifth bit of element j is bit j of a little-endian u32: of byte j / 8 bit j % 8.
pub(super) fn fifth_bit(qh: &[u8], j: usize) -> u8 {
    qh[j / 8] >> (j % 8) & 1
}

/// The four bytes of 32 fifth bits.
pub(super) fn join_fifth_bits(codes: &[u8]) -> Vec<u8> {
    codes.chunks(8).map(|codes| (0..8).map(|j| (codes[j] / 16) << j).sum()).collect()
}

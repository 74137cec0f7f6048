//! Eight scales and eight minima of six bits in twelve bytes, as Q4_K and Q5_K have them.

/// The scale of part i: the low bits of byte i, or from part 4 on four bits of byte 4 + i and two that are left in i - 4.
pub(super) fn scale(bytes: &[u8], i: usize) -> i32 {
    i32::from(if i < 4 { bytes[i] % 64 } else { bytes[4 + i] % 16 + 16 * (bytes[i - 4] / 64) })
}

/// The minimum of part i: the low bits of byte 4 + i, or from part 4 on four bits of byte 4 + i and two that are left in i.
pub(super) fn min(bytes: &[u8], i: usize) -> i32 {
    i32::from(if i < 4 { bytes[4 + i] % 64 } else { bytes[4 + i] / 16 + 16 * (bytes[i] / 64) })
}

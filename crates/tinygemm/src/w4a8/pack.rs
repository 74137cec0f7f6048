//! Making records.

use super::{FORMAT, MAX_BLOCK, ROWS, Weights};
use crate::LayoutError;
use crate::error::{check_codes, check_length, is_group};

/// Packs `codes` (`n` rows of `k`, one to a byte) and the compensations that follow from `zeros` into `records`.
///
/// `scales` and `zeros` are in the order of the blocks ([`by_blocks`]) and become part of the view.
///
/// # Errors
/// Those of [`Weights::new`]; [`LayoutError::Length`] where `codes` are not `n * k`; [`LayoutError::CodeOutOfRange`] for the first code
/// above 15. Nothing is written where an error is returned.
pub fn pack<'a>(
    (n, k): (usize, usize),
    group: usize,
    codes: &[u8],
    scales: &'a [f32],
    zeros: &'a [i8],
    records: &'a mut [u8],
) -> Result<Weights<'a>, LayoutError> {
    Weights::new((n, k), group, records, scales, zeros)?;
    check_length(FORMAT, "codes", n * k, codes.len())?;
    check_codes(FORMAT, k, codes)?;
    let (block, groups) = (group.min(MAX_BLOCK), k / group);
    let record_bytes = record_bytes(group);
    for (i, record) in records.chunks_exact_mut(record_bytes).enumerate() {
        let (rows, first) = (i / (k / block), i % (k / block) * block);
        let (nibbles, compensations) = record.split_at_mut(block * ROWS / 2);
        for (at, byte) in nibbles.iter_mut().enumerate() {
            let (quad, half, lane, j) = (at / 64, at / 32 % 2, at / 4 % 8, at % 4);
            let code = |row: usize| codes[(rows * ROWS + row) * k + first + 4 * quad + j];
            *byte = code(16 * half + lane) | code(16 * half + 8 + lane) << 4;
        }
        let zeros = &zeros[(rows * groups + first / group) * ROWS..][..ROWS];
        for (row, (to, zero)) in compensations.as_chunks_mut().0.iter_mut().zip(zeros).enumerate() {
            let codes = &codes[(rows * ROWS + row) * k + first..][..block];
            let sum: i32 = codes.iter().map(|&code| i32::from(code) - i32::from(*zero)).sum();
            *to = sum.to_le_bytes();
        }
    }
    Weights::new((n, k), group, records, scales, zeros)
}

/// Bytes of the records of `n` rows of `k` codes in groups.
///
/// # Errors
/// [`LayoutError::RaggedRows`] where `n` is no multiple of 32; [`LayoutError::Group`] where the group is none of 32, 64, 128 and 256, or no divisor
/// of `k`; [`LayoutError::TooLarge`].
pub fn packed_bytes(n: usize, k: usize, group: usize) -> Result<usize, LayoutError> {
    if !n.is_multiple_of(ROWS) {
        return Err(LayoutError::RaggedRows { format: FORMAT, n, multiple: ROWS });
    }
    if !is_group(k, group) {
        return Err(LayoutError::Group { format: FORMAT, k, group });
    }
    let too_large = LayoutError::TooLarge { format: FORMAT, n, k };
    // The codes are counted too, which are more than the bytes where groups are large.
    n.checked_mul(k).ok_or(too_large)?;
    let records = n / ROWS * (k / group.min(MAX_BLOCK));
    records.checked_mul(record_bytes(group)).ok_or(too_large)
}

/// Puts plain scales or zero points, `[n][groups]`, into the order of the blocks, `[n / 32][groups][32]`.
///
/// # Errors
/// [`LayoutError::RaggedRows`] where `n` is no multiple of 32, [`LayoutError::Length`] where the plain ones are not the same number for each row,
/// or `out` is of another length.
pub fn by_blocks<T: Copy>(n: usize, plain: &[T], out: &mut [T]) -> Result<(), LayoutError> {
    if !n.is_multiple_of(ROWS) {
        return Err(LayoutError::RaggedRows { format: FORMAT, n, multiple: ROWS });
    }
    let groups = plain.len().checked_div(n).unwrap_or(0);
    check_length(FORMAT, "scales or zero points", n * groups, plain.len())?;
    check_length(FORMAT, "scales or zero points by blocks", plain.len(), out.len())?;
    for (i, to) in out.iter_mut().enumerate() {
        let (rows, group, row) = (i / ROWS / groups, i / ROWS % groups, i % ROWS);
        *to = plain[(rows * ROWS + row) * groups + group];
    }
    Ok(())
}

/// Bytes of a record: nibbles and 32 compensations.
pub(super) const fn record_bytes(group: usize) -> usize {
    (if group < MAX_BLOCK { group } else { MAX_BLOCK }) * ROWS / 2 + 4 * ROWS
}

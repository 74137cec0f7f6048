//! W4A8: records of 32 rows, group by group.

use super::Token;

/// What the rows have beside their codes, `[n][groups]` both.
pub(crate) struct Groups<'a> {
    pub(crate) scales: &'a [Vec<f32>],
    pub(crate) zeros: &'a [Vec<i8>],
    /// Codes of a group.
    pub(crate) len: usize,
}

impl Groups<'_> {
    /// Codes of a row in a record.
    fn block(&self) -> usize {
        self.len.min(128)
    }
}

/// The records of codes `[n][k]`.
pub(crate) fn pack(codes: &[Vec<u8>], groups: &Groups<'_>) -> Vec<u8> {
    let block = groups.block();
    let mut bytes = Vec::new();
    for (b, rows) in codes.chunks(32).enumerate() {
        for first in (0..rows[0].len()).step_by(block) {
            for four in (first..first + block).step_by(4) {
                for h in 0..2 {
                    for i in 0..8 {
                        for j in 0..4 {
                            bytes.push(rows[16 * h + i][four + j] + 16 * rows[16 * h + 8 + i][four + j]);
                        }
                    }
                }
            }
            for (r, row) in rows.iter().enumerate() {
                let zero = i32::from(groups.zeros[32 * b + r][first / groups.len]);
                let sum: i32 = row[first..first + block].iter().map(|&code| i32::from(code) - zero).sum();
                bytes.extend(sum.to_le_bytes());
            }
        }
    }
    bytes
}

/// The dot of row r, whose codes these are, and a token.
pub(crate) fn dot(codes: &[u8], groups: &Groups<'_>, r: usize, x: &Token) -> f32 {
    let block = groups.block();
    let mut y = 0.0;
    for first in (0..codes.len()).step_by(block) {
        let g = first / groups.len;
        let level = |i: usize| i32::from(codes[i]) - i32::from(groups.zeros[r][g]);
        let isum: i32 = (first..first + block).map(|i| i32::from(x.codes[i]) * level(i)).sum();
        y += isum as f32 * x.scale * groups.scales[r][g];
    }
    y
}

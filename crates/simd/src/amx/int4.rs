//! Per-channel int4 by tiles.
//!
//! Rows of weights are the first operand of a product of tiles: 32 bytes of a row are 64 codes, those of even columns before those of odd ones. Tokens are
//! the second, in the same order, put there once for all rows of a strip.

use std::ops::Range;

use keepq_dot::Target;
use keepq_tinygemm::Acts;
use keepq_tinygemm::int4::QuantizedMatrixQ4;

use super::Amx;
use super::tiles::{BYTES, ROWS, Sums, Tile, Tiles};

/// Tokens of a product, and rows of weights: two tiles.
const WIDE: usize = 2 * ROWS;

/// Tiles of a piece of k: 512 codes.
const TILES: usize = 8;

/// Rows of a strip whose sums wait on the stack while pieces of k go by.
const STRIP: usize = 256;

/// Tiles of a piece, of 32 tokens or 32 rows of weights.
type Piece = [[Tile; TILES]; 2];

/// [`Tier::int4_strip`](crate::Tier::int4_strip) by tiles, for any number of tokens.
pub(crate) fn strip<T: Target>(
    amx: Amx,
    target: T,
    w: &QuantizedMatrixQ4,
    rows: Range<usize>,
    x: Acts<'_>,
    y: &mut [f32],
) {
    let n = rows.len();
    let mut tiles = Tiles::new(amx);
    for (r, rows) in rows.clone().step_by(STRIP).map(|row| (row - rows.start, row..rows.end.min(row + STRIP))) {
        for first in (0..x.m()).step_by(WIDE) {
            let few = x.tokens(first..x.m().min(first + WIDE));
            multiply(&mut tiles, target, w, rows.clone(), few, n, &mut y[first * n + r..]);
        }
    }
}

/// At most 32 tokens by at most [`STRIP`] rows: `y[t * n + r]`.
fn multiply<T: Target>(
    tiles: &mut Tiles,
    target: T,
    w: &QuantizedMatrixQ4,
    rows: Range<usize>,
    x: Acts<'_>,
    n: usize,
    y: &mut [f32],
) {
    let mut isums = [[0; WIDE]; STRIP];
    let mut tokens: Piece = [[Tile::ZERO; TILES]; 2];
    let mut weights: Piece = [[Tile::ZERO; TILES]; 2];
    let mut sums = [[Sums::ZERO; 2]; 2];
    for from in (0..w.k()).step_by(TILES * BYTES) {
        let codes = from..w.k().min(from + TILES * BYTES);
        let count = codes.len().div_ceil(BYTES);
        target.run(
            #[inline(always)]
            || lay_out(x, codes.clone(), &mut tokens),
        );
        for row in rows.clone().step_by(WIDE) {
            target.run(
                #[inline(always)]
                || unpack(w, row..rows.end.min(row + WIDE), codes.clone(), &mut weights),
            );
            tiles.weights_by_tokens(
                weights.each_ref().map(|tiles| &tiles[..count]),
                tokens.each_ref().map(|tiles| &tiles[..count]),
                &mut sums,
            );
            target.run(
                #[inline(always)]
                || {
                    for (i, isums) in isums[row - rows.start..][..WIDE].iter_mut().enumerate() {
                        for (t, isum) in isums.iter_mut().enumerate() {
                            *isum += sums[i / ROWS][t / ROWS].0[i % ROWS][t % ROWS];
                        }
                    }
                },
            );
        }
    }
    crate::int4::finish(w, rows, x, |t, r| isums[r][t], n, y);
}

/// The codes of tokens, in each 64 those of even columns first, four of a token side by side. Past the last token and the last code are zeros.
#[inline(always)]
fn lay_out(x: Acts<'_>, codes: Range<usize>, tokens: &mut Piece) {
    *tokens = [[Tile::ZERO; TILES]; 2];
    for t in 0..x.m() {
        for (tile, codes) in tokens[t / ROWS].iter_mut().zip(x.codes(t)[codes.clone()].chunks(BYTES)) {
            for (i, code) in codes.iter().enumerate() {
                let at = i % 2 * (BYTES / 2) + i / 2;
                tile.0[at / 4][4 * (t % ROWS) + at % 4] = code.cast_unsigned();
            }
        }
    }
}

/// The codes of rows, a byte each, in each 64 those of even columns first. Past the last code the tokens are 0; no sum of rows past the last one is read.
#[inline(always)]
fn unpack(w: &QuantizedMatrixQ4, rows: Range<usize>, codes: Range<usize>, weights: &mut Piece) {
    for (r, row) in rows.enumerate() {
        let bytes = w.row(row).map_or(&[][..], |(row, _)| &row[codes.start / 2..codes.end.div_ceil(2)]);
        for (tile, bytes) in weights[r / ROWS].iter_mut().zip(bytes.chunks(BYTES / 2)) {
            let (even, odd) = tile.0[r % ROWS].split_at_mut(BYTES / 2);
            for (i, byte) in bytes.iter().enumerate() {
                (even[i], odd[i]) = (byte & 15, byte >> 4);
            }
        }
    }
}

//! W4A8 by tiles.
//!
//! Half of a record is, nibbles apart, what the second operand of a product of tiles has to be: four codes of each of 16 rows side by side. Tokens are
//! the first operand as they lie, put together. Sums of a record are whole numbers, and go on in floats as the definition has it.

use std::ops::Range;

use keepq_dot::Target;
use keepq_tinygemm::Acts;
use keepq_tinygemm::w4a8::{MAX_BLOCK, ROWS as RECORD_ROWS, Record, Weights};

use super::Amx;
use super::tiles::{BYTES, ROWS, Sums, Tile, Tiles};

/// Tokens of a product: two tiles.
const TOKENS: usize = 2 * ROWS;

/// Tiles of a record's codes, at most.
const TILES: usize = MAX_BLOCK / BYTES;

const _: () = assert!(RECORD_ROWS == 2 * ROWS && MAX_BLOCK.is_multiple_of(BYTES), "a record is two tiles wide");

/// [`Tier::w4a8_strip`](crate::Tier::w4a8_strip) by tiles, for any number of tokens.
pub(crate) fn strip<T: Target>(amx: Amx, target: T, w: Weights<'_>, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
    let n = rows.len();
    y.fill(0.0);
    let mut tiles = Tiles::new(amx);
    let mut panel = [[Tile::ZERO; TILES]; 2];
    let mut tokens = [[Tile::ZERO; TILES]; 2];
    let mut sums = [[Sums::ZERO; 2]; 2];
    let count = w.block().div_ceil(BYTES);
    for (b, rows) in (rows.start / RECORD_ROWS..rows.end / RECORD_ROWS).enumerate() {
        for (i, record) in w.records(rows).enumerate() {
            target.run(
                #[inline(always)]
                || unpack(&record, &mut panel),
            );
            for first in (0..x.m()).step_by(TOKENS) {
                let few = x.tokens(first..x.m().min(first + TOKENS));
                let codes = i * w.block()..(i + 1) * w.block();
                target.run(
                    #[inline(always)]
                    || gather(few, codes.clone(), &mut tokens),
                );
                tiles.tokens_by_weights(
                    tokens.each_ref().map(|tiles| &tiles[..count]),
                    panel.each_ref().map(|tiles| &tiles[..count]),
                    &mut sums,
                );
                target.run(
                    #[inline(always)]
                    || add(&sums, &record, few, codes.clone(), n, &mut y[first * n + b * RECORD_ROWS..]),
                );
            }
        }
    }
}

/// A record's codes, a byte each: the first 16 rows and the others. What is not written stays 0.
#[inline(always)]
fn unpack(record: &Record<'_>, panel: &mut [[Tile; TILES]; 2]) {
    for (quad, bytes) in record.nibbles.as_flattened().as_chunks::<{ BYTES / 2 }>().0.iter().enumerate() {
        let (half, quad) = (quad % 2, quad / 2);
        let (low, high) = panel[half][quad / ROWS].0[quad % ROWS].split_at_mut(BYTES / 2);
        for i in 0..BYTES / 2 {
            (low[i], high[i]) = (bytes[i] & 15, bytes[i] >> 4);
        }
    }
}

/// These codes of each token. Rows past the last token, and bytes past the last code, keep what they have: no sum of theirs is read, and
/// the weights beside them are 0.
#[inline(always)]
fn gather(x: Acts<'_>, codes: Range<usize>, tokens: &mut [[Tile; TILES]; 2]) {
    for t in 0..x.m() {
        for (tile, codes) in tokens[t / ROWS].iter_mut().zip(x.codes(t)[codes.clone()].chunks(BYTES)) {
            for (to, code) in tile.0[t % ROWS].iter_mut().zip(codes) {
                *to = code.cast_unsigned();
            }
        }
    }
}

/// One step of each result's chain.
#[inline(always)]
fn add(sums: &[[Sums; 2]; 2], record: &Record<'_>, x: Acts<'_>, codes: Range<usize>, n: usize, y: &mut [f32]) {
    let all = codes.start / keepq_tinygemm::SUM..codes.end / keepq_tinygemm::SUM;
    for t in 0..x.m() {
        let sum: i32 = x.sums(t)[all.clone()].iter().map(|&sum| i32::from(sum)).sum();
        let x_scale = x.scale(t);
        for half in 0..2 {
            let isums = &sums[t / ROWS][half].0[t % ROWS];
            let y = &mut y[t * n + half * ROWS..][..ROWS];
            let (zeros, scales) = (&record.zeros[half * ROWS..][..ROWS], &record.scales[half * ROWS..][..ROWS]);
            for r in 0..ROWS {
                let isum = isums[r] - i32::from(zeros[r]) * sum;
                y[r] += isum as f32 * x_scale * scales[r];
            }
        }
    }
}

//! Attention: blocks of positions, an online softmax, several queries at a time.
//!
//! A block's keys and values are widened once for all queries of a tile. Each query's result is a matter of its own position
//! and window: which other queries share the tile changes no bit.

mod cache;
mod products;
mod weights;

use core::ops::Range;

use cache::{BLOCK, EIGHTS};
pub use cache::{KvHead, KvLayout};
use products::{Rows, Sums, add_products};
use weights::weigh;

use crate::float::{Element, reduce};
use crate::scratch::{LINE, from_line};
use crate::{LANES, Target};

/// Queries that go through a block side by side.
const SIDE_BY_SIDE: usize = 4;

/// Queries of a tile: enough that widening a block is little beside using it, few enough that what they gather stays in L2.
const TOGETHER: usize = 64;

/// Tokens whose queries are best passed to [`attention`] together, where each has `heads` that read the same keys.
///
/// # Panics
/// Where `heads` is 0.
#[must_use]
pub const fn tokens_together(heads: usize) -> usize {
    let tokens = TOGETHER / heads;
    if tokens == 0 { 1 } else { tokens }
}

/// Queries of consecutive tokens that read one head of keys and values.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a> {
    /// The first token's, head after head.
    pub q: &'a [f32],
    /// Elements from one token's to the next.
    pub stride: usize,
    /// Tokens.
    pub tokens: usize,
    /// Heads of each token.
    pub heads: usize,
    /// The first token's position.
    pub position: usize,
    /// Positions that a token sees at most, its own included and the last of them.
    pub window: usize,
    /// What queries are multiplied by.
    pub scale: f32,
}

impl Queries<'_> {
    const fn count(&self) -> usize {
        self.tokens * self.heads
    }

    /// The positions in a block that query `i` sees.
    #[inline(always)]
    fn seen(&self, i: usize, block: usize) -> Range<usize> {
        let end = self.position + i / self.heads + 1;
        let in_block = |position: usize| position.saturating_sub(block * BLOCK).min(BLOCK);
        in_block(end.saturating_sub(self.window))..in_block(end)
    }
}

/// Floats of memory that [`attention`] takes for `queries` queries of `head` elements.
#[must_use]
pub const fn attention_memory(head: usize, queries: usize) -> usize {
    let eights = head.div_ceil(LANES);
    let rows = queries * (eights + EIGHTS + 1) + queries.div_ceil(LANES) + 2 * eights * BLOCK;
    (queries * head).next_multiple_of(LANES) + rows * LANES + LINE / size_of::<f32>()
}

/// Attention of some queries over one head of cached keys and values: `Σ_t softmax(scale * q · key_t)_t * value_t` for each
/// of them, over the positions that it sees. Calls `out(i, result)` for each, head by head of token by token.
///
/// `memory` is [`attention_memory`] floats with any contents.
///
/// # Panics
/// Where `q`, keys or values end before the last that is needed, or `memory` is too short.
pub fn attention<T: Target>(
    target: T,
    queries: Queries<'_>,
    cache: KvHead<'_>,
    memory: &mut [f32],
    mut out: impl FnMut(usize, &[f32]),
) {
    let (head, count) = (cache.layout.head, queries.count());
    if count == 0 || head == 0 {
        return;
    }
    let mut tile = Tile::new(queries, cache.layout, memory);
    let first = (queries.position + 1).saturating_sub(queries.window) / BLOCK;
    let last = (queries.position + queries.tokens - 1) / BLOCK;
    for block in first..=last {
        let panels = cache.block(block);
        if count <= SIDE_BY_SIDE {
            // Used once: widened on the way, while the next block comes from memory.
            let ahead = if block < last { cache.block(block + 1) } else { [&[][..]; 2] };
            tile.add_block(target, block, panels, ahead);
        } else {
            tile.widen(target, panels);
            let (keys, values) = (core::mem::take(&mut tile.keys), core::mem::take(&mut tile.values));
            tile.add_block(target, block, [keys, values], [&[]; 2]);
            (tile.keys, tile.values) = (keys, values);
        }
    }
    tile.finish(target);
    let width = cache.layout.eights() * LANES;
    for (i, y) in tile.y.as_flattened().chunks_exact(width).take(count).enumerate() {
        out(i, &y[..head]);
    }
}

/// What queries have gathered so far, and the block that they are at.
struct Tile<'a> {
    queries: Queries<'a>,
    head: usize,
    /// Eights of a head.
    eights: usize,
    /// A row a query, multiplied by the scale.
    q: &'a mut [f32],
    /// A row a query: scores in the block, then weights.
    scores: &'a mut [[f32; LANES]],
    /// A row a query: sums of values.
    y: &'a mut [[f32; LANES]],
    /// Of each query eight sums of weights.
    sums: &'a mut [[f32; LANES]],
    /// Of eight queries the largest scores.
    max: &'a mut [[f32; LANES]],
    keys: &'a mut [[f32; LANES]],
    values: &'a mut [[f32; LANES]],
}

impl<'a> Tile<'a> {
    fn new(queries: Queries<'a>, layout: KvLayout, memory: &'a mut [f32]) -> Self {
        let (head, eights, count) = (layout.head, layout.eights(), queries.count());
        let (memory, _) = from_line(memory).as_chunks_mut();
        let (keys, memory) = memory.split_at_mut(eights * BLOCK);
        let (values, memory) = memory.split_at_mut(eights * BLOCK);
        let (scores, memory) = memory.split_at_mut(count * EIGHTS);
        let (y, memory) = memory.split_at_mut(count * eights);
        let (sums, memory) = memory.split_at_mut(count);
        let (max, memory) = memory.split_at_mut(count.div_ceil(LANES));
        let q = &mut memory.as_flattened_mut()[..count * head];
        y.fill([0.0; LANES]);
        sums.fill([0.0; LANES]);
        // Not -∞: the difference of two would be NaN.
        max.fill([f32::MIN; LANES]);
        for (t, q) in q.chunks_exact_mut(queries.heads * head).enumerate() {
            for (q, from) in q.iter_mut().zip(&queries.q[t * queries.stride..][..queries.heads * head]) {
                *q = from * queries.scale;
            }
        }
        Self { queries, head, eights, q, scores, y, sums, max, keys, values }
    }

    /// Widens a block's keys and values.
    fn widen<T: Target, E: Element>(&mut self, target: T, [keys, values]: [&[[E; LANES]]; 2]) {
        for (from, to) in [(keys, &mut self.keys), (values, &mut self.values)] {
            target.run(
                #[inline(always)]
                || {
                    for (from, to) in from.iter().zip(to.iter_mut()) {
                        target.store(E::load(target, from), to);
                    }
                },
            );
        }
    }

    /// Takes all queries through a block of keys and values: the keys stay in L1 meanwhile, then the values.
    fn add_block<T: Target, E: Element>(
        &mut self,
        target: T,
        block: usize,
        [keys, values]: [&[[E; LANES]]; 2],
        [keys_ahead, values_ahead]: [&[[E; LANES]]; 2],
    ) {
        let (keys, values) = ((keys, keys_ahead), (values, values_ahead));
        let count = self.queries.count();
        let mut first = 0;
        while first < count {
            first += match count - first {
                1 => self.score::<T, E, 1, 4>(target, first, block, keys),
                2 => self.score::<T, E, 2, 4>(target, first, block, keys),
                3 => self.score::<T, E, 3, 2>(target, first, block, keys),
                _ => self.score::<T, E, SIDE_BY_SIDE, 2>(target, first, block, keys),
            };
        }
        self.weigh(target, block);
        first = 0;
        while first < count {
            first += match count - first {
                1 => self.gather::<T, E, 1, 4>(target, first, block, values),
                2 => self.gather::<T, E, 2, 4>(target, first, block, values),
                3 => self.gather::<T, E, 3, 2>(target, first, block, values),
                _ => self.gather::<T, E, SIDE_BY_SIDE, 2>(target, first, block, values),
            };
        }
    }

    /// Scores of `R` queries at a block's positions. Gives back `R`.
    fn score<T: Target, E: Element, const R: usize, const V: usize>(
        &mut self,
        target: T,
        first: usize,
        block: usize,
        (keys, ahead): (&[[E; LANES]], &[[E; LANES]]),
    ) -> usize {
        // The windows of queries are in order.
        let seen = self.queries.seen(first, block).start..self.queries.seen(first + R - 1, block).end;
        if seen.is_empty() {
            return R;
        }
        let lanes = (seen.start / LANES, seen.end.div_ceil(LANES));
        let scores = &mut self.scores[first * EIGHTS..][..R * EIGHTS];
        scores.fill([0.0; LANES]);
        let q = Rows { numbers: &self.q[first * self.head..][..R * self.head], stride: self.head };
        let panel = (&keys[..self.head * EIGHTS], EIGHTS);
        target.run(
            #[inline(always)]
            || add_products::<T, E, R, V>(target, q, panel, &mut Sums { eights: scores, stride: EIGHTS }, lanes, ahead),
        );
        R
    }

    /// Scores of all queries become weights; what was gathered before is scaled down to them.
    fn weigh<T: Target>(&mut self, target: T, block: usize) {
        let Self { queries, scores, y, sums, max, eights, .. } = self;
        let rows = scores.chunks_mut(LANES * EIGHTS).zip(y.chunks_mut(LANES * *eights)).zip(sums.chunks_mut(LANES));
        for (i, (((scores, y), sums), max)) in rows.zip(max.iter_mut()).enumerate() {
            let mut seen = [const { 0..0 }; LANES];
            for (r, seen) in seen.iter_mut().take(sums.len()).enumerate() {
                *seen = queries.seen(i * LANES + r, block);
            }
            target.run(
                #[inline(always)]
                || {
                    let factors = weigh(target, scores.as_chunks_mut().0, &seen, max, sums);
                    for (y, factor) in y.chunks_exact_mut(*eights).zip(factors) {
                        if factor != 1.0 {
                            y.as_flattened_mut().iter_mut().for_each(|y| *y *= factor);
                        }
                    }
                },
            );
        }
    }

    /// Adds a block's values to what `R` queries have gathered, by their weights. Gives back `R`.
    fn gather<T: Target, E: Element, const R: usize, const V: usize>(
        &mut self,
        target: T,
        first: usize,
        block: usize,
        (values, ahead): (&[[E; LANES]], &[[E; LANES]]),
    ) -> usize {
        let mut seen = [const { 0..0 }; R];
        for r in 0..R {
            seen[r] = self.queries.seen(first + r, block);
        }
        // The positions that all of them see; some see a few before or after these as well.
        let all = seen[R - 1].start..seen[0].end.max(seen[R - 1].start);
        let eights = self.eights;
        let y = &mut self.y[first * eights..][..R * eights];
        let weights = self.scores[first * EIGHTS..][..R * EIGHTS].as_flattened();
        target.run(
            #[inline(always)]
            || {
                for r in 0..R {
                    let before = seen[r].start..seen[r].end.min(all.start);
                    gather::<T, E, 1, 4>(
                        target,
                        &weights[r * BLOCK..],
                        (values, &[]),
                        before,
                        &mut y[r * eights..],
                        eights,
                    );
                }
                gather::<T, E, R, V>(target, weights, (values, ahead), all.clone(), y, eights);
                for r in 0..R {
                    let after = seen[r].start.max(all.end)..seen[r].end;
                    gather::<T, E, 1, 4>(
                        target,
                        &weights[r * BLOCK..],
                        (values, &[]),
                        after,
                        &mut y[r * eights..],
                        eights,
                    );
                }
            },
        );
        R
    }

    /// Divides what was gathered by the sums of weights.
    fn finish<T: Target>(&mut self, target: T) {
        let Self { y, sums, eights, .. } = self;
        target.run(
            #[inline(always)]
            || {
                for (y, sums) in y.chunks_exact_mut(*eights).zip(sums.iter()) {
                    let inverse = 1.0 / reduce(*sums);
                    y.as_flattened_mut().iter_mut().for_each(|y| *y *= inverse);
                }
            },
        );
    }
}

/// Adds the values of some positions of a block to rows of `y`, by rows of weights.
#[inline(always)]
fn gather<T: Target, E: Element, const R: usize, const V: usize>(
    target: T,
    weights: &[f32],
    (values, ahead): (&[[E; LANES]], &[[E; LANES]]),
    positions: Range<usize>,
    y: &mut [[f32; LANES]],
    eights: usize,
) {
    if !positions.is_empty() {
        let x = Rows { numbers: &weights[positions.start..], stride: BLOCK };
        let panel = (&values[positions.start * eights..positions.end * eights], eights);
        add_products::<T, E, R, V>(target, x, panel, &mut Sums { eights: y, stride: eights }, (0, eights), ahead);
    }
}

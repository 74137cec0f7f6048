//! How fast threads read from memory.

use std::hint::black_box;

use pulp::{Arch, Simd, WithSimd};

use super::super::super::limits::best;
use super::super::operands::beyond_caches;

/// Parts that the memory is read in, one a probe: as short as can be, since on a busy machine long probes are interrupted.
const PARTS: usize = 16;

/// Bytes a second that `threads` threads read, each by the best of 1, 2, 4 and 8 streams, and how many that is.
///
/// The memory is read in turns of parts, all of them together larger than any cache, so that none is in one when it is read again.
pub(super) fn best_of_streams(threads: usize) -> (f64, usize) {
    let floats = beyond_caches() / size_of::<f32>() / PARTS / threads;
    // Written, so that the pages are there: all that are only reserved are one page of zeros.
    let memory = vec![1.0_f32; floats * PARTS * threads];
    let part_bytes = (floats * threads * size_of::<f32>()) as f64;
    let rate = |read: &(dyn Fn(&[f32]) -> f32 + Sync)| {
        let elapsed = best(2 * PARTS, threads, |probe, thread| {
            let place = (probe % PARTS) * threads + thread;
            black_box(read(black_box(&memory[place * floats..][..floats])));
        });
        part_bytes / elapsed.as_secs_f64()
    };
    let rates = [
        (rate(&|memory| Arch::new().dispatch(Streams::<1>(memory))), 1),
        (rate(&|memory| Arch::new().dispatch(Streams::<2>(memory))), 2),
        (rate(&|memory| Arch::new().dispatch(Streams::<4>(memory))), 4),
        (rate(&|memory| Arch::new().dispatch(Streams::<8>(memory))), 8),
    ];
    rates.into_iter().fold((0.0, 0), |best, rate| if rate.0 > best.0 { rate } else { best })
}

/// Reads memory from `N` places on, in turns of eight vectors.
struct Streams<'a, const N: usize>(&'a [f32]);

impl<const N: usize> WithSimd for Streams<'_, N> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, _) = S::as_simd_f32s(self.0);
        let (groups, _) = vectors.as_chunks::<8>();
        let each = groups.len() / N;
        let streams: [&[[S::f32s; 8]]; N] = std::array::from_fn(|stream| &groups[stream * each..][..each]);
        let mut sums = [simd.splat_f32s(0.0); 8];
        for step in 0..each {
            for stream in streams {
                for (sum, vector) in sums.iter_mut().zip(&stream[step]) {
                    *sum = simd.add_f32s(*sum, *vector);
                }
            }
        }
        sums.iter().map(|sum| simd.reduce_sum_f32s(*sum)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stream_is_read() {
        let memory = vec![1.0_f32; 8 * 8 * 16];
        assert_eq!(Arch::new().dispatch(Streams::<1>(&memory)), 1024.0);
        assert_eq!(Arch::new().dispatch(Streams::<8>(&memory)), 1024.0);
    }
}

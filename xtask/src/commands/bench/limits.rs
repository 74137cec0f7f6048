//! [`Limits`]: what the machine could do at most, by which arms are measured.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use pulp::{Arch, Simd, WithSimd};

use super::kernels::limits::products_of_bytes;

/// Bytes that a probe reads at least, however small the weights are.
const READ: u64 = 1 << 28;

/// Rounds of the multiply-add probe: about a millisecond.
const ROUNDS: usize = 1 << 18;

/// The best of so many probes counts: what slows one down is not the machine's limit.
const PROBES: usize = 3;

/// As many probes of about a millisecond: on a busy machine some of them are not interrupted.
pub(super) const SHORT_PROBES: usize = 32;

/// What all threads can do together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes read, a second.
    pub(super) read: f64,
    /// Multiply-adds of f32, a second.
    pub(super) multiply_adds: f64,
    /// None where the machine has no products of bytes.
    pub(super) int8: Option<Int8>,
}

/// Multiply-adds of bytes, a second, as kernels do them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Int8 {
    /// Both with a sign.
    pub(super) signed: f64,
    /// One of them without.
    pub(super) unsigned: f64,
}

impl Limits {
    /// Measures with `threads` threads, reading `bytes` bytes over and over: as far from the cores as weights of that size.
    pub(super) fn measure(threads: usize, bytes: u64) -> Self {
        let floats = (bytes as usize / size_of::<f32>()).div_ceil(threads).max(1);
        let passes = READ.div_ceil(bytes.max(1)).max(1);
        // Written, so that the pages are there: all that are only reserved are one page of zeros.
        let memory = vec![1.0_f32; floats * threads];
        let reading = best(PROBES, threads, |_, thread| {
            let own = &memory[thread * floats..][..floats];
            for _ in 0..passes {
                black_box(Arch::new().dispatch(Sum(black_box(own))));
            }
        });
        Self {
            read: (memory.len() * size_of::<f32>()) as f64 * passes as f64 / reading.as_secs_f64(),
            multiply_adds: multiply_adds(threads),
            // Probes count two operations for each, by the thousand million.
            int8: products_of_bytes(threads)
                .map(|int8| Int8 { signed: int8.sign * 0.5e9, unsigned: int8.eight_maddubs * 0.5e9 }),
        }
    }
}

/// Multiply-adds of f32 that `threads` threads do in registers, a second.
pub(super) fn multiply_adds(threads: usize) -> f64 {
    let elapsed = best(SHORT_PROBES, threads, |_, _| {
        black_box(Arch::new().dispatch(MultiplyAdds));
    });
    let lanes = Arch::new().dispatch(Lanes);
    (ROUNDS * CHAINS * lanes * threads) as f64 / elapsed.as_secs_f64()
}

/// The time that `work(probe, thread)` takes on all threads, which start together; the best of some probes.
pub(super) fn best(probes: usize, threads: usize, work: impl Fn(usize, usize) + Sync) -> Duration {
    let once = |probe| {
        let barrier = Barrier::new(threads);
        std::thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|thread| {
                    let (barrier, work) = (&barrier, &work);
                    scope.spawn(move || {
                        barrier.wait();
                        let start = Instant::now();
                        work(probe, thread);
                        start.elapsed()
                    })
                })
                .collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).max().unwrap_or_default()
        })
    };
    (0..probes).map(once).min().unwrap_or_default()
}

/// Independent sums: enough to keep two units busy, each step of which takes four cycles.
const CHAINS: usize = 10;

/// Sums floats, to have read them.
struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (vectors, _) = S::as_simd_f32s(self.0);
        let mut sums = [simd.splat_f32s(0.0); 8];
        let (groups, _) = vectors.as_chunks::<8>();
        for group in groups {
            for (sum, vector) in sums.iter_mut().zip(group) {
                *sum = simd.add_f32s(*sum, *vector);
            }
        }
        sums.iter().map(|sum| simd.reduce_sum_f32s(*sum)).sum()
    }
}

/// [`ROUNDS`] times [`CHAINS`] multiply-adds of vectors.
struct MultiplyAdds;

impl WithSimd for MultiplyAdds {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (a, b) = (simd.splat_f32s(black_box(0.5)), simd.splat_f32s(black_box(0.25)));
        let mut sums = [b; CHAINS];
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = simd.mul_add_f32s(a, *sum, b);
            }
        }
        sums.iter().map(|sum| simd.reduce_sum_f32s(*sum)).sum()
    }
}

/// Floats in a vector.
struct Lanes;

impl WithSimd for Lanes {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

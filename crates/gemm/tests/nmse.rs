//! ggml's threshold for a whole product and an indexed one, unwidened, at its shapes and on its kind of data.

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{Matrix, encode_row};
use keepq_gemm::{Driver, Rayon, Route, Scratch};
use keepq_goldens::inputs::Random;
use keepq_goldens::naive::TYPES;
use keepq_simd::Tier;

/// Of `MUL_MAT` and `MUL_MAT_ID` in ggml's `test-backend-ops`: `Σ (y - want)² / Σ want²`.
const THRESHOLD: f64 = 5.0e-4;

const K: usize = 256;

fn uniform(len: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..len).map(|_| 2.0 * random.unit() - 1.0).collect()
}

/// `Σ (y - want)²` and `Σ want²`.
#[derive(Clone, Copy, Default)]
struct Sums {
    error: f64,
    size: f64,
}

impl Sums {
    fn add(&mut self, y: &[f32], x: &[f32], w: &[f32], n: usize) {
        for (i, &y) in y.iter().enumerate() {
            let (x, w) = (&x[i / n * K..][..K], &w[i % n * K..][..K]);
            let want: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
            self.error += (f64::from(y) - want).powi(2);
            self.size += want.powi(2);
        }
    }

    fn nmse(self) -> f64 {
        self.error / self.size
    }
}

/// Of a single output the ratio is a matter of luck: where a shape has few, so many are drawn and pooled.
const OUTPUTS: usize = 256;

/// Against the activations as they were before they were quantized, by the weights as the file has them; and, where
/// weights have more than six bits, by the weights as they were before as well. (Fewer cost more: six 9e-4, four 4e-3.)
#[test]
fn products_are_within_ggmls_threshold() {
    let pool = Rayon::new(2).unwrap();
    for ty in TYPES {
        for (m, n) in [1, 4, 32, 512].into_iter().flat_map(|m| [1, 7, 16].map(|n| (m, n))) {
            let (mut stored, mut original) = (Sums::default(), Sums::default());
            for draw in 0..OUTPUTS.div_ceil(m * n) as u64 {
                let (x, w) = (uniform(m * K, 2 * draw), uniform(n * K, 2 * draw + 1));
                let mut bytes = vec![0; n * ty.ty.row_bytes(K).unwrap()];
                encode_row(ty.ty, &w, &mut bytes).unwrap();
                let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * n]);
                let acts = buffer.quantize(ActFormat::for_weights(ty.ty).unwrap(), m, K, &x).unwrap();
                let matrix = Matrix::new(ty.ty, n, K, &bytes).unwrap();
                Driver::new(Tier::best(), &pool).matmul(acts, matrix, &mut y, &mut Scratch::new()).unwrap();
                stored.add(&y, &x, &ty.decode_row(&bytes), n);
                original.add(&y, &x, &w, n);
            }
            let name = format!("{} m = {m} n = {n}", ty.ty);
            assert!(stored.nmse() <= THRESHOLD, "{name}: {:e}", stored.nmse());
            if 8 * ty.bytes > 6 * ty.elements {
                assert!(original.nmse() <= THRESHOLD, "{name}: {:e} of the original", original.nmse());
            }
        }
    }
}

/// As many of the experts `0..experts` for each token, all of them different.
fn routes(experts: usize, used: usize, tokens: usize, seed: u64) -> Vec<Route> {
    let mut random = Random::new(seed);
    let mut routes = Vec::with_capacity(used * tokens);
    for row in 0..tokens as u32 {
        let mut slices: Vec<u32> = (0..experts as u32).collect();
        routes.extend((0..used).map(|_| Route { row, slice: slices.swap_remove(random.below(slices.len())) }));
    }
    routes
}

/// ggml's numbers of experts and of those a token uses; of its m and n fewer, as rows are independent.
#[test]
fn indexed_products_are_within_ggmls_threshold() {
    const N: usize = 16;
    let pool = Rayon::new(2).unwrap();
    for ty in TYPES {
        for (experts, used, tokens) in [4, 8].into_iter().flat_map(|experts| {
            [1, 2, 4].into_iter().flat_map(move |used| [1, 5, 32].map(|tokens| (experts, used, tokens)))
        }) {
            let mut stored = Sums::default();
            for draw in 0..OUTPUTS.div_ceil(used * tokens * N) as u64 {
                let (x, w) = (uniform(tokens * K, 2 * draw), uniform(experts * N * K, 2 * draw + 1));
                let mut bytes = vec![0; experts * N * ty.ty.row_bytes(K).unwrap()];
                encode_row(ty.ty, &w, &mut bytes).unwrap();
                let expert_bytes = bytes.len() / experts;
                let stack: Vec<Matrix<'_>> =
                    bytes.chunks(expert_bytes).map(|bytes| Matrix::new(ty.ty, N, K, bytes).unwrap()).collect();
                let routes = routes(experts, used, tokens, draw);
                let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; routes.len() * N]);
                let mut shared = buffer.share(tokens, K, &x);
                let driver = Driver::new(Tier::best(), &pool);
                driver.matmul_indexed(&mut shared, &stack, &routes, &mut y, &mut Scratch::new()).unwrap();

                let decoded = ty.decode_row(&bytes);
                for (y, Route { row, slice }) in y.chunks(N).zip(routes) {
                    let (x, w) = (&x[row as usize * K..][..K], &decoded[slice as usize * N * K..][..N * K]);
                    stored.add(y, x, w, N);
                }
            }
            let name = format!("{} of {experts} experts {used}, m = {tokens}", ty.ty);
            assert!(stored.nmse() <= THRESHOLD, "{name}: {:e}", stored.nmse());
        }
    }
}

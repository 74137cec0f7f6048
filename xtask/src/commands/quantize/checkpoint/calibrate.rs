//! [`Calibration`]: what weights are multiplied by on a text, so that errors are made good where they count.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use bytemuck::cast_slice;
use indicatif::ProgressBar;
use keepq_act::ActRows;
use keepq_blocks::{GgmlType, Matrix};
use keepq_decoder::tokenizer::Special;
use keepq_decoder::{Logits, Session, Settings, Site};
use keepq_gemm::{Driver, Residency, Scratch, Serial};
use keepq_simd::Tier;
use nalgebra::{Cholesky, DMatrix};

use crate::model_files::{Contents, Held};

/// Tokens that see each other.
const WINDOW: usize = 512;

/// Of the mean of the diagonal, what is added to it.
const DAMPING: f64 = 0.01;

/// For each site the sum of `x xᵀ`.
pub(crate) struct Calibration(HashMap<Site, Sum>);

/// `Σ x xᵀ`, `[k, k]`.
struct Sum {
    k: usize,
    sum: Vec<f32>,
}

impl Calibration {
    /// Runs the model as it is on the first `tokens` tokens of a text.
    pub(crate) fn on(contents: &Contents<'_>, text: &Path, tokens: usize, threads: usize) -> Result<Self> {
        let describe = || text.display().to_string();
        let text = fs::read_to_string(text).with_context(describe)?;
        let mut ids = contents.tokenizer()?.encode(&text, Special::Plain)?;
        ids.truncate(tokens);
        ensure!(
            ids.len() >= WINDOW,
            "{}: {} tokens are too few to calibrate by, {WINDOW} at least",
            describe(),
            ids.len()
        );
        let (model, _) = contents.load(Held { residency: Residency::Keep, policy: None })?;
        let settings = Settings::new(Tier::best(), threads, Residency::Keep)?;
        let progress = ProgressBar::new(ids.len() as u64);
        let sums = Mutex::new(HashMap::new());
        for window in ids.chunks(WINDOW) {
            let see = |site, activations: &[f32]| {
                let mut sums = sums.lock().expect("nobody panics while it is held");
                let sum = sums.entry(site).or_insert_with(|| Sum::new(activations.len() / window.len()));
                sum.add(activations);
            };
            Session::new(&model, settings.driver(), window.len())?.observed(see).feed(window, Logits::Last)?;
            progress.inc(window.len() as u64);
        }
        progress.finish_and_clear();
        Ok(Self(sums.into_inner().expect("nobody panics while it is held")))
    }

    /// The factor for a weight by its name in checkpoints; none for what was not seen, as the head.
    pub(super) fn factor(&self, name: &str) -> Result<Option<Vec<f32>>> {
        let Some(sum) = site_of(name).and_then(|site| self.0.get(&site)) else { return Ok(None) };
        sum.factor().with_context(|| format!("{name}: what it is multiplied by has no factor")).map(Some)
    }
}

/// What a weight is multiplied by.
fn site_of(name: &str) -> Option<Site> {
    let (layer, part) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let layer = layer.parse().ok()?;
    match part {
        "self_attn.q_proj" | "self_attn.k_proj" | "self_attn.v_proj" => Some(Site::Attention(layer)),
        "self_attn.o_proj" => Some(Site::AttentionOutput(layer)),
        "mlp.gate_proj" | "mlp.up_proj" => Some(Site::FeedForward(layer)),
        "mlp.down_proj" => Some(Site::Down(layer)),
        _ => None,
    }
}

impl Sum {
    fn new(k: usize) -> Self {
        Self { k, sum: vec![0.0; k * k] }
    }

    /// Adds tokens, by the product of the transposed activations with themselves.
    fn add(&mut self, activations: &[f32]) {
        let (k, m) = (self.k, activations.len() / self.k);
        let transposed: Vec<f32> = (0..k * m).map(|i| activations[i % m * k + i / m]).collect();
        let w = Matrix::new(GgmlType::F32, k, m, cast_slice(&transposed)).expect("k rows of m floats");
        let x = ActRows::f32(k, m, &transposed).expect("k rows of m floats");
        let mut product = vec![0.0; k * k];
        let driver = Driver::new(Tier::best(), &Serial);
        driver.matmul(x, w, &mut product, &mut Scratch::new()).expect("shapes that fit");
        self.sum.iter_mut().zip(product).for_each(|(sum, product)| *sum += product);
    }

    /// The upper Cholesky factor of the inverse, row-major.
    fn factor(&self) -> Option<Vec<f32>> {
        let k = self.k;
        let mut h = DMatrix::from_iterator(k, k, self.sum.iter().map(|&x| f64::from(x)));
        let damping = (DAMPING * h.diagonal().mean()).max(f64::from(f32::MIN_POSITIVE));
        for i in 0..k {
            h[(i, i)] += damping;
        }
        let inverse = Cholesky::new(h)?.inverse();
        let lower = Cholesky::new(inverse)?.unpack();
        // Column after column of the lower factor is row after row of the upper one.
        Some(lower.iter().map(|&x| x as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_that_of_the_inverse() {
        let (k, mut sum) = (3, Sum::new(3));
        sum.add(&[1.0, 2.0, 0.0, 0.0, 1.0, -1.0]);
        sum.add(&[3.0, 0.0, 1.0]);
        assert_eq!(sum.sum, [10.0, 2.0, 3.0, 2.0, 5.0, -1.0, 3.0, -1.0, 2.0]);
        let u = sum.factor().expect("a factor");
        assert!((0..k).all(|i| (0..i).all(|j| u[i * k + j] == 0.0)), "upper: {u:?}");
        // (uᵀu) times the damped sum is the identity.
        let damping = 0.01 * 17.0 / 3.0;
        for i in 0..k {
            for j in 0..k {
                let inverse = |i: usize, j: usize| (0..k).map(|l| f64::from(u[l * k + i] * u[l * k + j])).sum::<f64>();
                let h = |l: usize, j: usize| f64::from(sum.sum[l * k + j]) + if l == j { damping } else { 0.0 };
                let product: f64 = (0..k).map(|l| inverse(i, l) * h(l, j)).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-4, "{i} {j}: {product}");
            }
        }
    }

    #[test]
    fn weights_know_what_they_are_multiplied_by() {
        assert_eq!(site_of("model.layers.7.mlp.up_proj"), Some(Site::FeedForward(7)));
        assert_eq!(site_of("model.layers.12.self_attn.o_proj"), Some(Site::AttentionOutput(12)));
        assert_eq!((site_of("lm_head"), site_of("model.layers.x.mlp.up_proj")), (None, None));
    }
}

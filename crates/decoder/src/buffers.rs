//! [`Buffers`]: what a pass works in.

use keepq_act::ActBuf;
use keepq_dot::rows::{self, Chosen};
use keepq_gemm::{Driver, Route, Scratch};

use crate::profile::Clock;
use crate::{Activation, Config};

/// What a pass works in: a row a token, where nothing else is said. Grows to the largest batch and stays.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// The residual stream.
    pub stream: Vec<f32>,
    /// What a norm makes of it.
    pub normed: Vec<f32>,
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
    pub attended: Vec<f32>,
    /// A row a token, or where there are experts, a row a token and expert that is chosen for it.
    pub gate: Vec<f32>,
    /// As `gate`.
    pub up: Vec<f32>,
    /// What a layer adds to the residual stream.
    pub delta: Vec<f32>,
    /// How well each expert suits a token.
    pub router: Vec<f32>,
    /// The experts that are chosen for each token.
    pub chosen: Vec<Chosen>,
    /// For each of these the row of activations that it takes.
    pub routes: Vec<Route>,
    /// For each of these a row of results.
    pub results: Vec<f32>,
    pub logits: Vec<f32>,
    /// (cos, sin) of each pair.
    pub angles: Vec<(f32, f32)>,
    /// The same for local layers.
    pub local_angles: Vec<(f32, f32)>,
    pub acts: ActBuf,
    pub scratch: Scratch,
    /// Where the time goes.
    pub clock: Clock,
}

impl Buffers {
    /// Sizes every buffer but the logits for a batch of `m` tokens.
    pub(crate) fn fit(&mut self, config: &Config, m: usize) {
        let (experts, used) = config.experts.map_or((0, 0), |experts| (experts.count, experts.used));
        let blocks = used.max(1);
        for (buffer, width) in [
            (&mut self.stream, config.embedding),
            (&mut self.normed, config.embedding),
            (&mut self.delta, config.embedding),
            (&mut self.q, config.q_width()),
            (&mut self.k, config.kv_width()),
            (&mut self.v, config.kv_width()),
            (&mut self.attended, config.q_width()),
            (&mut self.gate, blocks * config.feed_forward),
            (&mut self.up, blocks * config.feed_forward),
            (&mut self.router, experts),
            (&mut self.results, used * config.embedding),
        ] {
            buffer.resize(m * width, 0.0);
        }
        self.chosen.resize(m * used, Chosen::default());
        self.routes.resize(m * used, Route { row: 0, slice: 0 });
        let pairs = m * config.rope_dimensions / 2;
        self.angles.resize(pairs, (0.0, 0.0));
        self.local_angles.resize(if config.local.is_some() { pairs } else { 0 }, (0.0, 0.0));
    }

    /// `gate = activation(gate) * up`.
    pub(crate) fn activate(&mut self, driver: &Driver<'_>, config: &Config) {
        let (up, width) = (&self.up, config.feed_forward);
        driver.for_each_row(&mut self.gate, width, 0, &mut self.scratch, |row, gate, _| {
            let up = &up[row * width..][..width];
            match config.architecture.activation {
                Activation::Silu => driver.tier().silu_mul(gate, up),
                Activation::Gelu => driver.tier().gelu_mul(gate, up),
            }
        });
    }

    /// `normed = norm(stream)`.
    pub(crate) fn norm_stream(&mut self, driver: &Driver<'_>, weight: &[f32], epsilon: f32) {
        norm_rows(driver, &self.stream, weight, epsilon, &mut self.normed, &mut self.scratch);
    }

    /// `stream += delta`, or its norm.
    pub(crate) fn add_delta(&mut self, driver: &Driver<'_>, post_norm: Option<&[f32]>, epsilon: f32) {
        if let Some(weight) = post_norm {
            norm_rows_in_place(driver, &mut self.delta, weight, epsilon, &mut self.scratch);
        }
        rows::add(&mut self.stream, &self.delta);
    }
}

/// The norm of rows as long as `weight`.
pub(crate) fn norm_rows(
    driver: &Driver<'_>,
    x: &[f32],
    weight: &[f32],
    epsilon: f32,
    out: &mut [f32],
    scratch: &mut Scratch,
) {
    let (tier, width) = (driver.tier(), weight.len());
    driver.for_each_row(out, width, 0, scratch, |row, out, _| {
        tier.rms_norm(&x[row * width..][..width], weight, epsilon, out);
    });
}

/// The same in place.
pub(crate) fn norm_rows_in_place(
    driver: &Driver<'_>,
    x: &mut [f32],
    weight: &[f32],
    epsilon: f32,
    scratch: &mut Scratch,
) {
    let tier = driver.tier();
    driver.for_each_row(x, weight.len(), 0, scratch, |_, row, _| tier.rms_norm_in_place(row, weight, epsilon));
}

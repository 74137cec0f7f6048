//! [`Session`]: one forward pass after another over a growing context.

use keepq_dot::rows::{self, Queries};
use keepq_gemm::{ColumnsMut, Driver, Route};

use crate::buffers::{Buffers, norm_rows, norm_rows_in_place};
use crate::cache::Cache;
use crate::model::{Block, FeedForward, Layer, Mixture};
use crate::profile::{Clock, Part};
use crate::weights::matmul_many;
use crate::{Config, Experts, Model, Profile, Rope, SessionError};

/// Tokens that go through the layers together at most: it bounds the buffers, not the prompt.
const BATCH: usize = 512;

/// Which logits a pass computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logits {
    /// Those after the last token: what generation needs. The head is read once, for one token.
    Last,
    /// Those after each token.
    All,
}

/// A context of tokens with their keys and values.
#[derive(Debug)]
pub struct Session<'m, 'a> {
    model: &'m Model<'a>,
    driver: Driver<'m>,
    cache: Cache,
    buffers: Buffers,
}

impl<'m, 'a> Session<'m, 'a> {
    /// An empty context with room for `capacity` tokens.
    ///
    /// # Errors
    /// [`SessionError::NoMemory`] where keys and values of so many tokens cannot be reserved.
    pub fn new(model: &'m Model<'a>, driver: Driver<'m>, capacity: usize) -> Result<Self, SessionError> {
        let cache = Cache::new(model.config(), capacity).ok_or(SessionError::NoMemory { capacity })?;
        Ok(Self { model, driver, cache, buffers: Buffers::default() })
    }

    /// The same session, and from now on it is known [where the time goes](Self::take_profile).
    ///
    /// Each part of a layer then reads a clock: about 15 times, some tens of nanoseconds each.
    #[must_use]
    pub fn profiled(mut self) -> Self {
        self.buffers.clock = Clock::running();
        self
    }

    /// Where the time of the passes since the last call went; `None` unless the session is [`profiled`](Self::profiled).
    pub fn take_profile(&mut self) -> Option<Profile> {
        self.buffers.clock.take()
    }

    /// Tokens in the context.
    #[must_use]
    pub fn positions(&self) -> usize {
        self.cache.positions()
    }

    /// Bytes of keys and values.
    #[must_use]
    pub fn cache_bytes(&self) -> usize {
        self.cache.bytes()
    }

    /// Adds `tokens` to the context. Returns the logits asked for: a row of the vocabulary's length each.
    ///
    /// The bits of the logits do not depend on how a context is cut into calls.
    ///
    /// # Errors
    /// [`SessionError`]; the context is as it was before then.
    pub fn feed(&mut self, tokens: &[u32], wanted: Logits) -> Result<&[f32], SessionError> {
        let vocabulary = self.model.vocabulary();
        let (before, capacity) = (self.positions(), self.cache.capacity());
        if tokens.is_empty() {
            return Err(SessionError::NoTokens);
        }
        if let Some(&id) = tokens.iter().find(|&&id| id as usize >= vocabulary) {
            return Err(SessionError::NoSuchToken { id, vocabulary });
        }
        let needed = before.saturating_add(tokens.len());
        if needed > capacity {
            return Err(SessionError::ContextFull { capacity, needed });
        }

        self.buffers.clock.start();
        self.buffers.logits.clear();
        let executor = self.driver.executor();
        let mut result = Ok(());
        executor.enter(&mut || {
            let last = tokens.len().div_ceil(BATCH) - 1;
            result = tokens.chunks(BATCH).enumerate().try_for_each(|(i, batch)| {
                self.layers(batch)?;
                match wanted {
                    Logits::All => self.head(0..batch.len()),
                    Logits::Last if i == last => self.head(batch.len() - 1..batch.len()),
                    Logits::Last => Ok(()),
                }
            });
        });
        self.buffers.clock.was(Part::Other);
        if let Err(error) = result {
            self.cache.truncate(before);
            return Err(error);
        }
        Ok(&self.buffers.logits)
    }

    /// Takes a batch of tokens through all layers.
    fn layers(&mut self, tokens: &[u32]) -> Result<(), SessionError> {
        let config = self.model.config();
        let (m, past) = (tokens.len(), self.positions());
        self.buffers.fit(config, m);

        fill_angles(&mut self.buffers.angles, config, config.rope, past, &self.model.rope_factors);
        if let Some(local) = config.local {
            fill_angles(&mut self.buffers.local_angles, config, local.rope, past, &[]);
        }
        for (&id, row) in tokens.iter().zip(self.buffers.stream.chunks_exact_mut(config.embedding)) {
            self.model.embedding.decode_row(id as usize, row);
            rows::scale(row, config.embedding_scale);
        }
        for (i, layer) in self.model.layers.iter().enumerate() {
            self.attention(i, layer, m)?;
            self.feed_forward(layer, m)?;
        }
        self.cache.truncate(past + m);
        Ok(())
    }

    /// `stream += output(attention(q, k, v))`, with q, k and v of the normed stream.
    fn attention(&mut self, i: usize, layer: &Layer<'_>, m: usize) -> Result<(), SessionError> {
        let config = self.model.config();
        let (driver, past) = (self.driver, self.positions());
        let buffers = &mut self.buffers;
        buffers.norm_stream(&driver, &layer.attention_norm, config.norm_epsilon);

        // The three read the same activations, which are quantized once; threads share them as one product.
        let mut x = buffers.acts.share(m, config.embedding, &buffers.normed);
        buffers.clock.was(Part::Other);
        let products = [
            (&layer.q.weight, &mut buffers.q[..]),
            (&layer.k.weight, &mut buffers.k[..]),
            (&layer.v.weight, &mut buffers.v[..]),
        ];
        matmul_many(&driver, &mut x, products, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        for (part, out) in [(&layer.q, &mut buffers.q), (&layer.k, &mut buffers.k), (&layer.v, &mut buffers.v)] {
            if let Some(bias) = &part.bias {
                out.chunks_exact_mut(bias.len()).for_each(|token| rows::add(token, bias));
            }
            if let Some(weight) = &part.head_norm {
                norm_rows_in_place(&driver, out, weight, config.norm_epsilon, &mut buffers.scratch);
            }
        }

        let (angles, window) = match config.local(i) {
            Some(local) => (&buffers.local_angles, local.window),
            None => (&buffers.angles, usize::MAX),
        };
        for (width, heads) in [(config.q_width(), &mut buffers.q), (config.kv_width(), &mut buffers.k)] {
            for (token, angles) in heads.chunks_exact_mut(width).zip(angles.chunks_exact(config.rope_dimensions / 2)) {
                let pairs = config.architecture.rope_pairs;
                token.chunks_exact_mut(config.head).for_each(|head| rows::rope(head, angles, pairs));
            }
        }
        self.cache.extend(driver.tier(), i, &buffers.k, &buffers.v);
        buffers.clock.was(Part::Other);

        // A tile: some tokens, and of each of them the heads that read the same keys.
        let (q, stride, head) = (&buffers.q, config.q_width(), config.head);
        let heads = config.heads / config.kv_heads;
        let tokens = rows::tokens_together(heads).min(m);
        let memory = rows::attention_memory(head, tokens * heads);
        let tile = (tokens, heads * head);
        let work = |first: usize, mut out: ColumnsMut<'_>, memory: &mut [f32]| {
            let column = out.columns().start;
            let queries = Queries {
                q: &q[first * stride + column..],
                stride,
                tokens: out.m(),
                heads,
                position: past + first,
                window,
                scale: config.attention_scale,
            };
            driver.tier().attention(queries, self.cache.head(i, column / (heads * head)), memory, |i, attended| {
                out.row_mut(i / heads)[i % heads * head..][..head].copy_from_slice(attended);
            });
        };
        driver.for_each_tile(&mut buffers.attended, stride, tile, memory, &mut buffers.scratch, work);
        buffers.clock.was(Part::Attention);

        let mut x = buffers.acts.share(m, layer.attention_output.k(), &buffers.attended);
        layer.attention_output.matmul(&driver, &mut x, &mut buffers.delta, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        buffers.add_delta(&driver, layer.attention_post_norm.as_deref(), config.norm_epsilon);
        Ok(())
    }

    /// `stream += down(activation(gate) * up)`, with gate and up of the normed stream.
    fn feed_forward(&mut self, layer: &Layer<'_>, m: usize) -> Result<(), SessionError> {
        let (config, driver) = (self.model.config(), self.driver);
        let buffers = &mut self.buffers;
        buffers.norm_stream(&driver, &layer.feed_forward_norm, config.norm_epsilon);
        match &layer.feed_forward {
            FeedForward::Block(block) => self.block(block, m)?,
            FeedForward::Experts(mixture) => self.experts(mixture, m)?,
        }
        self.buffers.add_delta(&driver, layer.feed_forward_post_norm.as_deref(), config.norm_epsilon);
        Ok(())
    }

    /// `delta = down(activation(gate) * up)`.
    fn block(&mut self, block: &Block<'_>, m: usize) -> Result<(), SessionError> {
        let config = self.model.config();
        let driver = self.driver;
        let buffers = &mut self.buffers;
        buffers.clock.was(Part::Other);
        let mut x = buffers.acts.share(m, config.embedding, &buffers.normed);
        let products = [(&block.gate, &mut buffers.gate[..]), (&block.up, &mut buffers.up[..])];
        matmul_many(&driver, &mut x, products, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        buffers.activate(&driver, config);
        buffers.clock.was(Part::Other);

        let mut x = buffers.acts.share(m, config.feed_forward, &buffers.gate);
        block.down.matmul(&driver, &mut x, &mut buffers.delta, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        Ok(())
    }

    /// `delta = Σ weight * down(activation(gate) * up)` over the experts that are chosen for each token.
    fn experts(&mut self, mixture: &Mixture<'_>, m: usize) -> Result<(), SessionError> {
        let config = self.model.config();
        let Experts { count, used, weight_scale } = mixture.experts;
        let driver = self.driver;
        let buffers = &mut self.buffers;
        buffers.clock.was(Part::Other);
        let mut x = buffers.acts.share(m, config.embedding, &buffers.normed);
        mixture.router.matmul(&driver, &mut x, &mut buffers.router, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        for (logits, chosen) in buffers.router.chunks_exact_mut(count).zip(buffers.chosen.chunks_exact_mut(used)) {
            rows::route(logits, weight_scale, chosen);
        }

        // From here on there is a row for each choice of a token.
        for (i, (route, chosen)) in buffers.routes.iter_mut().zip(&buffers.chosen).enumerate() {
            *route = Route { row: (i / used) as u32, slice: chosen.expert as u32 };
        }
        buffers.clock.was(Part::Other);
        mixture.gate.matmul_indexed(&driver, &mut x, &buffers.routes, &mut buffers.gate, &mut buffers.scratch)?;
        mixture.up.matmul_indexed(&driver, &mut x, &buffers.routes, &mut buffers.up, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        buffers.activate(&driver, config);
        buffers.clock.was(Part::Other);

        for (i, route) in buffers.routes.iter_mut().enumerate() {
            route.row = i as u32;
        }
        let mut x = buffers.acts.share(m * used, config.feed_forward, &buffers.gate);
        mixture.down.matmul_indexed(&driver, &mut x, &buffers.routes, &mut buffers.results, &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        buffers.delta.fill(0.0);
        for (i, (result, chosen)) in buffers.results.chunks_exact(config.embedding).zip(&buffers.chosen).enumerate() {
            let delta = &mut buffers.delta[i / used * config.embedding..][..config.embedding];
            rows::add_scaled(delta, result, chosen.weight);
        }
        Ok(())
    }

    /// Appends the logits after some tokens of the batch.
    fn head(&mut self, tokens: std::ops::Range<usize>) -> Result<(), SessionError> {
        let (model, config) = (self.model, self.model.config());
        let buffers = &mut self.buffers;
        let elements = tokens.start * config.embedding..tokens.end * config.embedding;
        let normed = &mut buffers.normed[..elements.len()];
        norm_rows(
            &self.driver,
            &buffers.stream[elements],
            &model.output_norm,
            config.norm_epsilon,
            normed,
            &mut buffers.scratch,
        );

        let first = buffers.logits.len();
        buffers.logits.resize(first + tokens.len() * model.vocabulary(), 0.0);
        buffers.clock.was(Part::Other);
        let mut x = buffers.acts.share(tokens.len(), config.embedding, normed);
        model.head.matmul(&self.driver, &mut x, &mut buffers.logits[first..], &mut buffers.scratch)?;
        buffers.clock.was(Part::Matmul);
        Ok(())
    }
}

/// Fills rows of (cos, sin), the first for position `past`.
fn fill_angles(angles: &mut [(f32, f32)], config: &Config, rope: Rope, past: usize, factors: &[f32]) {
    for (t, angles) in angles.chunks_exact_mut(config.rope_dimensions / 2).enumerate() {
        rows::rope_angles((past + t) as f32 / rope.scale, rope.base, config.rope_dimensions, factors, angles);
    }
}

//! [`Store`]: where tensors come from, and the layers that they make up. Names are those of GGUF files.

use keepq_gemm::WeightStack;

use crate::model::{Block, FeedForward, Layer, Mixture, Projection};
use crate::weights::Weight;
use crate::{Config, ModelError};

/// Gives tensors out, each with the shape that it must have.
pub(crate) trait Store<'a> {
    /// A matrix of weights of `n` rows of `k` elements.
    fn weight(&mut self, name: &str, n: usize, k: usize) -> Result<Weight<'a>, ModelError>;

    /// A stack of so many matrices of `n` rows of `k` elements.
    fn stack(&mut self, name: &str, slices: usize, n: usize, k: usize) -> Result<WeightStack<'a>, ModelError>;

    /// A vector of floats; these few are copied, so that they are plain slices.
    fn floats(&mut self, name: &str, len: usize) -> Result<Vec<f32>, ModelError>;

    /// A vector of `len` floats where the architecture has it.
    fn floats_if(&mut self, name: &str, len: Option<usize>) -> Result<Option<Vec<f32>>, ModelError> {
        len.map(|len| self.floats(name, len)).transpose()
    }
}

/// The tensors of layer `i`.
pub(crate) fn layer<'a>(store: &mut impl Store<'a>, i: usize, config: &Config) -> Result<Layer<'a>, ModelError> {
    let part = |part: &str| format!("blk.{i}.{part}");
    let name = |part: &str| format!("blk.{i}.{part}.weight");
    let (architecture, embedding) = (config.architecture, config.embedding);
    let (q, kv, head) = (config.q_width(), config.kv_width(), config.head);
    let head_norms = architecture.head_norms.then_some(head);
    let post_norms = architecture.post_norms.then_some(embedding);
    Ok(Layer {
        attention_norm: store.floats(&name("attn_norm"), embedding)?,
        q: projection(store, &part("attn_q"), q, head_norms, config)?,
        k: projection(store, &part("attn_k"), kv, head_norms, config)?,
        v: projection(store, &part("attn_v"), kv, None, config)?,
        attention_output: store.weight(&name("attn_output"), embedding, q)?,
        attention_post_norm: store.floats_if(&name("post_attention_norm"), post_norms)?,
        feed_forward_norm: store.floats(&name("ffn_norm"), embedding)?,
        feed_forward: feed_forward(store, name, config)?,
        feed_forward_post_norm: store.floats_if(&name("post_ffw_norm"), post_norms)?,
    })
}

/// The projection to `n` elements, with the norm of heads of `head_norm` elements.
fn projection<'a>(
    store: &mut impl Store<'a>,
    part: &str,
    n: usize,
    head_norm: Option<usize>,
    config: &Config,
) -> Result<Projection<'a>, ModelError> {
    Ok(Projection {
        weight: store.weight(&format!("{part}.weight"), n, config.embedding)?,
        bias: store.floats_if(&format!("{part}.bias"), config.architecture.attention_biases.then_some(n))?,
        head_norm: store.floats_if(&format!("{part}_norm.weight"), head_norm)?,
    })
}

fn feed_forward<'a>(
    store: &mut impl Store<'a>,
    name: impl Fn(&str) -> String,
    config: &Config,
) -> Result<FeedForward<'a>, ModelError> {
    let (embedding, width) = (config.embedding, config.feed_forward);
    Ok(match config.experts {
        None => FeedForward::Block(Block {
            gate: store.weight(&name("ffn_gate"), width, embedding)?,
            up: store.weight(&name("ffn_up"), width, embedding)?,
            down: store.weight(&name("ffn_down"), embedding, width)?,
        }),
        Some(experts) => FeedForward::Experts(Mixture {
            experts,
            router: store.weight(&name("ffn_gate_inp"), experts.count, embedding)?,
            gate: store.stack(&name("ffn_gate_exps"), experts.count, width, embedding)?,
            up: store.stack(&name("ffn_up_exps"), experts.count, width, embedding)?,
            down: store.stack(&name("ffn_down_exps"), experts.count, embedding, width)?,
        }),
    })
}

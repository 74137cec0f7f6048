//! [`Architecture`]: what tells the implemented architectures apart, beside the numbers in a file.

use keepq_dot::rows::RopePairs;

/// What an architecture has or does where others do not. All else is the same for all: a pre-norm decoder with rotary
/// positions, grouped heads and gated feed-forward blocks.
///
/// Facts as in llama.cpp, whose converter defines what a GGUF file of an architecture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// `general.architecture`, and what the model's keys begin with.
    pub name: &'static str,
    /// How the rotated elements of a head are paired.
    pub rope_pairs: RopePairs,
    /// Whether angles may be divided, pair by pair: `rope_freqs.weight`.
    pub rope_factors: bool,
    /// Whether biases are added to q, k and v: `attn_q.bias` and so on.
    pub attention_biases: bool,
    /// Whether each head of q and k is normed before it is rotated: `attn_q_norm.weight`, `attn_k_norm.weight`.
    pub head_norms: bool,
    /// Whether what a block adds to the residual stream is normed: `post_attention_norm.weight`, `post_ffw_norm.weight`.
    pub post_norms: bool,
    /// Whether embeddings are multiplied by the square root of their length.
    pub scales_embeddings: bool,
    /// Whether layers may see the last positions only: `attention.sliding_window`.
    pub sliding_windows: bool,
    /// What opens the gates of feed-forward blocks.
    pub activation: Activation,
    /// Whether feed-forward blocks are mixtures of experts.
    pub experts: bool,
}

/// What opens a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `v / (1 + e^-v)`: with the multiplication, SwiGLU.
    Silu,
    /// The Gaussian error linear unit in its tanh form: GeGLU.
    Gelu,
}

impl Architecture {
    /// The first, which the others are described by their differences from.
    pub const LLAMA: Self = Self {
        name: "llama",
        rope_pairs: RopePairs::Interleaved,
        rope_factors: true,
        attention_biases: false,
        head_norms: false,
        post_norms: false,
        scales_embeddings: false,
        sliding_windows: false,
        activation: Activation::Silu,
        experts: false,
    };

    /// Qwen 2 and 2.5.
    pub const QWEN2: Self =
        Self { name: "qwen2", rope_pairs: RopePairs::Neox, rope_factors: false, attention_biases: true, ..Self::LLAMA };

    /// Qwen 3.
    pub const QWEN3: Self = Self { name: "qwen3", attention_biases: false, head_norms: true, ..Self::QWEN2 };

    /// Qwen 3 with experts.
    pub const QWEN3MOE: Self = Self { name: "qwen3moe", experts: true, ..Self::QWEN3 };

    /// Gemma 3, without its eyes. The 1 that its norms add to their weights is in the file's weights.
    pub const GEMMA3: Self = Self {
        name: "gemma3",
        post_norms: true,
        scales_embeddings: true,
        sliding_windows: true,
        activation: Activation::Gelu,
        ..Self::QWEN3
    };

    /// Those that are implemented.
    pub const ALL: [Self; 5] = [Self::LLAMA, Self::QWEN2, Self::QWEN3, Self::QWEN3MOE, Self::GEMMA3];

    /// The implemented architecture of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|architecture| architecture.name == name)
    }
}

//! [`Scratch`]: the memory that a strip works in.

use alloc::vec::Vec;

use keepq_act::ActFormat;

use crate::Product;
use crate::panel::{DEPTH, Panel, TOKENS, TokenPanel, WeightGroup, WeightHead};
use crate::strip::{SCRATCH_FROM, STRIP_ROWS};

/// Owned, reusable memory for [`strip`](crate::strip): one per thread, 64-byte aligned.
///
/// [`fit`](Scratch::fit) grows it to what a product needs; once it fits the largest, nothing is allocated any more.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    groups: Vec<WeightGroup>,
    heads: Vec<WeightHead>,
    tokens: Vec<TokenPanel>,
    floats: Vec<f32>,
}

/// Floats in a cache line.
const LINE: usize = 64 / size_of::<f32>();

impl Scratch {
    /// An empty scratch.
    #[must_use]
    pub const fn new() -> Self {
        Self { groups: Vec::new(), heads: Vec::new(), tokens: Vec::new(), floats: Vec::new() }
    }

    /// Grows to what [`strip`](crate::strip) uses for up to [`STRIP_ROWS`] rows of `product`.
    pub fn fit(&mut self, product: &Product<'_>) {
        let (m, k) = (product.x().m(), product.w().k());
        if m < SCRATCH_FROM {
            return;
        }
        match product.x().format() {
            format @ (ActFormat::Q8_0 | ActFormat::Q8_K) => {
                let depth = DEPTH.min(k / 32);
                grow(&mut self.groups, depth, WeightGroup::ZERO);
                grow(&mut self.heads, depth * 32 / format.block_len(), WeightHead::ZERO);
                grow(&mut self.tokens, TOKENS, TokenPanel::ZERO);
            }
            ActFormat::F32 => grow(&mut self.floats, STRIP_ROWS * k + LINE, 0.0),
        }
    }

    /// The memory of a panel.
    pub(crate) fn panel(&mut self) -> Panel<'_> {
        Panel { groups: &mut self.groups, heads: &mut self.heads, tokens: &mut self.tokens }
    }

    /// The floats, from the first cache line boundary on.
    pub(crate) fn floats(&mut self) -> &mut [f32] {
        let misaligned = self.floats.as_ptr().addr() % 64 / size_of::<f32>();
        let skip = (LINE - misaligned) % LINE;
        self.floats.get_mut(skip..).unwrap_or_default()
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.groups[..])
            + size_of_val(&self.heads[..])
            + size_of_val(&self.tokens[..])
            + size_of_val(&self.floats[..])
    }
}

fn grow<T: Clone>(memory: &mut Vec<T>, len: usize, fill: T) {
    if memory.len() < len {
        memory.resize(len, fill);
    }
}

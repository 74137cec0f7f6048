//! [`Scratch`]: the memory that a strip works in.

use alloc::vec::Vec;

use keepq_act::ActFormat;

use crate::Product;
use crate::strip::{IN_PLACE_TOKENS, STRIP_ROWS};

/// 32 codes as i16: a block, and a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct CodeLine(pub [i16; 32]);

/// Owned, reusable memory for [`strip`](crate::strip): one per thread, 64-byte aligned.
///
/// [`fit`](Scratch::fit) grows it to what a product needs; once it fits the largest, nothing is allocated any more.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) codes: Vec<CodeLine>,
    pub(crate) scales: Vec<(f32, f32)>,
    pub(crate) token: Vec<CodeLine>,
    floats: Vec<f32>,
}

/// Floats in a cache line.
const LINE: usize = 64 / size_of::<f32>();

impl Scratch {
    /// An empty scratch.
    #[must_use]
    pub const fn new() -> Self {
        Self { codes: Vec::new(), scales: Vec::new(), token: Vec::new(), floats: Vec::new() }
    }

    /// Grows to what [`strip`](crate::strip) uses for up to [`STRIP_ROWS`] rows of `product`.
    pub fn fit(&mut self, product: &Product<'_>) {
        let (m, k) = (product.x().m(), product.w().k());
        if m <= IN_PLACE_TOKENS {
            return;
        }
        match product.x().format() {
            ActFormat::Q8_0 => {
                grow(&mut self.codes, STRIP_ROWS * k / 32, CodeLine([0; 32]));
                grow(&mut self.scales, STRIP_ROWS * k / 32, (0.0, 0.0));
                grow(&mut self.token, k / 32, CodeLine([0; 32]));
            }
            ActFormat::F32 => grow(&mut self.floats, STRIP_ROWS * k + LINE, 0.0),
        }
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
        size_of_val(&self.codes[..])
            + size_of_val(&self.scales[..])
            + size_of_val(&self.token[..])
            + size_of_val(&self.floats[..])
    }
}

fn grow<T: Clone>(memory: &mut Vec<T>, len: usize, fill: T) {
    if memory.len() < len {
        memory.resize(len, fill);
    }
}

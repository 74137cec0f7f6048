//! [`Scratch`]: the memory that a strip works in.

use alloc::vec::Vec;

use keepq_act::ActFormat;
use keepq_blocks::GgmlType;

use crate::octets::{Codes, DEPTH, Group, Head, MOST_TOKENS, Panel, Steps};
use crate::quantized::TOKENS;
use crate::{Product, WeightRows};

/// Owned, reusable memory for [`strip`](crate::strip): one per thread, 64-byte aligned.
///
/// [`fit`](Scratch::fit) grows it to what a product needs; once it fits the largest, nothing is allocated any more.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    codes: Vec<[Codes; 2]>,
    groups: Vec<[Group; 2]>,
    heads: Vec<[Head; 2]>,
    wide: Vec<i16>,
    steps: Vec<Steps>,
}

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

impl Scratch {
    /// An empty scratch.
    #[must_use]
    pub const fn new() -> Self {
        Self { codes: Vec::new(), groups: Vec::new(), heads: Vec::new(), wide: Vec::new(), steps: Vec::new() }
    }

    /// Grows to what [`strip`](crate::strip) uses for up to [`strip_rows`](crate::strip_rows) rows of `product`, and any of its tokens.
    pub fn fit<W: WeightRows>(&mut self, product: &Product<'_, W>) {
        let (m, k) = (product.x().m(), product.w().k());
        match product.x().format() {
            ActFormat::F32 => {}
            format => {
                grow(&mut self.wide, TOKENS.min(m) * k + LINE / size_of::<i16>(), 0);
                if product.w().ty() == GgmlType::Q6_K {
                    // Any of the tokens may come alone.
                    grow(&mut self.steps, Steps::needed(k / format.block_len()), Steps::ZERO);
                }
                if m <= MOST_TOKENS {
                    return;
                }
                let depth = DEPTH.min(k / 32);
                grow(&mut self.codes, depth, [Codes::ZERO; 2]);
                if format == ActFormat::Q8_K {
                    grow(&mut self.groups, depth, [Group::ZERO; 2]);
                }
                grow(&mut self.heads, depth * 32 / format.block_len(), [Head::ZERO; 2]);
            }
        }
    }

    /// The steps of eight rows.
    pub(crate) fn steps(&mut self) -> &mut [Steps] {
        &mut self.steps
    }

    /// The memory of a panel.
    pub(crate) fn panel(&mut self) -> Panel<'_> {
        Panel { codes: &mut self.codes, groups: &mut self.groups, heads: &mut self.heads }
    }

    /// Room for the codes of [`TOKENS`] tokens as i16, from the first cache line boundary on.
    pub(crate) fn wide(&mut self) -> &mut [[i16; 32]] {
        from_line(&mut self.wide).as_chunks_mut().0
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.codes[..])
            + size_of_val(&self.groups[..])
            + size_of_val(&self.heads[..])
            + size_of_val(&self.wide[..])
            + size_of_val(&self.steps[..])
    }
}

fn grow<T: Clone>(memory: &mut Vec<T>, len: usize, fill: T) {
    if memory.len() < len {
        memory.resize(len, fill);
    }
}

/// What begins at a cache line boundary.
pub(crate) fn from_line<T>(memory: &mut [T]) -> &mut [T] {
    let skip = memory.as_ptr().addr().wrapping_neg() % LINE / size_of::<T>();
    memory.get_mut(skip..).unwrap_or_default()
}

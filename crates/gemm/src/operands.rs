//! [`Job`]: activations and weights that fit each other, and where the results go.

use std::ops::Range;

use keepq_act::{ActFormat, ActRows, Acts};
use keepq_blocks::{GgmlType, Matrix};
use keepq_dot::kn::{self, KnMatrix};
use keepq_dot::{InterleavedRows, Product, ProductError};
use keepq_simd::Tier;

use crate::ColumnsMut;
use crate::scratch::Worker;

/// Tokens that a strip runs against at a time: their results stay in L1, and decoding the strip's weights again for
/// the next ones costs one part in so many.
const TOKENS: usize = 256;

/// Weights in one of the layouts that there are kernels for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Weights<'a> {
    /// `w[n,k]`, of any type.
    Nk(Matrix<'a>),
    /// `w[n,k]`, eight rows side by side.
    Interleaved(InterleavedRows<'a>),
    /// `w[k,n]`.
    Kn(KnMatrix<'a>),
}

impl<'a> Weights<'a> {
    pub(crate) fn ty(&self) -> GgmlType {
        match self {
            Self::Nk(w) => w.ty(),
            Self::Interleaved(w) => w.ty(),
            Self::Kn(_) => GgmlType::BF16,
        }
    }

    /// The activations they are multiplied by; `None` where there is no kernel.
    pub(crate) fn format(&self) -> Option<ActFormat> {
        ActFormat::for_weights(self.ty())
    }

    /// The pair, where the two fit.
    pub(crate) fn by(self, x: ActRows<'a>) -> Result<Operands<'a>, ProductError> {
        match self {
            Self::Nk(w) => Product::new(x, w).map(Operands::Nk),
            Self::Interleaved(w) => Product::new(x, w).map(Operands::Interleaved),
            Self::Kn(w) => {
                let Acts::F32(elements) = x.typed() else {
                    let (ty, wanted) = (GgmlType::BF16, ActFormat::F32);
                    return Err(ProductError::WrongFormat { ty, wanted, found: x.format() });
                };
                if x.k() != w.k() {
                    return Err(ProductError::WrongK { weights: w.k(), activations: x.k() });
                }
                Ok(Operands::Kn { x: elements, m: x.m(), w })
            }
        }
    }
}

/// A pair that can be multiplied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operands<'a> {
    Nk(Product<'a>),
    Interleaved(Product<'a, InterleavedRows<'a>>),
    /// `m` tokens as floats.
    Kn {
        x: &'a [f32],
        m: usize,
        w: KnMatrix<'a>,
    },
    #[cfg(feature = "tinygemm")]
    FourBit(crate::tinygemm::Pair<'a>),
}

impl Operands<'_> {
    pub(crate) const fn m(&self) -> usize {
        match self {
            Self::Nk(product) => product.x().m(),
            Self::Interleaved(product) => product.x().m(),
            Self::Kn { m, .. } => *m,
            #[cfg(feature = "tinygemm")]
            Self::FourBit(pair) => pair.m(),
        }
    }

    pub(crate) const fn n(&self) -> usize {
        match self {
            Self::Nk(product) => product.w().n(),
            Self::Interleaved(product) => product.w().n(),
            Self::Kn { w, .. } => w.n(),
            #[cfg(feature = "tinygemm")]
            Self::FourBit(pair) => pair.n(),
        }
    }

    pub(crate) const fn k(&self) -> usize {
        match self {
            Self::Nk(product) => product.w().k(),
            Self::Interleaved(product) => product.w().k(),
            Self::Kn { w, .. } => w.k(),
            #[cfg(feature = "tinygemm")]
            Self::FourBit(pair) => pair.k(),
        }
    }

    /// Bytes of the weights of one column.
    fn row_bytes(&self) -> usize {
        let row_bytes = |ty: GgmlType, k: usize| k / ty.block_len() * ty.block_bytes();
        match self {
            Self::Nk(product) => row_bytes(product.w().ty(), product.w().k()),
            Self::Interleaved(product) => row_bytes(product.w().ty(), product.w().k()),
            Self::Kn { w, .. } => row_bytes(GgmlType::BF16, w.k()),
            #[cfg(feature = "tinygemm")]
            Self::FourBit(pair) => pair.row_bytes(),
        }
    }

    /// Columns of the output that are computed together for so many tokens.
    const fn strip(&self, tier: Tier, tokens: usize) -> usize {
        match self {
            Self::Nk(_) | Self::Interleaved(_) => tier.strip_rows(tokens),
            Self::Kn { .. } => kn::COLUMNS,
            #[cfg(feature = "tinygemm")]
            Self::FourBit(_) => crate::tinygemm::STRIP,
        }
    }

    /// The results of some columns and tokens, row after row, to `out`.
    fn multiply(
        &self,
        tier: Tier,
        columns: Range<usize>,
        tokens: Range<usize>,
        out: &mut [f32],
        kernel: &mut keepq_dot::Scratch,
        partial: &mut [f32],
    ) {
        match self {
            Self::Nk(product) => tier.strip(product.rows(columns).tokens(tokens), out, kernel),
            Self::Interleaved(product) => tier.strip_interleaved(product.rows(columns).tokens(tokens), out, kernel),
            Self::Kn { x, w, .. } => {
                let x = &x[tokens.start * w.k()..tokens.end * w.k()];
                tier.kn_strip(x, *w, columns, out, partial);
            }
            #[cfg(feature = "tinygemm")]
            Self::FourBit(pair) => pair.multiply(tier, columns, tokens, out),
        }
    }
}

/// Some of the tokens of a pair by all of its weights, and the rows of the output that their results are.
#[derive(Clone, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) operands: Operands<'a>,
    pub(crate) tokens: Range<usize>,
    /// A row for each of the tokens; `None` where each token is the row of its own number.
    pub(crate) rows: Option<&'a [usize]>,
}

impl<'a> Job<'a> {
    /// All tokens, each a row.
    pub(crate) const fn all(operands: Operands<'a>) -> Self {
        Self { operands, tokens: 0..operands.m(), rows: None }
    }

    /// Columns of the output that should not be divided.
    pub(crate) const fn grain(&self, tier: Tier) -> usize {
        self.operands.strip(tier, TOKENS)
    }

    /// Grows a worker to what any of the pair's tokens need: whichever these are, the next call finds it there.
    pub(crate) fn fit(&self, tier: Tier, worker: &mut Worker) {
        let tokens = TOKENS.min(self.operands.m());
        worker.fit_tile((1..=tokens).map(|tokens| tokens * self.operands.strip(tier, tokens)).max().unwrap_or(0));
        match &self.operands {
            Operands::Nk(product) => worker.kernel.fit(product),
            Operands::Interleaved(product) => worker.kernel.fit(product),
            Operands::Kn { .. } => worker.fit_partial(tokens * kn::SCRATCH),
            #[cfg(feature = "tinygemm")]
            Operands::FourBit(_) => {}
        }
    }

    /// Bytes of weights that a column meets, counted for each token.
    pub(crate) fn bytes_a_column(&self) -> usize {
        self.operands.row_bytes().saturating_mul(self.tokens.len())
    }

    /// Computes the columns of the tokens' rows, strip after strip.
    pub(crate) fn run(&self, tier: Tier, columns: &mut ColumnsMut<'_>, worker: &mut Worker) {
        let all = columns.columns();
        let Worker { kernel, tile, partial } = worker;
        // All strips for some tokens, then for the next ones: every strip reads the tokens again, so that these are what a
        // cache has to hold.
        for start in self.tokens.clone().step_by(TOKENS) {
            let tokens = start..self.tokens.end.min(start + TOKENS);
            let width = self.operands.strip(tier, tokens.len());
            for first in all.clone().step_by(width) {
                let strip = first..all.end.min(first + width);
                let place = first - all.start..strip.end - all.start;
                let tokens = tokens.clone();
                if tokens.len() == 1 {
                    // The strip's outputs are contiguous in `y`.
                    let out = &mut columns.row_mut(self.row(start))[place.clone()];
                    self.operands.multiply(tier, strip.clone(), tokens, out, kernel, partial);
                    continue;
                }
                let tile = &mut tile[..tokens.len() * strip.len()];
                self.operands.multiply(tier, strip.clone(), tokens, tile, kernel, partial);
                for (t, results) in tile.chunks_exact(strip.len()).enumerate() {
                    copy(results, &mut columns.row_mut(self.row(start + t))[place.clone()]);
                }
            }
        }
    }

    /// The row of the output that belongs to a token.
    fn row(&self, token: usize) -> usize {
        self.rows.map_or(token, |rows| rows[token - self.tokens.start])
    }
}

/// Copies some results. Most strips have sixteen columns: that many are moved without calling a function that can move any number.
#[inline(always)]
fn copy(results: &[f32], to: &mut [f32]) {
    match (results.as_chunks::<16>(), to.as_chunks_mut::<16>()) {
        (([results], []), ([to], [])) => *to = *results,
        _ => to.copy_from_slice(results),
    }
}

//! [`FourBitWeight`]: weights of any 4-bit path as they are resident.

use std::iter;

use keepq_act::{ActFormat, SharedActs};
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::{Acts, w4a8, wna16};

use super::W4A16Weight;
use super::pair::{ByCodes, ByFloats, Pair};
use crate::operands::{Job, Operands};
use crate::pieces::Output;
use crate::scratch::grow;
use crate::{Driver, MatmulError, Reason, Scratch};

/// Weights of a 4-bit path as they are resident: for such checkpoints what [`Weight`](crate::Weight) is for GGUF files.
///
/// ```
/// use keepq_act::ActBuf;
/// use keepq_gemm::{Driver, FourBit, FourBitWeight, Scratch, Serial};
/// use keepq_simd::Tier;
/// use keepq_tinygemm::int4::QuantizedMatrixQ4;
///
/// let w = QuantizedMatrixQ4::quantize(1, 4, &[7.0, 1.0, 0.0, -2.0])?;
/// // Channels of the weights are those of the model in another order.
/// let w = FourBitWeight::new(FourBit::Int4(w), Some(vec![3, 2, 1, 0]));
///
/// let (mut buffer, mut y) = (ActBuf::new(), [0.0]);
/// let mut x = buffer.share(1, 4, &[0.0, 0.0, 0.0, 1.0]);
/// w.matmul(&Driver::new(Tier::best(), &Serial), &mut x, &mut y, &mut Scratch::new())?;
/// assert!((y[0] - 7.0_f32).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FourBitWeight<'a> {
    weights: FourBit<'a>,
    order: Option<Vec<u32>>,
}

/// Weights of one of the paths.
#[derive(Clone, Debug)]
pub enum FourBit<'a> {
    /// For floats.
    W4A16(W4A16Weight<'a>),
    /// For int8 activations, group by group.
    W4A8(w4a8::Stored<'a>),
    /// For int8 activations, one scale a row.
    Int4(QuantizedMatrixQ4),
    /// The fallback: for floats, each weight rounded to bf16.
    Wna16(wna16::Stored<'a>),
}

impl<'a> FourBitWeight<'a> {
    /// Holds weights. `order` says for each of their channels which channel of `x` it is multiplied by; `None`: the one of its own number.
    ///
    /// # Panics
    /// Where `order` is not `k` channels below `k`: it is the caller's own.
    #[must_use]
    pub fn new(weights: FourBit<'a>, order: Option<Vec<u32>>) -> Self {
        let new = Self { weights, order };
        if let Some(order) = &new.order {
            let k = new.k();
            assert!(order.len() == k && order.iter().all(|&channel| (channel as usize) < k), "channels of {k}");
        }
        new
    }

    /// The weights.
    #[must_use]
    pub const fn weights(&self) -> &FourBit<'a> {
        &self.weights
    }

    /// Output features.
    #[must_use]
    pub fn n(&self) -> usize {
        match &self.weights {
            FourBit::W4A16(w) => w.n(),
            FourBit::W4A8(w) => w.view().n(),
            FourBit::Int4(w) => w.n(),
            FourBit::Wna16(w) => w.view().n(),
        }
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub fn k(&self) -> usize {
        match &self.weights {
            FourBit::W4A16(w) => w.k(),
            FourBit::W4A8(w) => w.view().k(),
            FourBit::Int4(w) => w.k(),
            FourBit::Wna16(w) => w.view().k(),
        }
    }

    /// Bytes of all that is held: codes, scales, a copy, the order of channels.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let weights = match &self.weights {
            FourBit::W4A16(w) => w.bytes(),
            FourBit::W4A8(w) => w.view().bytes(),
            FourBit::Int4(w) => w.bytes(),
            FourBit::Wna16(w) => w.view().bytes(),
        };
        weights + self.order.as_ref().map_or(0, |order| size_of_val(&order[..]))
    }

    /// Bytes of a row-major copy, and why it is there; `None` where there is none.
    #[must_use]
    pub fn expansion(&self) -> Option<(usize, Reason)> {
        match &self.weights {
            FourBit::W4A16(w) => w.expansion(),
            FourBit::W4A8(_) | FourBit::Int4(_) | FourBit::Wna16(_) => None,
        }
    }

    /// `y[m,n] = x[m,k] · wᵀ` by the kernels of the path.
    ///
    /// # Errors
    /// As [`Driver::matmul_w4a16`] and its kin.
    pub fn matmul(
        &self,
        driver: &Driver<'_>,
        x: &mut SharedActs<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        driver.matmul_many_four_bit(x, [(self, y)], scratch)
    }

    /// The pair of these weights with floats or, where the path takes them, with int8 activations of these.
    fn by<'p>(&'p self, m: usize, floats: &'p [f32], codes: Option<Acts<'p>>) -> Option<Pair<'p>> {
        Some(match &self.weights {
            FourBit::W4A16(w) => Pair::Floats { m, x: floats, w: w.by(m) },
            FourBit::Wna16(w) => Pair::Floats { m, x: floats, w: ByFloats::Wna16(w.view()) },
            FourBit::W4A8(w) => Pair::Codes { x: codes?, w: ByCodes::W4A8(w.view()) },
            FourBit::Int4(w) => Pair::Codes { x: codes?, w: ByCodes::Int4(w) },
        })
    }

    const fn takes_codes(&self) -> bool {
        matches!(self.weights, FourBit::W4A8(_) | FourBit::Int4(_))
    }
}

impl Driver<'_> {
    /// [`matmul_many`](Self::matmul_many) for weights of 4-bit paths: threads wait for each other once, and the activations are quantized once. Only where
    /// the weights have their channels in different orders it is one product after the other.
    ///
    /// # Errors
    /// [`MatmulError`] where `x` and any of the weights do not fit each other or any `y` is not `m * n` elements; all are untouched then, but
    /// where orders differ.
    pub fn matmul_many_four_bit<const N: usize>(
        &self,
        x: &mut SharedActs<'_>,
        products: [(&FourBitWeight<'_>, &mut [f32]); N],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let Some(order) = products.first().map(|(weight, _)| weight.order.as_deref()) else { return Ok(()) };
        if products.iter().any(|(weight, _)| weight.order.as_deref() != order) {
            return products.into_iter().try_for_each(|(weight, y)| weight.matmul(self, x, y, scratch));
        }
        let (m, k) = (x.m(), x.k());
        let keepq_act::Acts::F32(floats) = x.rows(ActFormat::F32)?.typed() else { unreachable!("asked for floats") };
        for (weight, _) in &products {
            super::check_input(m, weight.k(), floats.len())?;
        }

        let Scratch { workers, ordered, tokens, .. } = scratch;
        let floats = match order {
            None => floats,
            Some(order) => {
                grow(ordered, m * k);
                for (to, from) in ordered.chunks_exact_mut(k.max(1)).zip(floats.chunks_exact(k.max(1))) {
                    to.iter_mut().zip(order).for_each(|(to, &channel)| *to = from[channel as usize]);
                }
                &ordered[..m * k]
            }
        };
        let codes = if products.iter().any(|(weight, _)| weight.takes_codes()) {
            let codes = self.tier().quantize_tokens(tokens, m, k, floats);
            Some(codes.map_err(|_| MatmulError::WrongInput { m, k, found: floats.len() })?)
        } else {
            None
        };
        let mut pairs = [None; N];
        for (pair, (weight, _)) in pairs.iter_mut().zip(&products) {
            *pair = weight.by(m, floats, codes);
        }
        let pairs = pairs.map(|pair| Operands::FourBit(pair.expect("quantized where codes are taken")));
        let mut i = 0;
        let outputs = products.map(|(_, y)| {
            let operands = &pairs[i];
            i += 1;
            Output { shape: (operands.m(), operands.n(), operands.k()), tier: self.tier(), y }
        });
        self.run(outputs, |i| iter::once(Job::all(pairs[i])), workers)
    }
}

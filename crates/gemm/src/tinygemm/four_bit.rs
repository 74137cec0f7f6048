//! [`FourBitWeight`]: weights of any 4-bit path as they are resident.

use keepq_act::{ActFormat, SharedActs};
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::{ActBuf, Acts, w4a8, wna16};

use super::W4A16Weight;
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
        let (m, k) = (x.m(), x.k());
        let floats = x.rows(ActFormat::F32)?;
        let keepq_act::Acts::F32(floats) = floats.typed() else { unreachable!("asked for floats") };
        super::check_input(m, self.k(), floats.len())?;

        let mut ordered = std::mem::take(&mut scratch.ordered);
        let floats = match &self.order {
            None => floats,
            Some(order) => {
                grow(&mut ordered, m * k);
                for (to, from) in ordered.chunks_exact_mut(k.max(1)).zip(floats.chunks_exact(k.max(1))) {
                    to.iter_mut().zip(order).for_each(|(to, &channel)| *to = from[channel as usize]);
                }
                &ordered[..m * k]
            }
        };
        let mut tokens = std::mem::take(&mut scratch.tokens);
        let result = match &self.weights {
            FourBit::W4A16(w) => driver.matmul_w4a16_f32(m, floats, w, y, scratch),
            FourBit::W4A8(w) => {
                quantized(driver, &mut tokens, (m, k), floats).and_then(|x| driver.matmul_w4a8(x, w.view(), y, scratch))
            }
            FourBit::Int4(w) => {
                quantized(driver, &mut tokens, (m, k), floats).and_then(|x| driver.matmul_int4(x, w, y, scratch))
            }
            FourBit::Wna16(w) => driver.matmul_wna16(m, floats, w.view(), y, scratch),
        };
        (scratch.ordered, scratch.tokens) = (ordered, tokens);
        result
    }
}

/// `m` tokens of `k` elements as int8 codes.
fn quantized<'t>(
    driver: &Driver<'_>,
    tokens: &'t mut ActBuf,
    (m, k): (usize, usize),
    x: &[f32],
) -> Result<Acts<'t>, MatmulError> {
    driver.tier().quantize_tokens(tokens, m, k, x).map_err(|_| MatmulError::WrongInput { m, k, found: x.len() })
}

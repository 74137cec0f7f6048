//! [`W4A16Weight`]: W4A16 weights as they are resident, and what they are multiplied from.

use half::bf16;
use keepq_dot::ProductError;
use keepq_simd::Tier;
use keepq_tinygemm::select::Config;
use keepq_tinygemm::w4a16::{Layout, PackedError, RowMajor, Stored, StoredRowMajor, Weights};

use super::pair::ByFloats;
use crate::Reason;

/// How W4A16 weights are multiplied: the keys of a `cpu_int4` checkpoint's configuration that say it. Results do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct W4A16Switches {
    /// From `dequant_threshold` tokens on weights are decoded into panels of floats, once for many tokens; `false`: codes are
    /// decoded where they lie for any number.
    pub prefill_dequant: bool,
    /// Panels are decoded from the packed codes; `false`: from a row-major copy, which is kept beside them.
    pub direct_dequant: bool,
    /// Tokens from which panels are decoded.
    pub dequant_threshold: usize,
}

impl Default for W4A16Switches {
    fn default() -> Self {
        Self { prefill_dequant: true, direct_dequant: true, dequant_threshold: Tier::DEQUANT_THRESHOLD }
    }
}

impl From<&Config> for W4A16Switches {
    /// The three keys of a configuration that are meant for the driver.
    fn from(config: &Config) -> Self {
        let &Config { prefill_dequant, direct_dequant, dequant_threshold, .. } = config;
        Self { prefill_dequant, direct_dequant, dequant_threshold }
    }
}

/// W4A16 weights as they are resident: the packed codes and scales where they lie, and a row-major copy only where the switches, or
/// packed codes that cannot be read, ask for one.
///
/// ```
/// use half::bf16;
/// use keepq_gemm::{Reason, W4A16Switches, W4A16Weight};
/// use keepq_tinygemm::w4a16::{Layout, Weights, pack};
///
/// let (n, k, group) = (32, 64, 32);
/// let mut bytes = vec![0; n * k / 2];
/// let packed = pack(Layout::Scalar, n, k, &vec![7; n * k], &mut bytes)?;
/// let scales = vec![[bf16::ONE; 2]; k / group * n];
/// let weights = Weights::new(packed, group, &scales)?;
/// let w = W4A16Weight::from(weights);
/// assert_eq!((w.bytes(), w.expansion()), (n * k / 2 + 4 * scales.len(), None));
///
/// let copied = W4A16Weight::new(weights, W4A16Switches { direct_dequant: false, ..Default::default() })?;
/// assert_eq!(copied.expansion(), Some((w.bytes(), Reason::RowMajor)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct W4A16Weight<'a> {
    held: Held<'a>,
    switches: W4A16Switches,
}

#[derive(Clone, Debug)]
enum Held<'a> {
    Packed(Stored<'a>),
    Both(Stored<'a>, StoredRowMajor<'a>),
    /// With the arithmetic of AVX-512's layout.
    RowMajor(RowMajor<'a>),
}

impl<'a> From<Weights<'a>> for W4A16Weight<'a> {
    /// The weights where they lie, with the default switches.
    fn from(w: Weights<'a>) -> Self {
        Self { held: Held::Packed(w.into()), switches: W4A16Switches::default() }
    }
}

impl<'a> W4A16Weight<'a> {
    /// Holds tagged weights, of any legal n. A copy is made only where panels are to be decoded, and not directly.
    ///
    /// # Errors
    /// [`ProductError::NoMemory`] where there is none for the copy.
    pub fn new(w: impl Into<Stored<'a>>, switches: W4A16Switches) -> Result<Self, ProductError> {
        let w = w.into();
        let copied = switches.prefill_dequant && !switches.direct_dequant;
        let held = if copied {
            let copy = row_major(&w.view())?;
            Held::Both(w, copy)
        } else {
            Held::Packed(w)
        };
        Ok(Self { held, switches })
    }

    /// Holds packed codes that no tag says the layout of, beside the row-major weights that they were packed from.
    ///
    /// They are taken for AVX-512's layout, and compared with `plain`. Where n is a multiple of 64 `plain` is needed no longer, unless the
    /// switches ask for a copy: it is that then. For another n nothing says how the last block lies, and `plain` is all
    /// that is multiplied from, by the arithmetic of AVX-512's layout.
    ///
    /// # Errors
    /// [`PackedError`] where n is a multiple of 64 and the packed codes, of the length that they should have or not, are not those of `plain` in
    /// AVX-512's layout, or there are not `k / group * n` pairs of scales.
    pub fn untagged(
        packed: &'a [u8],
        scales: &'a [[bf16; 2]],
        plain: RowMajor<'a>,
        switches: W4A16Switches,
    ) -> Result<Self, PackedError> {
        let held = match Weights::untagged(packed, scales, &plain)? {
            Some(w) if switches.prefill_dequant && !switches.direct_dequant => Held::Both(w.into(), plain.into()),
            Some(w) => Held::Packed(w.into()),
            None => Held::RowMajor(plain),
        };
        Ok(Self { held, switches })
    }

    /// Output features.
    #[must_use]
    pub fn n(&self) -> usize {
        match &self.held {
            Held::Packed(w) | Held::Both(w, _) => w.view().packed().n(),
            Held::RowMajor(w) => w.n(),
        }
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub fn k(&self) -> usize {
        match &self.held {
            Held::Packed(w) | Held::Both(w, _) => w.view().packed().k(),
            Held::RowMajor(w) => w.k(),
        }
    }

    /// Bytes of all that is held, scales and a copy included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.held {
            Held::Packed(w) => w.view().bytes(),
            Held::Both(w, copied) => w.view().bytes() + copied.view().bytes(),
            Held::RowMajor(w) => w.bytes(),
        }
    }

    /// Bytes of row-major weights that are held, beside the packed ones or instead of them, and why; `None` where there are none.
    #[must_use]
    pub fn expansion(&self) -> Option<(usize, Reason)> {
        let bytes = match &self.held {
            Held::Packed(_) => return None,
            Held::Both(_, copied) => copied.view().bytes(),
            Held::RowMajor(w) => w.bytes(),
        };
        Some((bytes, Reason::RowMajor))
    }

    /// What `m` tokens are multiplied by.
    pub(super) fn by(&self, m: usize) -> ByFloats<'_> {
        let W4A16Switches { prefill_dequant, dequant_threshold, .. } = self.switches;
        match &self.held {
            Held::Both(w, copied) if m >= dequant_threshold => {
                ByFloats::RowMajor(copied.view(), w.view().packed().layout())
            }
            Held::Packed(w) if prefill_dequant => ByFloats::W4A16(w.view(), dequant_threshold),
            Held::Packed(w) | Held::Both(w, _) => ByFloats::W4A16(w.view(), usize::MAX),
            Held::RowMajor(w) => ByFloats::RowMajor(*w, Layout::Avx512),
        }
    }
}

/// A row-major copy.
fn row_major(w: &Weights<'_>) -> Result<StoredRowMajor<'static>, ProductError> {
    let (n, k, group) = (w.packed().n(), w.packed().k(), w.group());
    let pairs = k / group * n;
    let mut packed = zeros(n * k / 2, 0)?;
    let (mut scales, mut offsets) = (zeros(pairs, bf16::ZERO)?, zeros(pairs, bf16::ZERO)?);
    w.to_row_major(&mut packed, &mut scales, &mut offsets).expect("as long as the shape asks for");
    Ok(StoredRowMajor::new((n, k), group, packed, scales, offsets).expect("as long as the shape asks for"))
}

/// So many zeros, where there is memory for them.
fn zeros<T: Copy>(len: usize, zero: T) -> Result<Vec<T>, ProductError> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(len).map_err(|_| ProductError::NoMemory { bytes: len * size_of::<T>() })?;
    memory.resize(len, zero);
    Ok(memory)
}

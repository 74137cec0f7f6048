//! [`Weight`]: a matrix as it is resident, kept in the file's blocks or expanded by explicit choice.

use std::fmt;
use std::sync::Arc;

use bytemuck::cast_slice;
use keepq_act::{ActFormat, SharedActs};
use keepq_blocks::{Bf16, GgmlType, Matrix};
use keepq_dot::kn::KnMatrix;
use keepq_dot::{Interleaved, ProductError};
use keepq_simd::Tier;
use memmap2::MmapMut;

use crate::operands::Weights;
use crate::{Driver, MatmulError, Scratch};

/// How weights of block types are held in memory. Float tensors are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Residency {
    /// The file's own blocks, in place, computed in quant. A type that decodes but has no kernel is expanded to bf16 `[n,k]`.
    #[default]
    Keep,
    /// The file's own blocks, and nothing else: a type without a kernel is refused.
    Strict,
    /// As [`Keep`](Self::Keep), but for types whose rows can be [interleaved](Interleaved): of these a copy is made in which eight rows
    /// lie side by side, as large as the original. One token is multiplied faster by it; the results are the same.
    Interleave,
    /// Expanded to bf16 `[n,k]` at load.
    ExpandNk,
    /// Expanded to bf16 `[k,n]` at load: the historical way, kept to be measured against.
    ExpandKn,
    /// Expanded to bf16 `[n,k]` and multiplied by portable kernels, whatever tier the driver has: the reference.
    Reference,
}

impl Residency {
    /// What the environment asks for: `KEEPQ_CPU_REF=1` the reference, which wins over every other switch;
    /// `KEEPQ_KEEP_QUANT=0` (or `off`, `false`) expansion; `KEEPQ_KEEP_QUANT=interleaved` interleaved copies; else the blocks are kept.
    ///
    /// # Errors
    /// [`ResidencyError`] where a variable has a value of neither kind.
    pub fn from_env() -> Result<Self, ResidencyError> {
        if switch("KEEPQ_CPU_REF")? == Some(true) {
            return Ok(Self::Reference);
        }
        const KEEP: &str = "KEEPQ_KEEP_QUANT";
        if std::env::var_os(KEEP).is_some_and(|value| value.eq_ignore_ascii_case("interleaved")) {
            return Ok(Self::Interleave);
        }
        Ok(if switch(KEEP)? == Some(false) { Self::ExpandKn } else { Self::Keep })
    }
}

/// A variable that is on or off; `None` where it is not set.
fn switch(variable: &'static str) -> Result<Option<bool>, ResidencyError> {
    let Some(value) = std::env::var_os(variable) else { return Ok(None) };
    match value.to_string_lossy().to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Ok(Some(true)),
        "0" | "off" | "false" => Ok(Some(false)),
        value => Err(ResidencyError { variable, value: value.into() }),
    }
}

/// An environment variable that is neither on nor off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidencyError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
}

impl fmt::Display for ResidencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={:?} is neither 1, on, true nor 0, off, false", self.variable, self.value)
    }
}

impl std::error::Error for ResidencyError {}

/// A matrix of weights as it is resident.
#[derive(Clone, Debug)]
pub struct Weight<'a> {
    n: usize,
    k: usize,
    held: Held<'a>,
}

#[derive(Clone, Debug)]
enum Held<'a> {
    Kept(Matrix<'a>),
    Interleaved(Arc<Interleaved<MmapMut>>),
    Nk { elements: Vec<Bf16>, tier: Option<Tier>, reason: Reason },
    Kn(Vec<Bf16>),
}

/// Why a weight was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The residency says so.
    Asked,
    /// The type cannot be multiplied in place.
    NoKernel,
    /// It is not expanded: its rows are interleaved, as the residency says.
    Interleaved,
    /// Codes of 4 bits row by row, beside the packed ones or instead of them.
    RowMajor,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Asked => "asked for",
            Self::NoKernel => "no kernel",
            Self::Interleaved => "interleaved",
            Self::RowMajor => "row-major copy",
        })
    }
}

impl<'a> Weight<'a> {
    /// Holds `matrix` as `residency` says. Only copies allocate: `2 * n * k` bytes where expanded, as many as the matrix has, of a
    /// multiple of eight rows, where interleaved.
    ///
    /// # Errors
    /// [`ProductError::NoKernel`] where the type cannot be multiplied in place and [`Residency::Strict`] allows nothing else;
    /// [`ProductError::NoMemory`] where rows cannot be interleaved for want of it.
    pub fn new(matrix: Matrix<'a>, residency: Residency) -> Result<Self, ProductError> {
        let nk = |tier, reason| Held::Nk { elements: expand_nk(&matrix), tier, reason };
        let held = match (residency, ActFormat::for_weights(matrix.ty())) {
            (Residency::Interleave, Some(_)) if Interleaved::supports(matrix.ty()) => {
                let memory = large_pages(Interleaved::bytes_for(&matrix))?;
                Held::Interleaved(Arc::new(Interleaved::in_memory(matrix, memory)?))
            }
            (_, Some(ActFormat::F32)) | (Residency::Interleave | Residency::Keep | Residency::Strict, Some(_)) => {
                Held::Kept(matrix)
            }
            (Residency::Strict, None) => return Err(ProductError::NoKernel { ty: matrix.ty() }),
            (Residency::Interleave | Residency::Keep, None) => nk(None, Reason::NoKernel),
            (Residency::ExpandNk, _) => nk(None, Reason::Asked),
            (Residency::Reference, _) => nk(Some(Tier::PORTABLE), Reason::Asked),
            (Residency::ExpandKn, _) => Held::Kn(expand_kn(&matrix)),
        };
        Ok(Self { n: matrix.n(), k: matrix.k(), held })
    }

    /// Output features.
    #[must_use]
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Elements of the reduction axis.
    #[must_use]
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Bytes that this weight owns, beyond the file's own, and why; `None` where it is kept.
    #[must_use]
    pub fn expansion(&self) -> Option<(usize, Reason)> {
        match &self.held {
            Held::Kept(_) => None,
            Held::Nk { elements, reason, .. } => Some((size_of_val(&elements[..]), *reason)),
            Held::Kn(elements) => Some((size_of_val(&elements[..]), Reason::Asked)),
            Held::Interleaved(weights) => Some((weights.bytes(), Reason::Interleaved)),
        }
    }

    /// `y[m,n] = x[m,k] · wᵀ` by the kernels of this residency.
    ///
    /// # Errors
    /// As [`Driver::matmul`].
    pub fn matmul(
        &self,
        driver: &Driver<'_>,
        x: &mut SharedActs<'_>,
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let driver = Driver::new(self.tier().unwrap_or(driver.tier()), driver.executor());
        let weights = self.view();
        let format = weights.format().ok_or(ProductError::NoKernel { ty: weights.ty() })?;
        let x = x.rows_by(format, |encoding| driver.encode(encoding))?;
        driver.multiply(weights.by(x)?, y, scratch)
    }

    /// The weights, for kernels.
    pub(crate) fn view(&self) -> Weights<'_> {
        match &self.held {
            Held::Kept(matrix) => Weights::Nk(*matrix),
            Held::Interleaved(weights) => Weights::Interleaved(weights.view()),
            Held::Nk { elements, .. } => {
                let matrix = Matrix::new(GgmlType::BF16, self.n, self.k, cast_slice(elements));
                Weights::Nk(matrix.expect("expanded to n * k elements"))
            }
            Held::Kn(elements) => {
                Weights::Kn(KnMatrix::new(self.n, self.k, elements).expect("expanded to n * k elements"))
            }
        }
    }

    /// The tier whose kernels run, whatever the driver's is.
    pub(crate) const fn tier(&self) -> Option<Tier> {
        match &self.held {
            Held::Nk { tier, .. } => *tier,
            Held::Kept(_) | Held::Interleaved(_) | Held::Kn(_) => None,
        }
    }
}

/// So many zeros or more, in large pages where the system has them: memory that is read as one stream is read up to 1.5 times as fast so.
fn large_pages(bytes: usize) -> Result<MmapMut, ProductError> {
    let memory = MmapMut::map_anon(bytes.max(1)).map_err(|_| ProductError::NoMemory { bytes })?;
    // Where it cannot be had the pages are small, and all is as it was.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    Ok(memory)
}

/// The elements rounded to bf16, in the order of the rows.
fn expand_nk(matrix: &Matrix<'_>) -> Vec<Bf16> {
    let mut elements = Vec::with_capacity(matrix.n() * matrix.k());
    each_row(matrix, |_, row| elements.extend(row.iter().map(|&v| Bf16::from_f32(v))));
    elements
}

/// The elements rounded to bf16, transposed.
fn expand_kn(matrix: &Matrix<'_>) -> Vec<Bf16> {
    let n = matrix.n();
    let mut elements = vec![Bf16::default(); n * matrix.k()];
    each_row(matrix, |i, row| {
        for (column, &v) in elements.chunks_exact_mut(n).zip(row) {
            column[i] = Bf16::from_f32(v);
        }
    });
    elements
}

fn each_row(matrix: &Matrix<'_>, mut take: impl FnMut(usize, &[f32])) {
    let mut row = vec![0.0; matrix.k()];
    for i in 0..matrix.n() {
        matrix.decode_row(i, &mut row).expect("a row of the matrix, a buffer of its length");
        take(i, &row);
    }
}

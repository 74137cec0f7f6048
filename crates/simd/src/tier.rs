//! [`Tier`]: which instruction set's kernels run.

use std::fmt;
use std::ops::Range;

use half::bf16;
use keepq_act::{ActBuf, ActError, ActFormat, ActRows, Encoding};
use keepq_blocks::F16;
use keepq_dot::kn::{self, KnMatrix};
use keepq_dot::rows::{self, KvHead, KvLayout, Queries};
use keepq_dot::{InterleavedRows, Portable, Product, Scratch, Target};
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::{Acts, LayoutError, w4a8, w4a16, wna16};

use crate::Amx;
use crate::features::{Features, NAMES};
#[cfg(target_arch = "aarch64")]
use crate::{neon::Neon, neon_dotprod::NeonDotprod, neon_i8mm::NeonI8mm};
#[cfg(target_arch = "x86_64")]
use crate::{
    x86_64_v3::X86_64V3, x86_64_v3_avxvnni::X86_64V3AvxVnni, x86_64_v4::X86_64V4, x86_64_v4_vnni::X86_64V4Vnni,
};

/// One instruction set's kernels, proven to be there: a value exists only where the machine has its features.
#[derive(Clone, Copy, Debug)]
pub struct Tier {
    kernels: Kernels,
    amx: Option<Amx>,
}

#[derive(Clone, Copy, Debug)]
enum Kernels {
    Portable,
    #[cfg(target_arch = "x86_64")]
    X86_64V3(X86_64V3),
    #[cfg(target_arch = "x86_64")]
    X86_64V3AvxVnni(X86_64V3AvxVnni),
    #[cfg(target_arch = "x86_64")]
    X86_64V4(X86_64V4),
    #[cfg(target_arch = "x86_64")]
    X86_64V4Vnni(X86_64V4Vnni),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_arch = "aarch64")]
    NeonDotprod(NeonDotprod),
    #[cfg(target_arch = "aarch64")]
    NeonI8mm(NeonI8mm),
}

/// Evaluates `$body` with `$target` bound to the tier's target.
macro_rules! on_target {
    ($tier:expr, $target:ident => $body:expr) => {
        match $tier.kernels {
            Kernels::Portable => {
                let $target = Portable;
                $body
            }
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V3($target) => $body,
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V3AvxVnni($target) => $body,
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V4($target) => $body,
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V4Vnni($target) => $body,
            #[cfg(target_arch = "aarch64")]
            Kernels::Neon($target) => $body,
            #[cfg(target_arch = "aarch64")]
            Kernels::NeonDotprod($target) => $body,
            #[cfg(target_arch = "aarch64")]
            Kernels::NeonI8mm($target) => $body,
        }
    };
}

/// The environment variable that forces a tier.
const VARIABLE: &str = "KEEPQ_TIER";

/// The environment variable that asks for AMX.
const AMX_VARIABLE: &str = "KEEPQ_AMX";

impl Tier {
    /// The tier that every machine has.
    pub const PORTABLE: Self = Self { kernels: Kernels::Portable, amx: None };

    /// Tokens from which panels that [`w4a16_strip`](Self::w4a16_strip) decodes cost less than codes that are decoded where they lie, for every few
    /// tokens again (measured).
    pub const DEQUANT_THRESHOLD: usize = 4;

    /// The names of all tiers of this version, best last, whether this machine has them or not.
    #[must_use]
    pub const fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// The tiers that this machine has, best last: those of its [`Features`].
    #[must_use]
    pub fn available() -> Vec<Self> {
        Features::of_this_machine().tiers().into_iter().filter_map(Self::with_token).collect()
    }

    /// The best tier that this machine has.
    #[must_use]
    pub fn best() -> Self {
        NAMES.into_iter().rev().find_map(Self::with_token).unwrap_or(Self::PORTABLE)
    }

    /// The names of the tiers that this version has and this machine has not: what a test run here cannot show.
    #[must_use]
    pub fn missing() -> Vec<&'static str> {
        let available = Features::of_this_machine().tiers();
        NAMES.into_iter().filter(|name| !available.contains(name)).collect()
    }

    /// The tier with this name, where its token finds everything that it proves.
    fn with_token(name: &str) -> Option<Self> {
        let kernels = match name {
            "portable" => Kernels::Portable,
            #[cfg(target_arch = "x86_64")]
            "x86-64-v3" => Kernels::X86_64V3(X86_64V3::try_new()?),
            #[cfg(target_arch = "x86_64")]
            "x86-64-v3-avxvnni" => Kernels::X86_64V3AvxVnni(X86_64V3AvxVnni::try_new()?),
            #[cfg(target_arch = "x86_64")]
            "x86-64-v4" => Kernels::X86_64V4(X86_64V4::try_new()?),
            #[cfg(target_arch = "x86_64")]
            "x86-64-v4-vnni" => Kernels::X86_64V4Vnni(X86_64V4Vnni::try_new()?),
            #[cfg(target_arch = "aarch64")]
            "neon" => Kernels::Neon(Neon::try_new()?),
            #[cfg(target_arch = "aarch64")]
            "neon-dotprod" => Kernels::NeonDotprod(NeonDotprod::try_new()?),
            #[cfg(target_arch = "aarch64")]
            "neon-i8mm" => Kernels::NeonI8mm(NeonI8mm::try_new()?),
            _ => return None,
        };
        Some(Self { kernels, amx: None })
    }

    /// The tier with this name.
    ///
    /// # Errors
    /// [`TierError`] where there is no such tier, or this machine does not have it.
    pub fn from_name(name: &str) -> Result<Self, TierError> {
        if !NAMES.contains(&name) {
            return Err(TierError::Unknown { name: name.into() });
        }
        Self::with_token(name).ok_or_else(|| TierError::NotHere { name: name.into() })
    }

    /// The tier that `KEEPQ_TIER` names, or the best one where it is not set; with AMX where `KEEPQ_AMX` is 1 and it can be had
    /// ([`Amx::enable`]).
    ///
    /// # Errors
    /// [`TierError`] as for [`from_name`](Self::from_name), and where `KEEPQ_AMX` is neither 0 nor 1. AMX that cannot be had is none: the tier runs
    /// without it.
    pub fn from_env() -> Result<Self, TierError> {
        let tier = match std::env::var_os(VARIABLE) {
            None => Self::best(),
            Some(name) => Self::from_name(&name.to_string_lossy())?,
        };
        match std::env::var_os(AMX_VARIABLE).as_deref().map(|value| value.to_string_lossy()).as_deref() {
            None | Some("0") => Ok(tier),
            Some("1") => Ok(Amx::enable().map_or(tier, |amx| tier.with_amx(amx))),
            Some(value) => Err(TierError::Switch { value: value.into() }),
        }
    }

    /// This tier, which leaves products of many tokens by W4A8 and per-channel int4 to AMX. The bits are the same.
    #[must_use]
    pub const fn with_amx(self, amx: Amx) -> Self {
        Self { amx: Some(amx), ..self }
    }

    /// AMX, where the tier has it.
    #[must_use]
    pub const fn amx(self) -> Option<Amx> {
        self.amx
    }

    /// The name, as `KEEPQ_TIER` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.kernels {
            Kernels::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V3(_) => "x86-64-v3",
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V3AvxVnni(_) => "x86-64-v3-avxvnni",
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V4(_) => "x86-64-v4",
            #[cfg(target_arch = "x86_64")]
            Kernels::X86_64V4Vnni(_) => "x86-64-v4-vnni",
            #[cfg(target_arch = "aarch64")]
            Kernels::Neon(_) => "neon",
            #[cfg(target_arch = "aarch64")]
            Kernels::NeonDotprod(_) => "neon-dotprod",
            #[cfg(target_arch = "aarch64")]
            Kernels::NeonI8mm(_) => "neon-i8mm",
        }
    }

    /// The most weight rows that [`strip`](Self::strip) takes with `m` tokens: [`keepq_dot::strip_rows`].
    #[must_use]
    pub const fn strip_rows(self, m: usize) -> usize {
        keepq_dot::strip_rows(m)
    }

    /// [`keepq_dot::strip`] on this tier.
    ///
    /// # Panics
    /// As [`keepq_dot::strip`] does.
    pub fn strip(self, product: Product<'_>, y: &mut [f32], scratch: &mut Scratch) {
        on_target!(self, target => keepq_dot::strip(target, product, y, scratch));
    }

    /// [`keepq_dot::strip_interleaved`] on this tier.
    ///
    /// # Panics
    /// As [`keepq_dot::strip_interleaved`] does.
    pub fn strip_interleaved(self, product: Product<'_, InterleavedRows<'_>>, y: &mut [f32], scratch: &mut Scratch) {
        on_target!(self, target => keepq_dot::strip_interleaved(target, product, y, scratch));
    }

    /// [`ActBuf::quantize`] on this tier.
    ///
    /// # Errors
    /// As [`ActBuf::quantize`].
    pub fn quantize<'a>(
        self,
        buffer: &'a mut ActBuf,
        format: ActFormat,
        m: usize,
        k: usize,
        x: &'a [f32],
    ) -> Result<ActRows<'a>, ActError> {
        buffer.quantize_by(format, m, k, x, |encoding| self.encode(encoding))
    }

    /// [`Encoding::run`] on this tier: what [`SharedActs::rows_by`](keepq_act::SharedActs::rows_by) takes.
    pub fn encode(self, mut encoding: Encoding<'_>) {
        on_target!(self, target => target.run(
            #[inline(always)]
            || encoding.run()
        ));
    }

    /// [`keepq_dot::kn::strip`] on this tier.
    ///
    /// # Panics
    /// As [`keepq_dot::kn::strip`] does.
    pub fn kn_strip(self, x: &[f32], w: KnMatrix<'_>, columns: Range<usize>, y: &mut [f32], scratch: &mut [f32]) {
        on_target!(self, target => kn::strip(target, x, w, columns, y, scratch));
    }

    /// [`w4a16::Weights::multiply`] by some rows of weights, with the same bits: `y[t * rows.len() + r]`, overwritten.
    ///
    /// From `dequant_threshold` tokens on, weights are decoded into panels of floats on the stack, once for many tokens, with no other copy of them;
    /// below, codes are decoded where they lie. [`DEQUANT_THRESHOLD`](Self::DEQUANT_THRESHOLD) is the faster choice, `usize::MAX` never decodes
    /// panels. Results do not depend on it.
    ///
    /// ```
    /// use half::bf16;
    /// use keepq_simd::Tier;
    /// use keepq_tinygemm::w4a16::{Layout, PackedError, Weights, pack};
    ///
    /// let (n, k, group) = (32, 32, 32);
    /// let mut bytes = vec![0; n * k / 2];
    /// let packed = pack(Layout::Avx2, n, k, &vec![9; n * k], &mut bytes)?;
    /// let scales = vec![[bf16::from_f32(0.5), bf16::from_f32(0.0)]; n];
    /// let mut y = vec![0.0; n]; // m = 1
    /// let w = Weights::new(packed, group, &scales)?;
    /// Tier::best().w4a16_strip(w, 0..n, &vec![1.0; k], &mut y, Tier::DEQUANT_THRESHOLD);
    /// assert_eq!(y, vec![16.0; n]);
    /// # Ok::<(), PackedError>(())
    /// ```
    ///
    /// # Panics
    /// Where `rows` do not begin and end with blocks of the layout, or `x` is not `m * k` and `y` not `m * rows.len()` long for any m.
    pub fn w4a16_strip(
        self,
        w: w4a16::Weights<'_>,
        rows: Range<usize>,
        x: &[f32],
        y: &mut [f32],
        dequant_threshold: usize,
    ) {
        on_target!(self, target => crate::by_floats::w4a16(target, w, rows, x, y, dequant_threshold));
    }

    /// [`w4a16_strip`](Self::w4a16_strip) of the same weights row by row, by panels for any number of tokens: the path through a copy.
    ///
    /// The results are those of the layout whose `arithmetic` it is. Rows may begin and end anywhere.
    ///
    /// # Panics
    /// Where there are no such rows, or `x` is not `m * k` and `y` not `m * rows.len()` long for any m.
    pub fn w4a16_row_major_strip(
        self,
        arithmetic: w4a16::Layout,
        w: w4a16::RowMajor<'_>,
        rows: Range<usize>,
        x: &[f32],
        y: &mut [f32],
    ) {
        on_target!(self, target => crate::by_floats::row_major(target, arithmetic, w, rows, x, y));
    }

    /// [`wna16::Weights::multiply`] by some rows of weights, with the same bits: `y[t * rows.len() + r]`, overwritten.
    ///
    /// # Panics
    /// Where `rows` do not begin and end with words, or `x` is not `m * k` and `y` not `m * rows.len()` long for any m.
    pub fn wna16_strip(self, w: wna16::Weights<'_>, rows: Range<usize>, x: &[f32], y: &mut [f32]) {
        on_target!(self, target => crate::by_floats::wna16(target, w, rows, x, y));
    }

    /// [`linear_q4`](keepq_tinygemm::int4::linear_q4) by some rows of weights, with the same bits: `y[t * rows.len() + r]`, overwritten.
    ///
    /// # Panics
    /// Where there are no such rows, the activations have another k, or `y` is not `m * rows.len()` long.
    pub fn int4_strip(self, w: &QuantizedMatrixQ4, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
        crate::int4::check(w, &rows, x, y);
        #[cfg(target_arch = "x86_64")]
        if let Some(amx) = self.amx_for(x) {
            return on_target!(self, target => crate::amx::int4(amx, target, w, rows, x, y));
        }
        on_target!(self, target => crate::int4::strip(target, w, rows, x, y));
    }

    /// [`keepq_tinygemm::ActBuf::quantize`] on this tier: the int8 activations of W4A8 and int4.
    ///
    /// # Errors
    /// As [`keepq_tinygemm::ActBuf::quantize`].
    pub fn quantize_tokens<'a>(
        self,
        buffer: &'a mut keepq_tinygemm::ActBuf,
        m: usize,
        k: usize,
        x: &[f32],
    ) -> Result<Acts<'a>, LayoutError> {
        buffer.quantize_by(m, k, x, |mut tokens| {
            on_target!(self, target => target.run(
                #[inline(always)]
                || tokens.encode()
            ));
        })
    }

    /// [`keepq_tinygemm::widen`] on this tier.
    ///
    /// # Panics
    /// As [`keepq_tinygemm::widen`].
    pub fn widen_bf16(self, x: &[bf16], to: &mut [f32]) {
        on_target!(self, target => target.run(
            #[inline(always)]
            || keepq_tinygemm::widen(x, to)
        ));
    }

    /// [`keepq_tinygemm::narrow`] on this tier.
    ///
    /// # Panics
    /// As [`keepq_tinygemm::narrow`].
    pub fn narrow_bf16(self, y: &[f32], to: &mut [bf16]) {
        on_target!(self, target => target.run(
            #[inline(always)]
            || keepq_tinygemm::narrow(y, to)
        ));
    }

    /// [`w4a8::Weights::multiply`] by some rows of weights, with the same bits: `y[t * rows.len() + r]`, overwritten.
    ///
    /// # Panics
    /// Where `rows` do not begin and end with records, the activations have another k, or `y` is not `m * rows.len()` long.
    pub fn w4a8_strip(self, w: w4a8::Weights<'_>, rows: Range<usize>, x: Acts<'_>, y: &mut [f32]) {
        crate::w4a8::check(w, &rows, x, y);
        #[cfg(target_arch = "x86_64")]
        if let Some(amx) = self.amx_for(x) {
            return on_target!(self, target => crate::amx::w4a8(amx, target, w, rows, x, y));
        }
        on_target!(self, target => crate::w4a8::strip(target, w, rows, x, y));
    }

    /// AMX, where the tier has it and there are tokens enough.
    #[cfg(target_arch = "x86_64")]
    fn amx_for(self, x: Acts<'_>) -> Option<Amx> {
        self.amx.filter(|_| x.m() >= Amx::TOKENS)
    }

    /// `y[t * n + r] = (float(Σ x · code) * scale of the token) * scale of the row`, overwritten: rows of int8 codes, above -128, with a scale
    /// each. The sum is exact, both multiplications are rounded.
    ///
    /// What per-channel int4 is measured by. Its weights are twice as large, and need no unpacking.
    ///
    /// ```
    /// use keepq_simd::Tier;
    /// use keepq_tinygemm::ActBuf;
    ///
    /// let mut buffer = ActBuf::new();
    /// let x = buffer.quantize(1, 3, &[127.0, 0.0, -1.0])?;
    /// let mut y = [0.0; 2];
    /// Tier::best().int8_strip(&[1, 2, 3, -4, 5, 6], &[1.0, 0.5], x, &mut y);
    /// assert_eq!(y, [124.0, -257.0]);
    /// # Ok::<(), keepq_tinygemm::LayoutError>(())
    /// ```
    ///
    /// # Panics
    /// Where codes are not `n * k` for `n` scales and the activations' k, `y` is not `m * n` long, or k is above 2^17.
    pub fn int8_strip(self, codes: &[i8], scales: &[f32], x: Acts<'_>, y: &mut [f32]) {
        on_target!(self, target => crate::int8::strip(target, codes, scales, x, y));
    }

    /// [`keepq_dot::rows::attention`] on this tier.
    ///
    /// # Panics
    /// As [`keepq_dot::rows::attention`] does.
    pub fn attention(
        self,
        queries: Queries<'_>,
        cache: KvHead<'_>,
        memory: &mut [f32],
        out: impl FnMut(usize, &[f32]),
    ) {
        on_target!(self, target => rows::attention(target, queries, cache, memory, out));
    }

    /// [`KvLayout::store_keys`] on this tier.
    ///
    /// # Panics
    /// As [`KvLayout::store_keys`] does.
    pub fn store_keys(self, layout: KvLayout, first: usize, rows: &[f32], to: &mut [F16]) {
        on_target!(self, target => layout.store_keys(target, first, rows, to));
    }

    /// [`KvLayout::store_values`] on this tier.
    ///
    /// # Panics
    /// As [`KvLayout::store_values`] does.
    pub fn store_values(self, layout: KvLayout, first: usize, rows: &[f32], to: &mut [F16]) {
        on_target!(self, target => layout.store_values(target, first, rows, to));
    }

    /// [`keepq_dot::rows::rms_norm`] on this tier.
    pub fn rms_norm(self, x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
        on_target!(self, target => target.run(
            #[inline(always)]
            || rows::rms_norm(x, weight, epsilon, out)
        ));
    }

    /// [`keepq_dot::rows::rms_norm_in_place`] on this tier.
    pub fn rms_norm_in_place(self, x: &mut [f32], weight: &[f32], epsilon: f32) {
        on_target!(self, target => target.run(
            #[inline(always)]
            || rows::rms_norm_in_place(x, weight, epsilon)
        ));
    }

    /// [`keepq_dot::rows::silu_mul`] on this tier.
    pub fn silu_mul(self, gate: &mut [f32], up: &[f32]) {
        on_target!(self, target => rows::silu_mul(target, gate, up));
    }

    /// [`keepq_dot::rows::gelu_mul`] on this tier.
    pub fn gelu_mul(self, gate: &mut [f32], up: &[f32]) {
        on_target!(self, target => rows::gelu_mul(target, gate, up));
    }
}

impl PartialEq for Tier {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.amx == other.amx
    }
}

impl Eq for Tier {}

/// The name, and `+amx` where that is beside it.
impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.amx {
            None => f.pad(self.name()),
            Some(_) => f.pad(&format!("{}+amx", self.name())),
        }
    }
}

/// Why a tier cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TierError {
    /// There is no tier of this name.
    Unknown {
        /// The name.
        name: String,
    },
    /// There is such a tier, but this machine lacks its features.
    NotHere {
        /// The name.
        name: String,
    },
    /// `KEEPQ_AMX` is neither 0 nor 1.
    Switch {
        /// What it is.
        value: String,
    },
}

impl fmt::Display for TierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(f, "no tier is called {name:?}: there are {}", NAMES.join(", ")),
            Self::NotHere { name } => write!(f, "tier {name}: this machine lacks its instruction set"),
            Self::Switch { value } => write!(f, "{AMX_VARIABLE}: expected 0 or 1, found {value:?}"),
        }
    }
}

impl std::error::Error for TierError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_tier() {
        for tier in Tier::available() {
            assert_eq!(Tier::from_name(tier.name()), Ok(tier));
        }
        assert_eq!(Tier::available().last(), Some(&Tier::best()));
        assert_eq!(Tier::available()[0], Tier::PORTABLE);
        assert_eq!(Tier::available().len() + Tier::missing().len(), NAMES.len());
    }

    #[test]
    fn features_and_tokens_agree() {
        let by_features = Features::of_this_machine().tiers();
        let by_tokens: Vec<_> = NAMES.into_iter().filter(|name| Tier::with_token(name).is_some()).collect();
        assert_eq!(by_features, by_tokens);
    }

    #[test]
    fn an_unknown_tier_lists_those_there_are() {
        let error = Tier::from_name("avx9").unwrap_err();
        assert_eq!(error.to_string(), format!("no tier is called \"avx9\": there are {}", NAMES.join(", ")));
    }
}

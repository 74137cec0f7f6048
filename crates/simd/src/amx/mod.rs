//! [`Amx`]: products of int8 by the tiles of AMX, beside a tier, for W4A8 and per-channel int4.
//!
//! An accelerator and no tier: it multiplies many tokens at once, and leaves single ones, floats and all other kernels to the tier that it is given to
//! ([`Tier::with_amx`](crate::Tier::with_amx)). Its sums are the same whole numbers, so results have the same bits.
//!
//! Nothing uses it by itself. The operating system has to be asked for the tiles, which grow what it saves of each thread by 8 KiB; and processors that are
//! emulated have been seen to run the instructions otherwise than they are defined. [`Amx::enable`] asks and tries.

#[cfg(target_arch = "x86_64")]
mod int4;
mod machine;
#[cfg(target_arch = "x86_64")]
mod tiles;
#[cfg(target_arch = "x86_64")]
mod w4a8;

use std::fmt;
use std::sync::OnceLock;

use keepq_tinygemm::select::PathKind;

use crate::Tier;

#[cfg(target_arch = "x86_64")]
pub(crate) use int4::strip as int4;
pub(crate) use machine::has_instructions;
#[cfg(target_arch = "x86_64")]
pub(crate) use w4a8::strip as w4a8;

/// AMX's tiles and products of int8, proven to be usable by this process: a value exists only after [`Amx::enable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amx(());

/// What came of asking for it, once for the process.
static ENABLED: OnceLock<Result<Amx, AmxError>> = OnceLock::new();

impl Amx {
    /// Tokens from which products by tiles cost less than those of AVX-512, by the instructions that both take; not measured.
    pub const TOKENS: usize = 8;

    /// The paths that have kernels of it.
    pub const PATHS: [PathKind; 2] = [PathKind::W4A8, PathKind::Int4];

    /// Asks the operating system for the tiles, and compares the kernels' results with the definitions. What is found is kept: later calls ask no more.
    ///
    /// ```
    /// use keepq_simd::{Amx, Tier};
    ///
    /// let tier = match Amx::enable() {
    ///     Ok(amx) => Tier::best().with_amx(amx),
    ///     Err(why) => {
    ///         println!("without AMX: {why}");
    ///         Tier::best()
    ///     }
    /// };
    /// ```
    ///
    /// # Errors
    /// [`AmxError`]; then the tier is the next best path.
    pub fn enable() -> Result<Self, AmxError> {
        *ENABLED.get_or_init(|| {
            if !machine::has_instructions() {
                return Err(AmxError::NotHere);
            }
            if !machine::is_permitted() {
                return Err(AmxError::Refused);
            }
            let amx = Self(());
            let tier = Tier::best().with_amx(amx);
            if Self::PATHS.into_iter().all(|path| tier.self_test(path)) { Ok(amx) } else { Err(AmxError::SelfTest) }
        })
    }

    /// What [`Amx::enable`] answered, where it was called.
    #[must_use]
    pub fn asked() -> Option<Result<Self, AmxError>> {
        ENABLED.get().copied()
    }

    /// AMX on the caller's word, untried.
    ///
    /// # Safety
    /// The instructions of AMX-TILE and AMX-INT8 can be executed in this process, with the first palette: by the processor, with the operating
    /// system's permission, or by whoever handles the signal that they raise.
    #[must_use]
    pub const unsafe fn assume() -> Self {
        Self(())
    }
}

/// Why AMX cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmxError {
    /// The processor lacks the instructions, or has tiles of another size, or the operating system does not save them.
    NotHere,
    /// The operating system does not give this process the tiles.
    Refused,
    /// The instructions compute something else than they should.
    SelfTest,
}

impl fmt::Display for AmxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotHere => "amx: this machine lacks its tiles of int8",
            Self::Refused => "amx: the operating system refuses the tiles to this process",
            Self::SelfTest => "amx: the self-test failed: tiles compute other sums than they should",
        })
    }
}

impl std::error::Error for AmxError {}

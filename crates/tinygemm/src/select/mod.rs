//! Which 4-bit path to take: a pure function of a described machine, a policy, what the checkpoint holds and its configuration.
//!
//! | policy | the path that comes first | where it cannot be taken |
//! |---|---|---|
//! | [`Speed`](Policy::Speed) | W4A8 by the fastest usable kernels | W4A16 |
//! | [`Fidelity`](Policy::Fidelity) | W4A16 | W4A8 |
//! | [`Upstream`](Policy::Upstream) | W4A8 where AMX is usable, else W4A16 | W4A16 |
//! | [`Named`](Policy::Named) | that path | an error |
//!
//! Kernels are *usable* where the processor has their instructions, the operating system permits their registers, and a self-test found the
//! bits of the definition ([`Kernels::usable`]). None of the three is enough.
//!
//! * No policy quantizes again what is quantized already ([`Fit`]): W4A8 cannot hold the real offsets of a `cpu_int4` checkpoint, so that `Speed` takes W4A16 for it.
//!   A path that is named does, and says so.
//! * The fallback is taken where it is named, and never else.
//! * Per-channel int4 is taken where it is named, or for speed where weights are stored so and both of its gates are recorded as passed:
//!   it is faster than int8 by the kernels at hand, and good enough for the model.
//! * W4A16 has the layout that weights are stored in. Others are packed in [`LAYOUT`], so that results are the same on every
//!   machine; [`Policy::Upstream`] packs as PyTorch does on the machine.
//!
//! ```
//! use keepq_tinygemm::select::{
//!     Accelerator, Config, Device, Kernels, Permission, Policy, SelfTest, SelfTests, Stored, select,
//! };
//!
//! let kernels = |accelerator, w4a8| Kernels {
//!     accelerator,
//!     permission: Permission::NotNeeded,
//!     self_tests: SelfTests { w4a8, ..SelfTests::all(SelfTest::Passed) },
//!     int4_speed: false,
//! };
//! let device = Device {
//!     kernels: vec![
//!         kernels(Accelerator::Portable, SelfTest::Passed),
//!         kernels(Accelerator::Avx2, SelfTest::Passed),
//!         kernels(Accelerator::Avx512Vnni, SelfTest::Failed),
//!     ],
//!     int4_quality: false,
//! };
//! let selection = select(&device, Policy::Speed, &Stored::ZERO_POINTS, &Config::default())?;
//! assert_eq!(
//!     selection.to_string(),
//!     "w4a8 on x86-64-v3: int8 activations are the fastest; weights as stored; not x86-64-v4-vnni (self-test failed)"
//! );
//! # Ok::<(), keepq_tinygemm::select::SelectError>(())
//! ```

mod accelerator;
mod config;
mod device;
mod path;
mod policy;
mod selection;
mod stored;

use alloc::vec::Vec;

pub use accelerator::Accelerator;
pub use config::Config;
pub use device::{Device, Kernels, PassedOver, Permission, SelfTest, SelfTests, Unusable};
pub use path::{Path, PathKind};
pub use policy::Policy;
pub use selection::{Because, Reason, SelectError, Selection};
pub use stored::{Fit, Stored};

use crate::w4a16::Layout;

/// The layout that W4A16 weights are packed in where nothing asks for another: its blocks are the rows that kernels take at once.
pub const LAYOUT: Layout = Layout::Avx2;

/// Chooses a path.
///
/// # Errors
/// [`SelectError::Group`] of the configuration. Of a path that is named, and of the last one that a policy would take, [`SelectError::Impossible`] and
/// [`SelectError::NoKernels`]; [`SelectError::QuantizedAgain`] of policies alone.
pub fn select(device: &Device, policy: Policy, stored: &Stored, config: &Config) -> Result<Selection, SelectError> {
    config.check()?;
    let choice = Choice { device, policy, stored, config };
    match policy {
        Policy::Named(path) => choice.named(path),
        Policy::Speed => match choice.int4() {
            Some(selection) => Ok(selection),
            None => choice.either([PathKind::W4A8, PathKind::W4A16], Reason::Int8),
        },
        Policy::Fidelity => choice.either([PathKind::W4A16, PathKind::W4A8], Reason::Bf16),
        Policy::Upstream => choice.upstream(),
    }
}

/// What a path is chosen by.
#[derive(Clone, Copy)]
struct Choice<'a> {
    device: &'a Device,
    policy: Policy,
    stored: &'a Stored,
    config: &'a Config,
}

impl Choice<'_> {
    fn named(self, path: PathKind) -> Result<Selection, SelectError> {
        if self.stored.fit(path) == Fit::Impossible {
            return Err(SelectError::Impossible { path });
        }
        let (kernels, passed_over) = self.best(path);
        let Some(kernels) = kernels else { return Err(SelectError::NoKernels { path, passed_over }) };
        let gated = path != PathKind::Int4 || kernels.int4_speed && self.device.int4_quality;
        let reason = if gated { Reason::Named } else { Reason::NamedWithoutGates };
        Ok(self.selection(path, kernels, passed_over, reason))
    }

    /// Per-channel int4, where it may be taken by itself.
    fn int4(self) -> Option<Selection> {
        let (Some(kernels), passed_over) = self.best(PathKind::Int4) else { return None };
        let chosen = self.stored.int4 == Fit::Exact && kernels.int4_speed && self.device.int4_quality;
        chosen.then(|| self.selection(PathKind::Int4, kernels, passed_over, Reason::StoredInt4))
    }

    /// The first path, or the second and why.
    fn either(self, [first, second]: [PathKind; 2], reason: Reason) -> Result<Selection, SelectError> {
        match self.fair(first, reason) {
            Ok(selection) => Ok(selection),
            Err(because) => self.instead(first, because, second),
        }
    }

    fn upstream(self) -> Result<Selection, SelectError> {
        let best = self.best(PathKind::W4A8).0.map(|kernels| kernels.accelerator);
        if best == Some(Accelerator::Amx) {
            return self.either([PathKind::W4A8, PathKind::W4A16], Reason::AmxUsable);
        }
        self.fair(PathKind::W4A16, Reason::NoAmx).map_err(|because| self.error(PathKind::W4A16, because))
    }

    fn instead(self, of: PathKind, because: Because, path: PathKind) -> Result<Selection, SelectError> {
        self.fair(path, Reason::Instead { of, because }).map_err(|why| self.error(path, why))
    }

    /// A path that nobody named.
    fn fair(self, path: PathKind, reason: Reason) -> Result<Selection, Because> {
        match self.stored.fit(path) {
            Fit::Impossible => return Err(Because::Impossible),
            fit if !fit.is_fair() => return Err(Because::QuantizedAgain),
            _ => {}
        }
        let (Some(kernels), passed_over) = self.best(path) else { return Err(Because::NoKernels) };
        Ok(self.selection(path, kernels, passed_over, reason))
    }

    fn error(self, path: PathKind, because: Because) -> SelectError {
        match because {
            Because::NoKernels => SelectError::NoKernels { path, passed_over: self.best(path).1 },
            Because::QuantizedAgain => SelectError::QuantizedAgain,
            Because::Impossible => SelectError::Impossible { path },
        }
    }

    fn best(&self, path: PathKind) -> (Option<&Kernels>, Vec<PassedOver>) {
        self.device.best(path, self.config.use_custom_op)
    }

    fn selection(&self, kind: PathKind, kernels: &Kernels, passed_over: Vec<PassedOver>, reason: Reason) -> Selection {
        let accelerator = kernels.accelerator;
        let path = match kind {
            PathKind::W4A16 => Path::W4A16 { layout: self.layout(), accelerator },
            PathKind::W4A8 => Path::W4A8 { accelerator },
            PathKind::Int4 => Path::Int4 { accelerator },
            PathKind::Fallback => Path::Fallback { accelerator },
        };
        Selection { path, reason, fit: self.stored.fit(kind), passed_over }
    }

    fn layout(&self) -> Layout {
        let packs = match self.policy {
            Policy::Upstream => upstream_layout(self.device),
            Policy::Speed | Policy::Fidelity | Policy::Named(_) => LAYOUT,
        };
        self.stored.layout.unwrap_or(packs)
    }
}

/// The layout that PyTorch's packer makes on a machine: by what its processor has, whatever it is multiplied by.
fn upstream_layout(device: &Device) -> Layout {
    let has = |least: Accelerator| device.kernels.iter().any(|kernels| kernels.accelerator >= least);
    match () {
        () if has(Accelerator::Avx512) => Layout::Avx512,
        () if has(Accelerator::Avx2) => Layout::Avx2,
        () => Layout::Scalar,
    }
}

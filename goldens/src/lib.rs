//! **Invariant: no file is read and no network used to run a case; what a golden is, the crates that it tests do not say.**
//!
//! Golden cases as data and as code, so that the same parity runs in `cargo xtask parity`, in `cargo test`, and in a
//! static test binary on an emulated machine. A [`Case`] computes its bytes in two ways: [`Case::run`] by the
//! project's crates on one tier and so many threads, and [`Case::bless`] by a second, naive implementation
//! ([`naive`]), written from docs/NUMERICS.md alone. The MD5s in `goldens/MD5SUMS` are the second one's; only for the bytes
//! that the searches of K-quants' encoders find are they ggml's ([`Blessing`]):
//!
//! ```
//! use keepq_simd::Tier;
//!
//! let sums = keepq_goldens::Sums::stored();
//! let case = &keepq_goldens::cases()[0];
//! let golden = sums.get(case.name()).expect("every case has a golden");
//! assert_eq!(case.run(Tier::best(), 1).md5(), golden);
//! ```
//!
//! The naive implementation in turn is held against ggml's own results ([`foreign`]): byte for byte where ggml defines
//! the bytes, within docs/NUMERICS.md's bounds of a float64 reference ([`Reference`]) where it does not.
#![forbid(unsafe_code)]

mod case;
mod cases;
pub mod foreign;
pub mod inputs;
pub mod naive;
mod output;
mod reference;
mod sums;
mod tiers;

pub use case::{Blessing, Case};
pub use cases::{cases, fresh_cases};
pub use output::Output;
pub use reference::Reference;
pub use sums::Sums;
pub use tiers::{is_quick, tested_tiers};

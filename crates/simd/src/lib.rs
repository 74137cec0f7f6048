//! **Invariant: the only crate that may name `core::arch`; every tier is public and can be called directly; all tiers give the same bits.**
//!
//! A *tier* is one instruction set's kernels. This crate finds out at run time which tiers the machine has
//! ([`Tier::available`]), and runs the bodies of `keepq-dot` compiled for one of them. Nothing is chosen at compile
//! time: a baseline build runs every tier that it finds.
//!
//! ```
//! use keepq_simd::Tier;
//!
//! for tier in Tier::available() {
//!     println!("{tier}"); // portable is always among them
//! }
//! assert!(Tier::available().contains(&Tier::best()));
//! ```
//!
//! `x86-64-v3` gives the bodies its own operations on eight lanes ([`keepq_dot::Target`]): products of bytes, shuffles,
//! fused multiply-add, conversion from binary16. The tiers above it have them too: `x86-64-v3-avxvnni` adds products of bytes up in
//! 32 bits (`vpdpbusd`), `x86-64-v4` has twice as many registers, and `x86-64-v4-vnni` has both. On AArch64 `neon` has operations of its own, in two
//! registers of 128 bits, `neon-dotprod` adds products up in 32 bits (`sdot`), and `neon-i8mm` those of two tokens by two rows (`smmla`). Which of
//! them a machine has follows from its [`Features`].
//!
//! The bodies of the 4-bit paths of `keepq-tinygemm` are here, written once over the same operations: [`Tier::w4a16_strip`],
//! [`Tier::w4a8_strip`], [`Tier::int4_strip`] and [`Tier::wna16_strip`]. A tier may have [`Amx`] beside it, for two of them. [`probe`] describes the machine to the selector of these paths.
#![deny(unsafe_code)]
#![allow(
    clippy::needless_range_loop,
    reason = "lanes of several arrays move together; iterators hide that from the compiler too"
)]

#[allow(
    unsafe_code,
    reason = "Rust has no stable functions of AMX: its instructions, and what is asked of the processor and of Linux, are inline assembly"
)]
mod amx;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod body;
mod by_floats;
mod features;
mod int4;
mod int8;
#[cfg(target_arch = "aarch64")]
#[allow(
    unsafe_code,
    reason = "pulp's macro makes the token's constructors, which are unsafe inside; conversions of binary16, hints and a place in code \
              that sums are not moved across are inline assembly"
)]
mod neon;
#[cfg(target_arch = "aarch64")]
#[allow(
    unsafe_code,
    reason = "as in neon: products of bytes are inline assembly, for which Rust has no stable function"
)]
mod neon_dotprod;
#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code, reason = "as in neon_dotprod")]
mod neon_i8mm;
#[cfg(target_arch = "aarch64")]
mod over_neon;
#[cfg(target_arch = "x86_64")]
mod over_v3;
mod probe;
mod self_test;
mod tier;
mod w4a8;
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "pulp's macro makes the token's constructors, which are unsafe inside; what it lacks is called directly: a conversion, \
              and a place in code that sums are not moved across"
)]
mod x86_64_v3;
#[cfg(target_arch = "x86_64")]
#[allow(
    unsafe_code,
    reason = "pulp has no token of AVX-VNNI: this one's own way into code that is compiled for it, and its products"
)]
mod x86_64_v3_avxvnni;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "pulp's macro, as in x86_64_v3")]
mod x86_64_v4;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "as in x86_64_v3: pulp lacks the products of VNNI")]
mod x86_64_v4_vnni;

pub use amx::{Amx, AmxError};
pub use features::Features;
pub use probe::probe;
pub use tier::{Tier, TierError};

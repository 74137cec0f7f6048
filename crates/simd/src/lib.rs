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
//! fused multiply-add, conversion from binary16. `x86-64-v4-vnni` has them too, with twice as many registers, and adds products of bytes up in
//! 32 bits (`vpdpbusd`), also in registers of 256 bits.
//!
//! The bodies of the 4-bit paths of `keepq-tinygemm` are here, written once over the same operations: [`Tier::w4a16_strip`],
//! [`Tier::w4a8_strip`], [`Tier::int4_strip`] and [`Tier::wna16_strip`]. [`probe`] describes the machine to the selector of these paths.
#![deny(unsafe_code)]
#![allow(
    clippy::needless_range_loop,
    reason = "lanes of several arrays move together; iterators hide that from the compiler too"
)]

mod by_floats;
mod int4;
mod int8;
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
#[allow(unsafe_code, reason = "as in x86_64_v3: pulp lacks the products of VNNI")]
mod x86_64_v4_vnni;

pub use probe::probe;
pub use tier::{Tier, TierError};

//! The 4-bit paths in the driver: bits for any m, thread count and tier, copies and what they are reported as, refusals, allocations.

mod bit_equality;
mod copies;
mod held;
mod refusals;
mod weights;

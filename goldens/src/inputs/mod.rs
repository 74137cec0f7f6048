//! What golden cases are made from: seeded data with names, and rows cut from a real model.

mod floats;
mod random;
mod real;
mod weights;

pub use floats::{Floats, fresh_rows};
pub use random::Random;
pub use real::{real_rows, real_tokens, real_weights};
pub use weights::Weights;

//! The commands, one file each.

pub(crate) mod api;
pub(crate) mod bench;
pub(crate) mod emulate;
pub(crate) mod excuse;
pub(crate) mod fidelity;
pub(crate) mod forced_logits;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod instructions;
pub(crate) mod matrix;
pub(crate) mod model;
pub(crate) mod mutate;
pub(crate) mod parity;
pub(crate) mod quantize;
pub(crate) mod sanitize;
pub(crate) mod throughput;
pub(crate) mod token_oracle;
pub(crate) mod tokens;
pub(crate) mod verify;

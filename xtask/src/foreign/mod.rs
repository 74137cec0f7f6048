//! Foreign libraries, opened at run time: the only `unsafe` of xtask.
//!
//! Nothing here is linked: a command that wants an oracle or a peer is given a folder of shared
//! libraries and opens them. Everything that leaves this module is safe to call, and a library of
//! another layout than the one written down here is refused before its results are used.

pub(crate) mod ggml;
pub(crate) mod llama;

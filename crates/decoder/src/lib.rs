//! decoder

//! goldens

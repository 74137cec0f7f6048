//! [`Config`]: the keys that say how 4-bit weights are made and multiplied.

use core::fmt;

use alloc::format;
use alloc::string::String;

use super::{Path, SelectError};
use crate::is_group;

/// The keys of a `cpu_int4` checkpoint's configuration, by their names there and with PyTorch's defaults.
///
/// All of them are part of the hash and of the [name of what is cached](Self::cache_name): results of one configuration are never taken for
/// those of another, even where only the way to them differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Codes of a row that share a scale: 32, 64, 128 or 256.
    pub group_size: usize,
    /// Whether the embedding, and the head that is tied to it, are quantized too. A head of bf16 takes more than the rest saves.
    pub quantize_embedding: bool,
    /// Whether W4A16 decodes weights into panels of floats for many tokens; `false`: codes are decoded where they lie for any number.
    pub prefill_dequant: bool,
    /// Whether panels are decoded from the packed codes; `false`: from a row-major copy that is kept beside them.
    pub direct_dequant: bool,
    /// Tokens from which panels are decoded. `keepq_simd::Tier::DEQUANT_THRESHOLD` is the faster choice by measurement; results do not depend
    /// on it.
    pub dequant_threshold: usize,
    /// Whether kernels of an instruction set may be used. PyTorch calls its operators of custom C++ for `true` and plain ones otherwise; here
    /// `false` means the plain loops that define each path: only [portable](super::Accelerator::Portable) kernels, with the same bits.
    pub use_custom_op: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group_size: 64,
            quantize_embedding: true,
            prefill_dequant: true,
            direct_dequant: true,
            dequant_threshold: 2,
            use_custom_op: true,
        }
    }
}

impl Config {
    /// The name of what is made of a checkpoint for a path: its bytes' name, then all keys. Two paths, layouts or configurations have no name in
    /// common. It is made of letters, digits, `-` and `.`.
    ///
    /// ```
    /// use keepq_tinygemm::select::{Accelerator, Config, Path};
    ///
    /// let path = Path::W4A8 { accelerator: Accelerator::Avx2 };
    /// assert_eq!(Config::default().cache_name(path), "w4a8.group-64.embedding-1.prefill-1.direct-1.threshold-2.custom-1");
    /// ```
    #[must_use]
    pub fn cache_name(&self, path: Path) -> String {
        format!("{}.{self}", path.bytes_name())
    }

    /// That the group is one that the formats know.
    pub(super) const fn check(&self) -> Result<(), SelectError> {
        let group_size = self.group_size;
        if is_group(group_size, group_size) { Ok(()) } else { Err(SelectError::Group { group_size }) }
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Each key by its name: one that is added is missed here by the compiler.
        let Self { group_size, quantize_embedding, prefill_dequant, direct_dequant, dequant_threshold, use_custom_op } =
            *self;
        write!(
            f,
            "group-{group_size}.embedding-{}.prefill-{}.direct-{}.threshold-{dequant_threshold}.custom-{}",
            u8::from(quantize_embedding),
            u8::from(prefill_dequant),
            u8::from(direct_dequant),
            u8::from(use_custom_op)
        )
    }
}

//! llama.cpp's own quantization of a file.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::abi::QuantizeParams;
use super::{Llama, c_path, log};

impl Llama {
    /// Writes `from` to `out` with all matrices that llama.cpp quantizes in one type, as `llama-quantize --pure
    /// --allow-requantize` does, on one thread. `file_type` is a number of `enum llama_ftype`.
    ///
    /// Where this fails, a part of `out` is left.
    ///
    /// # Errors
    ///
    /// Parameters of another layout, and what llama.cpp refuses.
    pub(crate) fn quantize(&self, from: &Path, out: &Path, file_type: u32) -> Result<()> {
        // llama.cpp's own message for a missing file is long and does not say so.
        std::fs::File::open(from).with_context(|| from.display().to_string())?;
        let (from_path, out_path) = (c_path(from)?, c_path(out)?);
        // SAFETY: the function returns the struct's defaults by value.
        let defaults = unsafe { QuantizeParams::defaults(self.functions.llama_model_quantize_default_params) };
        let params = QuantizeParams {
            nthread: 1,
            ftype: file_type.try_into()?,
            allow_requantize: 1,
            pure: 1,
            ..defaults.context("llama_model_quantize_params has another layout than in llama.cpp 0.4 and 0.5")?
        };
        // SAFETY: the paths are C strings, and `params` has the library's layout and outlives the call, which only reads it.
        let status =
            unsafe { (self.functions.llama_model_quantize)(from_path.as_ptr(), out_path.as_ptr(), &raw const params) };
        if status != 0 {
            bail!("{}: llama.cpp cannot quantize it: {}", from.display(), log::take_errors("no reason given"));
        }
        Ok(())
    }
}

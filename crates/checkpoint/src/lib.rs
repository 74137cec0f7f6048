//! **Invariant: no kernel and no threads; hostile bytes give an error, never a panic.**
//!
//! Checkpoints of 4-bit weights beside GGUF: folders with safetensors files and a `config.json`. This crate reads the forms that are published
//! and those that are packed for kernels, converts each weight for the path that it is to be multiplied by, and makes such
//! tensors of floats.
//!
//! | `quant_method` | a weight's tensors | read as |
//! |---|---|---|
//! | none | `weight`: F32, F16, BF16 | [`Form::Float`] |
//! | `gptq`, v1 and v2 | `qweight`, `qzeros`, `scales`, `g_idx` | [`gptq::Weights`] |
//! | `awq`, version gemm | `qweight`, `qzeros`, `scales` | [`awq::Weights`] |
//! | `cpu_int4` | `weight_packed`, `weight_scale`, `weight_zero` | [`Form::CpuInt4`] |
//! | `w4a8` | `weight_packed`, `weight_scale`, `weight_zero`, in the order of its records | [`Form::W4A8`] |
//! | `int4` | `weight_packed`, `weight_scale` | [`Form::Int4`] |
//!
//! A [`Checkpoint`] borrows from [`CheckpointFiles`], which are mapped or read; a [`Linear`] is the weights of a layer where they lie. Conversions work
//! a few rows at a time: beside the result nothing of a weight's size is allocated.
//!
//! ```
//! use keepq_checkpoint::CheckpointFiles;
//! use keepq_gguf::Source;
//! use keepq_tinygemm::select::Fit;
//! use keepq_tinygemm::w4a16::Layout;
//! use safetensors::{Dtype, tensor::TensorView};
//!
//! // A weight [32, 32] of zeros in the form of GPTQ, one group a row.
//! let folder = tempfile::tempdir()?;
//! let config = r#"{"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true}}"#;
//! std::fs::write(folder.path().join("config.json"), config)?;
//! let (codes, zeros, scales) = ([0x88; 512], [0x77; 16], [0; 64]);
//! let tensors = [
//!     ("up.qweight", TensorView::new(Dtype::I32, vec![4, 32], &codes)?),
//!     ("up.qzeros", TensorView::new(Dtype::I32, vec![1, 4], &zeros)?),
//!     ("up.scales", TensorView::new(Dtype::F16, vec![1, 32], &scales)?),
//! ];
//! safetensors::serialize_to_file(tensors, None, &folder.path().join("model.safetensors"))?;
//!
//! let files = CheckpointFiles::open(folder.path(), |path| Source::map(path))?;
//! let checkpoint = files.parse()?;
//! let up = checkpoint.linear("up", (32, 32))?;
//! let packed = up.to_w4a16(Layout::Avx2, 64)?;
//! assert_eq!((packed.fit, packed.weights.view().group()), (Fit::Exact, 32));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Damaged checkpoints
//!
//! Every fault is a [`CheckpointError`] that names the file, the key or the tensor, what was expected and what was found. Headers are
//! checked by the `safetensors` crate: their tensors lie in the file, one behind the other. Scales that are not finite are found when
//! a weight is converted.
#![forbid(unsafe_code)]

pub mod awq;
mod checkpoint;
mod convert;
mod error;
mod files;
pub mod gptq;
mod linear;
mod quantization;
mod recipe;
mod search;
mod tensor;

pub use checkpoint::Checkpoint;
pub use convert::Converted;
pub use error::CheckpointError;
pub use files::{CONFIG_FILE, CheckpointFiles, INDEX_FILE, MODEL_FILE};
pub use linear::{Form, Linear};
pub(crate) use quantization::QUANTIZATION_KEY;
pub use quantization::{Method, Quantization, ZeroPoints};
pub use recipe::{Part, Recipe, RowFault, Scales};
pub use search::{Scheme, Storage};
pub use tensor::Tensor;

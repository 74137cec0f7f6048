//! Peers that a Python has, by scripts in benches/: ONNX Runtime's `MatMulNBits`, and PyTorch's int4pack and f32.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use keepq_blocks::GgmlType;

use super::case::Type;
use super::peer_process::PeerProcess;

/// Starts ONNX Runtime; none where this Python lacks `onnxruntime`, `onnx` or `numpy`.
///
/// # Errors
/// No such Python.
pub(super) fn onnxruntime(python: &OsStr) -> Result<Option<PeerProcess>> {
    start("onnxruntime", python, "onnxruntime_matmul.py")
}

/// Whether ONNX Runtime has something like this type.
pub(super) const fn onnxruntime_multiplies(ty: Type) -> bool {
    matches!(ty, Type::Blocks(GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q4_K) | Type::FourBit(_))
}

/// Starts PyTorch; none where this Python lacks `torch` or `numpy`.
///
/// # Errors
/// No such Python.
pub(super) fn torch(python: &OsStr) -> Result<Option<PeerProcess>> {
    start("torch", python, "torch_int4.py")
}

/// Whether PyTorch has something like this type.
pub(super) const fn torch_multiplies(ty: Type) -> bool {
    matches!(ty, Type::FourBit(_))
}

fn start(name: &str, python: &OsStr, script: &str) -> Result<Option<PeerProcess>> {
    // Without the bytecode of the module that the scripts share, which would lie among the sources.
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("benches").join(script);
    PeerProcess::start_told(name, &python.to_string_lossy(), Command::new(python).arg("-B").arg(script))
}

//! ONNX Runtime's `MatMulNBits` beside us, by a Python that has it: benches/onnxruntime_matmul.py.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use keepq_blocks::GgmlType;

use super::peer_process::PeerProcess;

/// Starts the script.
///
/// # Errors
/// No such Python, or one without `onnxruntime`, `onnx` or `numpy`.
pub(super) fn start(python: &OsStr) -> Result<PeerProcess> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("benches").join("onnxruntime_matmul.py");
    PeerProcess::start_told("onnxruntime", &python.to_string_lossy(), Command::new(python).arg(script))
}

/// Whether it has something like this type.
pub(super) fn multiplies(ty: GgmlType) -> bool {
    matches!(ty, GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q4_K)
}

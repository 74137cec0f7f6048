//! ONNX Runtime's `MatMulNBits` beside us, by a Python that has it: benches/onnxruntime_matmul.py.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use keepq_blocks::{GgmlType, Matrix};
use serde::Deserialize;
use tempfile::TempDir;

use super::agreement;
use super::case::Case;
use super::operands::Operands;
use super::peer_process::{Data, PeerProcess, Program};

/// What the script says of itself, first of all.
#[derive(Deserialize)]
struct Hello {
    version: String,
    about: String,
}

/// The script's process, and the files by which it gets its operands.
pub(super) struct OnnxRuntime {
    pub(super) process: PeerProcess,
    files: TempDir,
}

impl OnnxRuntime {
    /// Starts the script.
    ///
    /// # Errors
    /// No such Python, or one without `onnxruntime`, `onnx` or `numpy`.
    pub(super) fn start(python: &OsStr) -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("benches").join("onnxruntime_matmul.py");
        let path = python.to_string_lossy().into_owned();
        let program = Program { name: "onnxruntime".to_owned(), version: String::new(), path, about: String::new() };
        let mut process = PeerProcess::start(Command::new(python).arg(script), program)?;
        let Hello { version, about } = process.answer()?;
        process.program.name = format!("onnxruntime {version}");
        process.program.version = version;
        process.program.about = about;
        Ok(Self { process, files: tempfile::tempdir().context("cannot make a temporary folder")? })
    }

    /// Whether it has something like this type.
    pub(super) fn multiplies(ty: GgmlType) -> bool {
        matches!(ty, GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q4_K)
    }

    /// Writes the operands to files.
    pub(super) fn data(&self, case: &Case, operands: &Operands) -> Result<Data> {
        let w = Matrix::new(case.ty, case.n, case.k, &operands.weights)?;
        let mut rows = vec![0.0; operands.distinct * case.k];
        for (row, out) in rows.chunks_exact_mut(case.k).enumerate() {
            w.decode_row(row, out)?;
        }
        let write = |name: &str, values: &[f32]| {
            let path = self.files.path().join(name);
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            fs::write(&path, bytes).with_context(|| path.display().to_string())?;
            Ok::<_, anyhow::Error>(path)
        };
        Ok(Data {
            rows: write("rows", &rows)?,
            x: write("x", &operands.x)?,
            copies: operands.copies,
            tokens: agreement::tokens(case),
        })
    }
}

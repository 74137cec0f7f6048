//! [`Data`]: operands in files, for programs that do not make them themselves.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use keepq_blocks::Matrix;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::agreement;
use super::case::Case;
use super::operands::Operands;

/// Where the operands of a case lie, and what is to be done with them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Data {
    /// The first rows of the weights, as blocks of their type; they repeat until there are n.
    pub(super) blocks: PathBuf,
    /// The same rows decoded, as little-endian f32.
    pub(super) rows: PathBuf,
    /// m rows of k, as little-endian f32.
    pub(super) x: PathBuf,
    /// How often the weights are to lie in memory.
    pub(super) copies: usize,
    /// The tokens whose outputs are compared.
    pub(super) tokens: Vec<usize>,
}

/// A folder for the files of one case at a time.
pub(super) struct DataFolder(TempDir);

impl DataFolder {
    pub(super) fn new() -> Result<Self> {
        Ok(Self(tempfile::tempdir().context("cannot make a temporary folder")?))
    }

    /// Writes the operands of a case in place of those of the case before.
    pub(super) fn write(&self, case: &Case, operands: &Operands) -> Result<Data> {
        let Operands { weights, distinct, x, copies } = operands;
        let w = Matrix::new(case.ty, case.n, case.k, weights)?;
        let mut rows = vec![0.0; distinct * case.k];
        for (row, out) in rows.chunks_exact_mut(case.k).enumerate() {
            w.decode_row(row, out)?;
        }
        let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
        Ok(Data {
            blocks: self.file("blocks", &weights[..weights.len() / case.n * distinct])?,
            rows: self.file("rows", &floats(&rows))?,
            x: self.file("x", &floats(x))?,
            copies: *copies,
            tokens: agreement::tokens(case),
        })
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;

    use super::*;

    #[test]
    fn blocks_and_rows_are_the_same_weights() {
        let case = Case { ty: GgmlType::Q8_0, n: 100, k: 64, m: 2, threads: 1 };
        let operands = Operands::of(&case).expect("whole blocks");
        let folder = DataFolder::new().expect("a folder");
        let data = folder.write(&case, &operands).expect("written files");
        let bytes = |path| fs::read(path).expect("a file");
        assert_eq!(bytes(&data.blocks), operands.weights[..61 * 68]);
        assert_eq!((bytes(&data.rows).len(), bytes(&data.x).len()), (61 * 64 * 4, 2 * 64 * 4));
        assert_eq!((data.copies, data.tokens), (1, vec![0, 1]));
        let mut first = [0.0; 64];
        Matrix::new(case.ty, 61, 64, &bytes(&data.blocks)).expect("rows").decode_row(0, &mut first).expect("a row");
        assert_eq!(bytes(&data.rows)[..4], first[0].to_le_bytes());
    }
}

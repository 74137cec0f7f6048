//! [`Data`]: operands in files, for programs that do not make them themselves.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use keepq_blocks::Matrix;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::agreement;
use super::case::Case;
use super::four_bit::Codes;
use super::operands::Operands;

/// Where the operands of a case lie, and what is to be done with them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Data {
    /// The first rows of the weights, as blocks of their type, if that has blocks; they repeat until there are n.
    pub(super) blocks: Option<PathBuf>,
    /// The same rows as codes, if they are of a 4-bit path.
    pub(super) codes: Option<CodeFiles>,
    /// The same rows decoded, as little-endian f32.
    pub(super) rows: PathBuf,
    /// m rows of k, as little-endian f32.
    pub(super) x: PathBuf,
    /// How often the weights are to lie in memory.
    pub(super) copies: usize,
    /// The tokens whose outputs are compared.
    pub(super) tokens: Vec<usize>,
}

/// Rows of codes in files.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct CodeFiles {
    /// Codes that share a scale.
    pub(super) group: usize,
    /// A byte each, row by row.
    pub(super) codes: PathBuf,
    /// Row by row, the scale and the offset of each group, as little-endian bf16: `w = (code - 8) * scale + offset`.
    pub(super) scales: PathBuf,
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
        let w = Matrix::new(case.ty.blocks()?, case.n, case.k, weights)?;
        let mut rows = vec![0.0; distinct * case.k];
        for (row, out) in rows.chunks_exact_mut(case.k).enumerate() {
            w.decode_row(row, out)?;
        }
        Ok(Data {
            blocks: Some(self.file("blocks", &weights[..weights.len() / case.n * distinct])?),
            codes: None,
            rows: self.floats("rows", &rows)?,
            x: self.floats("x", x)?,
            copies: *copies,
            tokens: agreement::tokens(case),
        })
    }

    /// The same of a case of a 4-bit path.
    pub(super) fn write_codes(&self, case: &Case, codes: &Codes) -> Result<Data> {
        let scales: Vec<_> = codes.scales.as_flattened().iter().flat_map(|scale| scale.to_le_bytes()).collect();
        Ok(Data {
            blocks: None,
            codes: Some(CodeFiles {
                group: codes.group,
                codes: self.file("codes", &codes.codes)?,
                scales: self.file("scales", &scales)?,
            }),
            rows: self.floats("rows", &codes.rows())?,
            x: self.floats("x", &codes.x)?,
            copies: 1,
            tokens: agreement::tokens(case),
        })
    }

    fn floats(&self, name: &str, values: &[f32]) -> Result<PathBuf> {
        self.file(name, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;
    use keepq_blocks::GgmlType;

    use super::super::case::Type;
    use keepq_tinygemm::select::PathKind;

    use super::super::four_bit::FourBit;
    use super::*;

    #[test]
    fn blocks_and_rows_are_the_same_weights() {
        let case = Case { ty: GgmlType::Q8_0.into(), n: 100, k: 64, m: 2, threads: 1 };
        let operands = Operands::of(&case).expect("whole blocks");
        let folder = DataFolder::new().expect("a folder");
        let data = folder.write(&case, &operands).expect("written files");
        let bytes = |path| fs::read(path).expect("a file");
        let blocks = bytes(data.blocks.as_ref().expect("blocks"));
        assert_eq!(blocks, operands.weights[..61 * 68]);
        assert_eq!((bytes(&data.rows).len(), bytes(&data.x).len()), (61 * 64 * 4, 2 * 64 * 4));
        assert_eq!((data.copies, data.tokens), (1, vec![0, 1]));
        let mut first = [0.0; 64];
        Matrix::new(GgmlType::Q8_0, 61, 64, &blocks).expect("rows").decode_row(0, &mut first).expect("a row");
        assert_eq!(bytes(&data.rows)[..4], first[0].to_le_bytes());
    }

    #[test]
    fn codes_and_rows_are_the_same_weights() {
        let four_bit = FourBit { path: PathKind::W4A16, group: 32 };
        let case = Case { ty: Type::FourBit(four_bit), n: 16, k: 64, m: 2, threads: 1 };
        let operands = Codes::of(&case, four_bit);
        let folder = DataFolder::new().expect("a folder");
        let data = folder.write_codes(&case, &operands).expect("written files");
        let bytes = |path| fs::read(path).expect("a file");
        let CodeFiles { group, codes, scales } = data.codes.expect("codes");
        let (codes, scales) = (bytes(&codes), bytes(&scales));
        assert_eq!((group, codes.len(), scales.len(), data.copies), (32, 16 * 64, 16 * 2 * 4, 1));
        let [scale, offset] = [0, 2].map(|at| bf16::from_le_bytes([scales[at], scales[at + 1]]).to_f32());
        assert_eq!(bytes(&data.rows)[..4], ((f32::from(codes[0]) - 8.0) * scale + offset).to_le_bytes());
    }
}

//! What other implementations produced from the same inputs, stored beside the goldens.
//!
//! `goldens/foreign/` holds the MD5s of ggml's bytes and floats, the dots of two of its builds, its table of types and
//! the one of the Python package `gguf`. Only `cargo xtask parity --oracle DIR --bless` changes the first three.

mod check;
mod types;

use keepq_blocks::GgmlType;

use crate::Sums;
use crate::naive::NaiveType;

pub use types::{TypeRow, gguf_types};

/// A case's question, put to ggml.
#[derive(Clone, Copy, Debug)]
pub enum ForeignInput<'a> {
    /// What does this become? All builds answer alike.
    Conversion(Conversion<'a>),
    /// What are the dots of all rows, for each token, by `ggml_vec_dot_<type>_<its activations>`?
    Dot {
        /// The type.
        ty: &'static NaiveType,
        /// Rows of weights.
        rows: &'a [Vec<u8>],
        /// Activations, which ggml quantizes.
        tokens: &'a [Vec<f32>],
    },
}

/// Elements to bytes, or bytes to elements.
#[derive(Clone, Copy, Debug)]
pub enum Conversion<'a> {
    /// The bytes that `quantize_row_<type>_ref` writes.
    Encode {
        /// The type.
        ty: GgmlType,
        /// The elements.
        x: &'a [f32],
    },
    /// The floats that `dequantize_row_<type>` writes.
    Decode {
        /// The type.
        ty: GgmlType,
        /// The blocks.
        bytes: &'a [u8],
        /// How many elements they have.
        elements: usize,
    },
}

/// The builds of ggml whose dots are stored: plain SSE2 code, and AVX2 with FMA.
pub const VARIANTS: [&str; 2] = ["x64", "haswell"];

/// The dots of one case by one build.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignDots {
    /// The case's name.
    pub case: String,
    /// The build.
    pub variant: String,
    /// For each token those of all rows.
    pub values: Vec<f32>,
}

/// Everything that ggml answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Which version answered.
    pub produced_by: String,
    /// MD5s of bytes and floats, by case.
    pub sums: Sums,
    /// Dots, by case and build.
    pub dots: Vec<ForeignDots>,
    /// ggml's table of types.
    pub types: Vec<TypeRow>,
}

/// What line 1 of each file starts with.
const PRODUCED_BY: &str = "# produced by ";

impl Foreign {
    /// Where [`files`](Self::files) lie in the repository.
    pub const FOLDER: &str = "goldens/foreign";

    /// The answers of this build.
    ///
    /// # Panics
    /// Where a file is damaged.
    #[must_use]
    pub fn stored() -> Self {
        let (sums, dots) = (include_str!("../../foreign/MD5SUMS"), include_str!("../../foreign/dots.tsv"));
        let types = include_str!("../../foreign/ggml-types.tsv");
        Self::parse(sums, dots, types).unwrap_or_else(|line| panic!("{}: cannot be read: {line:?}", Self::FOLDER))
    }

    /// Reads the three files.
    fn parse(sums: &str, dots: &str, types: &str) -> Result<Self, String> {
        let produced_by = sums.lines().next().and_then(|line| line.strip_prefix(PRODUCED_BY)).unwrap_or_default();
        let dots = dots.lines().filter(|line| !line.starts_with('#'));
        Ok(Self {
            produced_by: produced_by.into(),
            sums: Sums::parse(sums)?,
            dots: dots.map(|line| ForeignDots::parse(line).ok_or(line)).collect::<Result<_, _>>()?,
            types: types::parse(types)?,
        })
    }

    /// File names with their contents.
    #[must_use]
    pub fn files(&self) -> [(&'static str, String); 3] {
        let dots: String = self.dots.iter().map(ForeignDots::line).collect();
        let head = format!("{PRODUCED_BY}{}\n", self.produced_by);
        [
            ("MD5SUMS", format!("{head}{}", self.sums)),
            ("dots.tsv", format!("{head}# case, build, bits of the dots: rows of weights, token after token\n{dots}")),
            ("ggml-types.tsv", format!("{head}{}", types::render(&self.types))),
        ]
    }
}

impl ForeignDots {
    fn parse(line: &str) -> Option<Self> {
        let [case, variant, values] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let value = |bits| u32::from_str_radix(bits, 16).ok().map(f32::from_bits);
        let values = values.split(' ').map(value).collect::<Option<_>>()?;
        Some(Self { case: case.into(), variant: variant.into(), values })
    }

    fn line(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|value| format!("{:08x}", value.to_bits())).collect();
        format!("{}\t{}\t{}\n", self.case, self.variant, values.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let stored = Foreign::stored();
        let [(_, sums), (_, dots), (_, types)] = stored.files();
        assert_eq!(Foreign::parse(&sums, &dots, &types), Ok(stored));
    }

    #[test]
    fn a_damaged_line_is_named() {
        assert_eq!(Foreign::parse("", "dot\tx64\t3f80000g\n", ""), Err("dot\tx64\t3f80000g".into()));
        assert_eq!(Foreign::parse("", "", "0\tf32\t1\n"), Err("0\tf32\t1".into()));
    }
}

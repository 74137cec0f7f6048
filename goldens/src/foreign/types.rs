//! Tables of types: what other implementations hold to be the geometry of each id.

use std::fmt::Write as _;

/// A row of such a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeRow {
    /// The id.
    pub id: u32,
    /// The name, in the table's own spelling.
    pub name: String,
    /// Elements in a block; 0 for a type that was removed.
    pub elements: usize,
    /// Bytes in a block; 0 for a type that was removed.
    pub bytes: usize,
}

const HEAD: &str = "# id, name, elements and bytes of a block\n";

/// The table of the Python package `gguf` 0.19.0 (`gguf.GGML_QUANT_SIZES`), a snapshot.
///
/// # Panics
/// Where the file is damaged.
#[must_use]
pub fn gguf_types() -> Vec<TypeRow> {
    parse(include_str!("../../foreign/gguf-types.tsv"))
        .unwrap_or_else(|line| panic!("gguf-types.tsv: cannot be read: {line:?}"))
}

pub(super) fn parse(text: &str) -> Result<Vec<TypeRow>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| parse_row(line).ok_or_else(|| line.into())).collect()
}

fn parse_row(line: &str) -> Option<TypeRow> {
    let [id, name, elements, bytes] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
    Some(TypeRow {
        id: id.parse().ok()?,
        name: name.into(),
        elements: elements.parse().ok()?,
        bytes: bytes.parse().ok()?,
    })
}

pub(super) fn render(rows: &[TypeRow]) -> String {
    let mut text = String::from(HEAD);
    for TypeRow { id, name, elements, bytes } in rows {
        writeln!(text, "{id}\t{name}\t{elements}\t{bytes}").expect("a string takes everything");
    }
    text
}

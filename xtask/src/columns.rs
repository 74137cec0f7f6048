//! Tables of text: columns as wide as what is in them.

/// Where the text of a column begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// The rows, a line each, two blanks between columns and none at the end of a line.
pub(crate) fn aligned<const N: usize>(columns: [Align; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(columns).zip(widths).map(|((cell, align), width)| match align {
            Align::Left => format!("{cell:width$}"),
            Align::Right => format!("{cell:>width$}"),
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// The start of a text, quoted, on one line.
pub(crate) fn start_of(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    let end = if start.len() < text.len() { "…" } else { "" };
    format!("{start:?}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "é"], ["bcd", "20", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned([Align::Left, Align::Right, Align::Left], &rows), "a     1  é\nbcd  20\n");
    }
}

//! What the real ggml says.

use anyhow::Result;
use keepq_goldens::foreign::{Conversion, Foreign, ForeignDots, ForeignInput, VARIANTS};
use keepq_goldens::{Case, Output, Sums, fresh_cases};
use keepq_simd::Tier;

use super::table::Table;
use crate::foreign::ggml::Ggml;

/// Which rows are fresh: others than those of any golden, the same in every run.
const FRESH_SEED: u64 = 0x1d0_c0de;
/// Of each type and direction.
const FRESH_ROWS: usize = 3000;

/// Puts every question of `cases` to ggml.
pub(super) fn ask(ggml: &Ggml, cases: &[Case]) -> Result<Foreign> {
    let (mut sums, mut dots) = (Sums::default(), Vec::new());
    for case in cases {
        match case.foreign() {
            None => {}
            Some(ForeignInput::Conversion(conversion)) => sums.push(case.name(), convert(ggml, conversion)?.md5()),
            Some(ForeignInput::Dot { ty, rows, tokens }) => {
                for variant in VARIANTS {
                    let pairs = tokens.iter().flat_map(|token| rows.iter().map(move |row| (row, token)));
                    let values =
                        pairs.map(|(row, token)| ggml.dot(variant, ty.ty, row, token)).collect::<Result<_>>()?;
                    dots.push(ForeignDots { case: case.name().into(), variant: variant.into(), values });
                }
            }
        }
    }
    Ok(Foreign { produced_by: ggml.version().into(), sums, dots, types: ggml.types()? })
}

fn convert(ggml: &Ggml, conversion: Conversion<'_>) -> Result<Output> {
    Ok(match conversion {
        Conversion::Encode { ty, x } => Output::of_bytes(ggml.encode(ty, x)?),
        Conversion::Decode { ty, bytes, elements } => Output::of_floats(&ggml.decode(ty, bytes, elements)?),
    })
}

/// Compares our bytes and floats with ggml's on rows that no golden has.
pub(super) fn compare_fresh_rows(ggml: &Ggml, table: &mut Table) -> Result<()> {
    for case in fresh_cases(FRESH_SEED, FRESH_ROWS) {
        let Some(ForeignInput::Conversion(conversion)) = case.foreign() else { continue };
        let (ours, theirs) = (case.run(Tier::best(), 1), convert(ggml, conversion)?);
        if ours == theirs {
            table.note(case.name(), &format!("{FRESH_ROWS} rows equal {}", ggml.version()))?;
        } else {
            let at = ours.bytes().iter().zip(theirs.bytes()).position(|(a, b)| a != b);
            let at = at.unwrap_or(ours.bytes().len().min(theirs.bytes().len()));
            table.fail(case.name(), &format!("differs from {} at byte {at}", ggml.version()))?;
        }
    }
    Ok(())
}

/// Compares ggml's answers with the stored ones, line by line; of which version they are does not count.
pub(super) fn compare_with_stored(answers: &Foreign, table: &mut Table) -> Result<()> {
    for ((name, fresh), (_, stored)) in answers.files().into_iter().zip(Foreign::stored().files()) {
        let name = format!("foreign/{name}");
        match first_difference(&fresh, &stored) {
            None => table.note(&name, &format!("equals {}", answers.produced_by))?,
            Some(line) => table.fail(&name, &format!("not as {} answers: {line:.60}", answers.produced_by))?,
        }
    }
    Ok(())
}

/// The first line that only one of the two has in its place. Lines that start with `#` do not count.
fn first_difference<'a>(a: &'a str, b: &'a str) -> Option<&'a str> {
    let lines = |text: &'a str| text.lines().filter(|line| !line.starts_with('#'));
    let (mut a, mut b) = (lines(a), lines(b));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a == b => {}
            (Some(line), _) | (None, Some(line)) => return Some(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_found() {
        assert_eq!(first_difference("# 1\na\nb\n", "# 2\na\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some("b"));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some("b"));
        assert_eq!(first_difference("a\nb\n", "a\n"), Some("b"));
    }
}

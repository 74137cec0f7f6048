//! Whether two sides multiplied the same: which part of a product is compared, and how far it may be apart.

use anyhow::{Result, bail, ensure};

use super::case::Case;

/// The most that the difference may be of the product, as lengths of vectors. Activations of 8 bits and of other roundings cost under a
/// hundredth; operands that are not the same make it more than 1.
const SAME: f64 = 0.02;

/// The same for weights that were put into other codes of as many bits.
const REQUANTIZED: f64 = 0.2;

/// The tokens whose outputs are compared: the first, one in the middle, the last.
pub(super) fn tokens(case: &Case) -> Vec<usize> {
    let mut tokens = vec![0, case.m / 2, case.m - 1];
    tokens.dedup();
    tokens
}

/// Their outputs, one token after another.
pub(super) fn sample(case: &Case, y: &[f32]) -> Vec<f32> {
    tokens(case).into_iter().flat_map(|t| &y[t * case.n..][..case.n]).copied().collect()
}

/// How far theirs is from ours.
///
/// # Errors
/// Further than roundings explain.
pub(super) fn difference(ours: &[f32], theirs: &[f32], requantized: bool) -> Result<f64> {
    ensure!(ours.len() == theirs.len(), "{} outputs beside {}", theirs.len(), ours.len());
    let square = |value: f64| value * value;
    let length: f64 = ours.iter().map(|a| square(f64::from(*a))).sum();
    let apart: f64 = ours.iter().zip(theirs).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    match (apart / length).sqrt() {
        difference if difference <= if requantized { REQUANTIZED } else { SAME } => Ok(difference),
        difference => {
            bail!("the products differ by {difference:.4} of their length: they are not of the same operands")
        }
    }
}

#[cfg(test)]
mod tests {
    use keepq_blocks::GgmlType;

    use super::*;

    #[test]
    fn the_first_the_last_and_one_between_are_compared() {
        let case = |m| Case { ty: GgmlType::F32.into(), n: 2, k: 1, m, threads: 1 };
        assert_eq!([1, 2, 3, 8].map(|m| tokens(&case(m))), [vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 4, 7]]);
        let y: Vec<_> = (0_u8..16).map(f32::from).collect();
        assert_eq!(sample(&case(8), &y), [0.0, 1.0, 8.0, 9.0, 14.0, 15.0]);
    }

    #[test]
    fn roundings_are_excused_and_other_operands_are_not() {
        assert!((difference(&[3.0, 4.0], &[3.0, 4.05], false).expect("near") - 0.01).abs() < 1e-6);
        assert!(
            difference(&[3.0, 4.0], &[3.0, 4.5], false).is_err() && difference(&[3.0, 4.0], &[3.0, 4.5], true).is_ok()
        );
        let error = difference(&[3.0, 4.0], &[4.0, 3.0], true).expect_err("exchanged").to_string();
        assert!(error.starts_with("the products differ by 0.2828 of their length"), "{error}");
        assert!(difference(&[1.0], &[f32::NAN], true).is_err());
        assert!(difference(&[0.0], &[0.0], true).is_err(), "nothing was computed");
        assert_eq!(difference(&[1.0], &[], true).expect_err("shorter").to_string(), "0 outputs beside 1");
    }
}

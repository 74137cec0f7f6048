//! Routing: which experts a token goes to.

use core::cmp::Ordering;

use super::{softmax, sum};

/// An expert that was chosen for a token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chosen {
    /// Index among all experts.
    pub expert: usize,
    /// What its result is multiplied by.
    pub weight: f32,
}

/// Chooses experts for one token: those with the largest softmax of `logits`, largest first, of equal ones the lower
/// index first. Their weights are the softmax divided by its sum over the chosen, times `scale`.
///
/// As many are chosen as `chosen` has elements. `logits` is overwritten by its softmax.
///
/// # Panics
/// Where `chosen` is longer than `logits`.
pub fn route(logits: &mut [f32], scale: f32, chosen: &mut [Chosen]) {
    softmax(logits);
    let mut last = None;
    for chosen in &mut *chosen {
        let expert = next_largest(logits, last).expect("no more are chosen than there are");
        *chosen = Chosen { expert, weight: logits[expert] };
        last = Some(expert);
    }
    let total = sum(chosen.len(), |i| chosen[i].weight);
    for chosen in chosen {
        chosen.weight = chosen.weight / total * scale;
    }
}

/// The index that follows `last` in descending order. Softmax makes all NaN or none; NaN are taken as equal.
fn next_largest(x: &[f32], last: Option<usize>) -> Option<usize> {
    let follows = |i: usize| {
        last.is_none_or(|last| match x[i].partial_cmp(&x[last]) {
            Some(Ordering::Less) => true,
            Some(Ordering::Greater) => false,
            Some(Ordering::Equal) | None => i > last,
        })
    };
    (0..x.len()).filter(|&i| follows(i)).reduce(|best, i| if x[i] > x[best] { i } else { best })
}

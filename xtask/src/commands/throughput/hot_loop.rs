//! The loop of a function that multiplies.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};

use super::functions::{Function, Line};
use super::instruction::{jumps_to, products};

/// A round of the loop.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HotLoop {
    pub(super) instructions: Vec<String>,
    /// Products of bytes.
    pub(super) products: u32,
}

impl HotLoop {
    /// Of the loops with no other loop within, the one that makes the most products.
    pub(super) fn of(function: &Function<'_>) -> Result<Self> {
        let loops = loops(&function.lines);
        let is_inner = |&(first, last): &(usize, usize)| {
            !loops.iter().any(|&(a, b)| (a, b) != (first, last) && first <= a && b <= last)
        };
        let rounds =
            loops.iter().copied().filter(is_inner).map(|(first, last)| Self::round(&function.lines[first..=last]));
        let hot =
            rounds.max_by_key(|round| round.products).with_context(|| format!("{} has no loop", function.name))?;
        ensure!(hot.products > 0, "no loop of {} multiplies bytes", function.name);
        Ok(hot)
    }

    fn round(lines: &[Line<'_>]) -> Self {
        let instructions: Vec<String> =
            lines.iter().copied().filter_map(Line::instruction).map(str::to_owned).collect();
        let products = instructions.iter().map(|instruction| products(instruction)).sum();
        Self { instructions, products }
    }

    /// The instructions, a line each.
    pub(super) fn text(&self) -> String {
        self.instructions.iter().flat_map(|instruction| ["\t", instruction, "\n"]).collect()
    }
}

impl<'a> Line<'a> {
    fn instruction(self) -> Option<&'a str> {
        match self {
            Self::Instruction(instruction) => Some(instruction),
            Self::Label(_) => None,
        }
    }
}

/// From a label to a jump back to it: the first and the last line.
fn loops(lines: &[Line<'_>]) -> Vec<(usize, usize)> {
    let mut labels = HashMap::new();
    let mut loops = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        match line {
            Line::Label(label) => _ = labels.insert(*label, i),
            // A label that is not known yet is further on.
            Line::Instruction(instruction) => {
                loops.extend(jumps_to(instruction).and_then(|label| labels.get(label)).map(|&first| (first, i)));
            }
        }
    }
    loops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(text: &'static str) -> Function<'static> {
        super::super::functions::of(text).pop().expect("a function")
    }

    #[test]
    fn the_inner_loop_that_multiplies_most() {
        let function = function(
            "f:\n.L1:\n\tsdot\tv9.4s, v1.16b, v2.16b\n.L2:\n\tsdot\tv0.4s, v1.16b, v2.16b\n\tb.lo\t.L2\n.L3:\n\tcbz\tx0, .L4\n\
             \tsdot\tv0.4s, v1.16b, v2.16b\n\tsdot\tv3.4s, v1.16b, v2.16b\n\tb.lo\t.L3\n\tb\t.L1\n.L4:\n\tret\n",
        );
        let hot = HotLoop::of(&function).expect("a loop");
        assert_eq!(hot.products, 32);
        assert_eq!(
            hot.text(),
            "\tcbz\tx0, .L4\n\tsdot\tv0.4s, v1.16b, v2.16b\n\tsdot\tv3.4s, v1.16b, v2.16b\n\tb.lo\t.L3\n"
        );
    }

    #[test]
    fn without_such_a_loop_it_is_an_error() {
        assert_eq!(HotLoop::of(&function("f:\n\tret\n")).expect_err("none").to_string(), "f has no loop");
        let error = HotLoop::of(&function("f:\n.L1:\n\tnop\n\tb\t.L1\n")).expect_err("no products");
        assert_eq!(error.to_string(), "no loop of f multiplies bytes");
    }
}

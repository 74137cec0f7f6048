//! [`Limits`]: what the machine could do at most, measured by fixed probes before and after the rows.

mod clock;
mod int8;
mod read;

use keepq_blocks::GgmlType;
use serde::Serialize;

use super::super::limits::multiply_adds;
use super::case::{Case, Type};
use super::four_bit;

/// How fast so many threads make products of bytes; none where the machine has no such instructions.
pub(in super::super) fn products_of_bytes(threads: usize) -> Option<Int8> {
    int8::measure(threads)
}

/// What some threads can do together. Operations are two a multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Limits {
    /// GB/s from memory, of the best number of streams.
    pub(super) read: f64,
    /// How many streams a thread that is.
    pub(super) streams: usize,
    /// Steps of a dependent chain that each thread makes, in 10^9/s: its clock.
    pub(super) clock_ghz: f64,
    /// GFLOP/s of fused multiply-adds of f32.
    pub(super) fma: f64,
    /// None where the machine has no products of bytes.
    #[serde(flatten)]
    pub(super) int8: Option<Int8>,
}

/// GOP/s of products of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(in super::super) struct Int8 {
    /// `maddubs` alone.
    pub(super) maddubs: f64,
    /// Eight `maddubs` by operands that are broadcast from L1, added up in 16 bits, then one `madd`.
    pub(in super::super) eight_maddubs: f64,
    /// `sign`, `maddubs`, `madd`, add: signed by signed.
    pub(in super::super) sign: f64,
}

/// Products of bytes that a core with two units of 256 bits makes a cycle.
const PRODUCTS: f64 = 64.0;

/// How far `maddubs` alone may be from that.
const TOLERANCE: f64 = 0.05;

/// Limits that differ by more than this before and after were disturbed.
const STEADY: f64 = 0.1;

/// The limit that a row is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Limit {
    pub(super) name: &'static str,
    /// GB/s or GOP/s.
    pub(super) value: f64,
    pub(super) unit: &'static str,
}

impl Limits {
    /// Measures with so many threads, which takes about a second.
    pub(super) fn measure(threads: usize) -> Self {
        let (read, streams) = read::best_of_streams(threads);
        Self {
            read: read / 1e9,
            streams,
            clock_ghz: clock::hertz(threads) / 1e9,
            fma: 2.0 * multiply_adds(threads) / 1e9,
            int8: int8::measure(threads),
        }
    }

    /// The better of each: what disturbs a probe makes shares larger than they are.
    pub(super) fn best(self, other: Self) -> Self {
        let read = if self.read >= other.read { self } else { other };
        Self {
            read: read.read,
            streams: read.streams,
            clock_ghz: self.clock_ghz.max(other.clock_ghz),
            fma: self.fma.max(other.fma),
            int8: self.int8.zip(other.int8).map(|(one, other)| Int8 {
                maddubs: one.maddubs.max(other.maddubs),
                eight_maddubs: one.eight_maddubs.max(other.eight_maddubs),
                sign: one.sign.max(other.sign),
            }),
        }
    }

    /// What a case is bound by; none where that is not measured on this machine.
    pub(super) fn of(&self, case: &Case) -> Option<Limit> {
        let operations = |name, value| Limit { name, value, unit: "GOP/s" };
        let by_floats = match case.ty {
            _ if case.is_cold() => return Some(Limit { name: "read", value: self.read, unit: "GB/s" }),
            Type::Blocks(GgmlType::Q8_0) => return Some(operations("sign", self.int8?.sign)),
            Type::Blocks(ty) => matches!(ty, GgmlType::F16 | GgmlType::BF16 | GgmlType::F32),
            Type::FourBit(four_bit) => four_bit::by_floats(four_bit.path),
        };
        Some(if by_floats {
            operations("fma", self.fma)
        } else {
            operations("eight maddubs", self.int8?.eight_maddubs)
        })
    }

    /// `maddubs` alone, by what the clock allows; none where it is not measured.
    pub(super) fn maddubs_by_clock(&self, threads: usize) -> Option<f64> {
        Some(self.int8?.maddubs / (2.0 * PRODUCTS * self.clock_ghz * threads as f64))
    }
}

/// The limits before the rows and after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeAndAfter {
    pub(super) threads: usize,
    pub(super) before: Limits,
    pub(super) after: Limits,
}

impl BeforeAndAfter {
    /// By which the rows are measured.
    pub(super) fn best(&self) -> Limits {
        self.before.best(self.after)
    }

    /// Why they should not be believed, each a line.
    pub(super) fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        for (name, [before, after]) in self.pairs() {
            if (before - after).abs() > STEADY * before.max(after) {
                doubts.push(format!("{name} was {before:.1} before and {after:.1} after: something else ran"));
            }
        }
        for (when, limits) in [("before", &self.before), ("after", &self.after)] {
            let Some(share) = limits.maddubs_by_clock(self.threads) else { continue };
            if (share - 1.0).abs() > TOLERANCE {
                doubts.push(format!(
                    "maddubs alone was {:.0}% of clock x 64 products {when}: something else ran, threads share a core, or the \
                     cores are of another kind",
                    share * 1e2
                ));
            }
        }
        doubts
    }

    /// Each limit before and after.
    pub(super) fn pairs(&self) -> Vec<(&'static str, [f64; 2])> {
        let both = |value: fn(&Limits) -> f64| [value(&self.before), value(&self.after)];
        let mut pairs = vec![("read", both(|limits| limits.read)), ("fma", both(|limits| limits.fma))];
        if let Some((before, after)) = self.before.int8.zip(self.after.int8) {
            pairs.push(("maddubs", [before.maddubs, after.maddubs]));
            pairs.push(("eight maddubs", [before.eight_maddubs, after.eight_maddubs]));
            pairs.push(("sign", [before.sign, after.sign]));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::LIMITS;
    use super::*;

    fn limit(ty: GgmlType, m: usize) -> Option<(&'static str, f64)> {
        let limit = LIMITS.of(&Case { ty: ty.into(), n: 1, k: 256, m, threads: 1 })?;
        Some((limit.name, limit.value))
    }

    #[test]
    fn one_token_is_bound_by_memory_and_many_by_products() {
        assert_eq!(limit(GgmlType::Q4_K, 1), Some(("read", 20.0)));
        assert_eq!(limit(GgmlType::F32, 1), Some(("read", 20.0)));
        assert_eq!(limit(GgmlType::Q4_K, 8), Some(("eight maddubs", 250.0)));
        assert_eq!(limit(GgmlType::Q8_0, 512), Some(("sign", 140.0)));
        assert_eq!(limit(GgmlType::BF16, 8), Some(("fma", 96.0)));
        let portable = Limits { int8: None, ..LIMITS };
        assert_eq!(portable.of(&Case { ty: GgmlType::Q4_0.into(), n: 1, k: 32, m: 8, threads: 1 }), None);
    }

    #[test]
    fn the_better_probe_counts_and_a_disturbed_one_is_told() {
        let slow = Limits { read: 15.0, streams: 1, ..LIMITS };
        let both = BeforeAndAfter { threads: 1, before: slow, after: LIMITS };
        assert_eq!(both.best(), LIMITS);
        assert_eq!(both.doubts(), ["read was 15.0 before and 20.0 after: something else ran"]);

        assert!(BeforeAndAfter { threads: 1, before: LIMITS, after: LIMITS }.doubts().is_empty());
        let doubts = BeforeAndAfter { threads: 2, before: LIMITS, after: LIMITS }.doubts();
        assert_eq!(doubts.len(), 2);
        assert!(doubts[0].starts_with("maddubs alone was 49% of clock x 64 products before"), "{doubts:?}");
    }

    /// No figure is asserted but that there is one: what the probes do must not be left out by the compiler.
    #[test]
    fn the_probes_measure_something() {
        let limits = Limits::measure(1);
        let gigahertz = 0.3..20.0;
        assert!(gigahertz.contains(&limits.clock_ghz), "{limits:?}");
        assert!(limits.read > 0.1 && limits.read < 2000.0 && limits.fma > 0.1, "{limits:?}");
        if let Some(Int8 { maddubs, eight_maddubs, sign }) = limits.int8 {
            assert!(maddubs > 0.1 && eight_maddubs > 0.1 && sign > 0.1, "{limits:?}");
            assert!(limits.maddubs_by_clock(1).expect("measured") < 3.0, "{limits:?}");
        }
    }
}

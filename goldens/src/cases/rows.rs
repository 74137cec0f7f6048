//! `rows/<operation>/<what>`: the float row operations.

mod attention;

use keepq_dot::rows::{self, Chosen, RopePairs};
use keepq_simd::Tier;

use crate::case::{Golden, Runner};
use crate::inputs::{Floats, real_rows, real_tokens};
use crate::naive::{self, TYPES};
use crate::{Blessing, Case, Output};

/// An operation by the project's crates and by the naive implementation.
struct Row<R, B> {
    run: R,
    bless: B,
}

impl<R, B> Golden for Row<R, B>
where
    R: Fn(Tier) -> Vec<f32> + Send + Sync,
    B: Fn() -> Vec<f32> + Send + Sync,
{
    fn run(&self, runner: &Runner) -> Output {
        Output::of_floats(&(self.run)(runner.tier))
    }

    fn bless(&self) -> Blessing {
        Blessing::Naive(Output::of_floats(&(self.bless)()))
    }
}

/// Lengths below, at and above the eight partial sums.
const LENGTHS: [usize; 5] = [1, 7, 8, 31, 576];

pub(super) fn cases() -> Vec<Case> {
    [exp(), rms_norm(), softmax(), silu_mul(), gelu_mul(), rope(), attention::cases(), route(), scale(), add_scaled()]
        .into_iter()
        .flatten()
        .collect()
}

fn case(
    operation: &str,
    what: &str,
    run: impl Fn(Tier) -> Vec<f32> + Send + Sync + 'static,
    bless: impl Fn() -> Vec<f32> + Send + Sync + 'static,
) -> Case {
    Case::new(format!("rows/{operation}/{what}"), Row { run, bless })
}

fn exp() -> Vec<Case> {
    // A prime step over all floats up to 100 in magnitude, and what lies around the ends of the range.
    let mut x: Vec<f32> = (0..0x42c8_0000).step_by(200_003).map(f32::from_bits).collect();
    x.extend([87.336_54, 87.336_55, 88.0, 88.722_84, 88.722_85, 89.0, f32::MAX, f32::INFINITY, f32::NAN]);
    x.extend(x.clone().iter().map(|v| -v));
    let naive = x.clone();
    vec![case(
        "exp",
        "all-magnitudes",
        move |_| x.iter().map(|&v| keepq_dot::exp(v)).collect(),
        move || naive.iter().map(|&v| naive::exp(v)).collect(),
    )]
}

fn rms_norm() -> Vec<Case> {
    let make = |what: &str, norm: fn(&[f32], &[f32]) -> Vec<f32>, x: Vec<f32>, w: Vec<f32>| {
        let (nx, nw) = (x.clone(), w.clone());
        case("rms_norm", what, move |_| norm(&x, &w), move || naive::rms_norm(&nx, &nw, 1.0e-5))
    };
    let apart = |x: &[f32], w: &[f32]| {
        let mut out = vec![0.0; x.len()];
        rows::rms_norm(x, w, 1.0e-5, &mut out);
        out
    };
    let in_place = |x: &[f32], w: &[f32]| {
        let mut x = x.to_vec();
        rows::rms_norm_in_place(&mut x, w, 1.0e-5);
        x
    };
    let mut cases: Vec<Case> = LENGTHS
        .iter()
        .map(|&len| make(&format!("{len}"), apart, Floats::Gaussian.row(len, 500), Floats::Asymmetric.row(len, 501)))
        .collect();
    let (_, norm) = real_rows(TYPES[0]).expect("the model has F32 rows");
    let weight = TYPES[0].decode_row(&norm[0]);
    cases.push(make("smollm2", apart, real_tokens(576).swap_remove(1), weight));
    cases.push(make("zeros", apart, vec![0.0; 40], vec![1.0; 40]));
    cases.push(make("huge", apart, Floats::Huge.row(160, 502), vec![1.0; 160]));
    cases.push(make("in-place", in_place, Floats::Gaussian.row(203, 503), Floats::Asymmetric.row(203, 504)));
    cases
}

fn softmax() -> Vec<Case> {
    let make = |what: &str, x: Vec<f32>| {
        let naive = x.clone();
        let run = move |_| {
            let mut x = x.clone();
            rows::softmax(&mut x);
            x
        };
        case("softmax", what, run, move || naive::softmax(&naive))
    };
    let scaled = |len| Floats::Gaussian.row(len, 510).iter().map(|v| 4.0 * v).collect();
    let mut cases: Vec<Case> = LENGTHS.iter().map(|&len| make(&format!("{len}"), scaled(len))).collect();
    let mut masked: Vec<f32> = scaled(31);
    masked[20..].fill(f32::NEG_INFINITY);
    cases.push(make("masked", masked));
    cases.push(make("all-masked", vec![f32::NEG_INFINITY; 9]));
    cases.push(make("non-finite", Floats::NonFinite.row(64, 511)));
    cases
}

fn silu_mul() -> Vec<Case> {
    gated("silu_mul", Tier::silu_mul, naive::silu_mul)
}

fn gelu_mul() -> Vec<Case> {
    gated("gelu_mul", Tier::gelu_mul, naive::gelu_mul)
}

/// An activation of the first row, times the second.
fn gated(operation: &str, run: fn(Tier, &mut [f32], &[f32]), bless: fn(&[f32], &[f32]) -> Vec<f32>) -> Vec<Case> {
    let make = |what: &str, gate: Vec<f32>, up: Vec<f32>| {
        let (naive_gate, naive_up) = (gate.clone(), up.clone());
        let run = move |tier: Tier| {
            let mut gate = gate.clone();
            run(tier, &mut gate, &up);
            gate
        };
        case(operation, what, run, move || bless(&naive_gate, &naive_up))
    };
    vec![
        make("gaussian", Floats::Gaussian.row(203, 520), Floats::Asymmetric.row(203, 521)),
        make("huge", Floats::Huge.row(320, 522), Floats::Gaussian.row(320, 523)),
        make("non-finite", Floats::NonFinite.row(128, 524), Floats::Ones.row(128, 525)),
    ]
}

fn rope() -> Vec<Case> {
    // A head of which some elements stay, as phi's.
    const HEAD: usize = 72;
    const DIMS: usize = 64;
    const BASE: f32 = 100_000.0;
    let factors: Vec<f32> = (0..DIMS / 2).map(|i| 1.0 + (i * i) as f32 / 32.0).collect();
    let mut cases = Vec::new();
    for (pairs, neox, name) in [(RopePairs::Interleaved, false, "interleaved"), (RopePairs::Neox, true, "neox")] {
        for (factors, with) in [(Vec::new(), ""), (factors.clone(), "-factors")] {
            let naive_factors = factors.clone();
            let positions = [0.0, 1.0, 7.0, 2047.0, 131_071.0];
            let run = move |_| {
                let rotate = |&position: &f32| {
                    let mut angles = [(0.0, 0.0); DIMS / 2];
                    rows::rope_angles(position, BASE, DIMS, &factors, &mut angles);
                    let mut head = Floats::Gaussian.row(HEAD, 530);
                    rows::rope(&mut head, &angles, pairs);
                    head
                };
                positions.iter().flat_map(rotate).collect()
            };
            let bless = move || {
                let rotate = |&position: &f32| {
                    let angles = naive::rope_angles(position, BASE, DIMS, &naive_factors);
                    naive::rope(&Floats::Gaussian.row(HEAD, 530), &angles, neox)
                };
                positions.iter().flat_map(rotate).collect()
            };
            cases.push(case("rope", &format!("{name}{with}"), run, bless));
        }
    }
    cases
}

fn route() -> Vec<Case> {
    let make = |what: &str, logits: Vec<f32>, count: usize, scale: f32| {
        let naive = logits.clone();
        let run = move |_| {
            let mut chosen = vec![Chosen::default(); count];
            rows::route(&mut logits.clone(), scale, &mut chosen);
            chosen.iter().flat_map(|chosen| [chosen.expert as f32, chosen.weight]).collect()
        };
        let bless = move || {
            let chosen = naive::route(&naive, count, scale);
            chosen.iter().flat_map(|&(expert, weight)| [expert as f32, weight]).collect()
        };
        case("route", what, run, bless)
    };
    let logits = |count| Floats::Gaussian.row(count, 550);
    let tied: Vec<f32> = (0..12).map(|i| [0.5, 2.0, -1.0][i % 3]).collect();
    vec![
        make("2-of-8", logits(8), 2, 1.0),
        make("8-of-128", logits(128), 8, 2.5),
        make("all-of-9", logits(9), 9, 1.0),
        make("ties", tied, 6, 1.0),
        make("one-of-one", vec![3.0], 1, 0.5),
        make("non-finite", Floats::NonFinite.row(64, 551), 4, 1.0),
    ]
}

fn scale() -> Vec<Case> {
    let x = Floats::Gaussian.row(203, 559);
    let naive = x.clone();
    let run = move |_| {
        let mut x = x.clone();
        rows::scale(&mut x, 25.298_222);
        x
    };
    vec![case("scale", "gaussian", run, move || naive::scale(&naive, 25.298_222))]
}

fn add_scaled() -> Vec<Case> {
    let (x, y) = (Floats::Gaussian.row(203, 560), Floats::Asymmetric.row(203, 561));
    let (naive_x, naive_y) = (x.clone(), y.clone());
    let run = move |_| {
        let mut x = x.clone();
        rows::add_scaled(&mut x, &y, 0.3);
        x
    };
    vec![case("add_scaled", "gaussian", run, move || naive::add_scaled(&naive_x, &naive_y, 0.3))]
}

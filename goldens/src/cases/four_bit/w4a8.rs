//! `w4a8/<zero points>/m<m>-n<n>-k<k>-g<group>`

use keepq_gemm::{Driver, Scratch};
use keepq_tinygemm::ActBuf;
use keepq_tinygemm::w4a8::{by_blocks, pack, packed_bytes};

use super::{codes, tokens, wide};
use crate::case::{Golden, Runner};
use crate::inputs::{Floats, Random};
use crate::naive::four_bit::w4a8::{self, Groups};
use crate::naive::four_bit::{Token, token};
use crate::{Blessing, Case, Output};

struct W4A8 {
    group: usize,
    m: usize,
    x: Vec<f32>,
    codes: Vec<Vec<u8>>,
    /// `[n][groups]`
    scales: Vec<Vec<f32>>,
    zeros: Vec<Vec<i8>>,
}

/// m, n, k, group: below, at and above what tokens go together; one record a group, and two.
const SHAPES: [(usize, usize, usize, usize); 7] = [
    (0, 32, 32, 32),
    (1, 96, 512, 256),
    (2, 32, 64, 64),
    (4, 64, 96, 32),
    (7, 32, 256, 128),
    (8, 96, 384, 128),
    (19, 64, 160, 32),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (zeros, is_symmetric) in [("symmetric", true), ("asymmetric", false)] {
        for (m, n, k, group) in SHAPES {
            let seed = ((m * 1000 + n) * 1000 + k) as u64;
            let mut random = Random::new(seed);
            let mut zero = || if is_symmetric { 8 } else { random.bits() as i8 };
            let case = W4A8 {
                group,
                m,
                x: tokens(m, k, seed),
                codes: codes(n, k, seed),
                scales: wide(n * (k / group), seed).chunks(k / group).map(<[f32]>::to_vec).collect(),
                zeros: (0..n).map(|_| (0..k / group).map(|_| zero()).collect()).collect(),
            };
            cases.push(Case::new(format!("w4a8/{zeros}/m{m}-n{n}-k{k}-g{group}"), case));
        }
    }
    cases.push(Case::new("w4a8/extremes".to_owned(), extremes()));
    cases
}

/// Codes, zero points and activations at their ends, and tokens that are not finite.
fn extremes() -> W4A8 {
    let (n, k, group) = (32, 256, 128);
    let code = |r: usize| [0, 15, 0, 15][r % 4];
    let zero = |r: usize| [127, -128, -128, 127][r % 4];
    let x = [
        Floats::Ones.row(3 * k, 1),
        vec![1.0; k],
        vec![-1.0; k],
        Floats::Zeros.row(k, 2),
        Floats::OneNonFinite.row(3 * k, 3),
    ];
    W4A8 {
        group,
        m: 9,
        x: x.concat(),
        codes: (0..n).map(|r| vec![code(r); k]).collect(),
        scales: wide(2 * n, 4).chunks(2).map(<[f32]>::to_vec).collect(),
        zeros: (0..n).map(|r| vec![zero(r); 2]).collect(),
    }
}

impl Golden for W4A8 {
    fn run(&self, runner: &Runner) -> Output {
        let (n, k, group) = (self.codes.len(), self.codes[0].len(), self.group);
        let (mut scales, mut zeros) = (vec![0.0; n * (k / group)], vec![0; n * (k / group)]);
        by_blocks(n, &self.scales.concat(), &mut scales).expect("whole blocks");
        by_blocks(n, &self.zeros.concat(), &mut zeros).expect("whole blocks");
        let mut records = vec![0; packed_bytes(n, k, group).expect("a legal shape")];
        let w = pack((n, k), group, &self.codes.concat(), &scales, &zeros, &mut records).expect("a legal shape");

        let mut buffer = ActBuf::new();
        let x = runner.tier.quantize_tokens(&mut buffer, self.m, k, &self.x).expect("m tokens");
        let mut y = vec![f32::NAN; self.m * n];
        let driver = Driver::new(runner.tier, &*runner.executor);
        driver.matmul_w4a8(x, w, &mut y, &mut Scratch::new()).expect("the shapes fit");
        let mut output = Output::default();
        for t in 0..self.m {
            super::push_token(&mut output, x.codes(t), x.scale(t));
        }
        output.push_bytes(&records);
        output.push_floats(&y);
        output
    }

    fn bless(&self) -> Blessing {
        let groups = Groups { scales: &self.scales, zeros: &self.zeros, len: self.group };
        let tokens: Vec<Token> = self.x.chunks(self.codes[0].len()).map(token).collect();
        let mut output = Output::default();
        for x in &tokens {
            super::push_token(&mut output, &x.codes, x.scale);
        }
        output.push_bytes(&w4a8::pack(&self.codes, &groups));
        for x in &tokens {
            for (r, row) in self.codes.iter().enumerate() {
                output.push_floats([&w4a8::dot(row, &groups, r, x)]);
            }
        }
        Blessing::Naive(output)
    }
}

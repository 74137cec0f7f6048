//! `wna16/<zero points>/m<m>-n<n>-k<k>-g<group>`

use half::bf16;
use keepq_gemm::{Driver, Scratch};
use keepq_tinygemm::wna16::{Weights, Zeros, pack};

use super::{bf16s, codes, tokens, wide, widened};
use crate::case::{Golden, Runner};
use crate::naive::four_bit::wna16;
use crate::{Blessing, Case, Output};

struct Wna16 {
    m: usize,
    group: usize,
    x: Vec<f32>,
    codes: Vec<Vec<u8>>,
    /// `[k/group][n]`
    scales: Vec<bf16>,
    /// The same, or none where all are 8.
    zeros: Option<Vec<Vec<u8>>>,
}

/// m, n, k, group.
const SHAPES: [(usize, usize, usize, usize); 5] =
    [(0, 16, 32, 32), (1, 48, 256, 128), (2, 32, 64, 64), (7, 80, 96, 32), (33, 16, 256, 256)];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, is_symmetric) in [("eight", true), ("any", false)] {
        for (m, n, k, group) in SHAPES {
            let seed = ((m * 1000 + n) * 1000 + k) as u64;
            let case = Wna16 {
                m,
                group,
                x: widened(&bf16s(&tokens(m, k, seed))),
                codes: codes(n, k, seed),
                scales: bf16s(&wide(k / group * n, seed)),
                zeros: (!is_symmetric).then(|| codes(k / group, n, seed + 1)),
            };
            cases.push(Case::new(format!("wna16/{name}/m{m}-n{n}-k{k}-g{group}"), case));
        }
    }
    cases
}

impl Golden for Wna16 {
    fn run(&self, runner: &Runner) -> Output {
        let (n, k) = (self.codes.len(), self.codes[0].len());
        let mut words = vec![0; n * k / 2];
        pack(n, k, &self.codes.concat(), &mut words).expect("a legal shape");
        let word = |eight: &[u8]| eight.iter().rev().fold(0, |word, &zero| word << 4 | i32::from(zero));
        let zeros = self.zeros.as_ref().map(|zeros| zeros.concat().chunks(8).map(word).collect::<Vec<_>>());
        let zeros = zeros.as_deref().map_or(Zeros::Eight, Zeros::Packed);
        let w = Weights::new((n, k), self.group, &words, &self.scales, zeros).expect("a legal shape");
        let mut y = vec![f32::NAN; self.m * n];
        let driver = Driver::new(runner.tier, &*runner.executor);
        driver.matmul_wna16(self.m, &self.x, w, &mut y, &mut Scratch::new()).expect("the shapes fit");
        let mut output = Output::of_bytes(words);
        output.push_floats(&y);
        output
    }

    fn bless(&self) -> Blessing {
        let (n, k) = (self.codes.len(), self.codes[0].len());
        let scales = widened(&self.scales);
        let mut output = Output::of_bytes(wna16::pack(&self.codes));
        for x in self.x.chunks(k) {
            for (r, row) in self.codes.iter().enumerate() {
                let zero = |g: usize| self.zeros.as_ref().map_or(8, |zeros| zeros[g][r]);
                let groups: Vec<_> = scales.chunks(n).enumerate().map(|(g, scales)| (scales[r], zero(g))).collect();
                output.push_floats([&wna16::dot(row, &groups, x)]);
            }
        }
        Blessing::Naive(output)
    }
}

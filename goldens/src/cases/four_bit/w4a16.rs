//! `w4a16/<layout>/m<m>-n<n>-k<k>-g<group>`

use half::bf16;
use keepq_gemm::{Driver, Scratch, W4A16Weight};
use keepq_tinygemm::w4a16::{Layout, Weights, pack};

use super::{bf16s, codes, push, tokens, wide, widened};
use crate::case::{Golden, Runner};
use crate::inputs::Floats;
use crate::naive::four_bit::w4a16;
use crate::{Blessing, Case, Output};

struct W4A16 {
    layout: Layout,
    m: usize,
    group: usize,
    x: Vec<bf16>,
    codes: Vec<Vec<u8>>,
    /// `[k/group][n]`
    scales: Vec<[bf16; 2]>,
}

/// m, n, k, group: below, at and above a tile of tokens; blocks of 64 and of 32 rows, and what is left after them; groups larger than
/// a panel; products that are large enough to be shared among threads.
const SHAPES: [(usize, usize, usize, usize); 8] = [
    (0, 16, 32, 32),
    (1, 80, 256, 128),
    (2, 16, 64, 64),
    (3, 48, 96, 32),
    (6, 112, 256, 256),
    (7, 64, 128, 32),
    (13, 96, 384, 128),
    (103, 32, 160, 32),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for layout in Layout::ALL {
        let name = format!("{layout:?}").to_lowercase();
        for (m, n, k, group) in SHAPES {
            let seed = ((m * 1000 + n) * 1000 + k) as u64;
            let case = W4A16 {
                layout,
                m,
                group,
                x: bf16s(&tokens(m, k, seed)),
                codes: codes(n, k, seed),
                scales: bf16s(&wide(k / group * n * 2, seed)).as_chunks().0.to_vec(),
            };
            cases.push(Case::new(format!("w4a16/{name}/m{m}-n{n}-k{k}-g{group}"), case));
        }
        let (n, k) = (48, 64);
        let numbers = [Floats::NonFinite.row(n, 1), Floats::Huge.row(n, 2), Floats::Small.row(2 * n, 3)].concat();
        let case = W4A16 {
            layout,
            m: 8,
            group: 32,
            x: bf16s(&[Floats::Gaussian.row(6 * k, 4), Floats::OneNonFinite.row(2 * k, 5)].concat()),
            codes: codes(n, k, 6),
            scales: bf16s(&numbers).as_chunks().0.to_vec(),
        };
        cases.push(Case::new(format!("w4a16/{name}/any-numbers"), case));
    }
    cases
}

impl Golden for W4A16 {
    fn run(&self, runner: &Runner) -> Output {
        let (n, k) = (self.codes.len(), self.codes[0].len());
        let mut bytes = vec![0; n * k / 2];
        let packed = pack(self.layout, n, k, &self.codes.concat(), &mut bytes).expect("a legal shape");
        let weight = W4A16Weight::from(Weights::new(packed, self.group, &self.scales).expect("as many scales"));
        let driver = Driver::new(runner.tier, &*runner.executor);
        let (mut y, mut rounded) = (vec![f32::NAN; self.m * n], vec![bf16::NAN; self.m * n]);
        let scratch = &mut Scratch::new();
        driver.matmul_w4a16_f32(self.m, &widened(&self.x), &weight, &mut y, scratch).expect("the shapes fit");
        driver.matmul_w4a16(self.m, &self.x, &weight, &mut rounded, scratch).expect("the shapes fit");
        let mut output = Output::of_bytes(bytes);
        push(&mut output, &y, &rounded);
        output
    }

    fn bless(&self) -> Blessing {
        let (n, k, x) = (self.codes.len(), self.codes[0].len(), widened(&self.x));
        let mut y = Vec::new();
        for x in x.chunks(k) {
            for (r, row) in self.codes.iter().enumerate() {
                let scales = self.scales.chunks(n).map(|group| widened(&group[r])).map(|pair| [pair[0], pair[1]]);
                y.push(w4a16::dot(self.layout, row, &scales.collect::<Vec<_>>(), x));
            }
        }
        let mut output = Output::of_bytes(w4a16::pack(self.layout, &self.codes));
        push(&mut output, &y, &bf16s(&y));
        Blessing::Naive(output)
    }
}

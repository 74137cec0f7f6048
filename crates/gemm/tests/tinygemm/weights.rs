//! Weights and activations of every path.

use half::bf16;
use keepq_gemm::{Driver, FourBit, MatmulError, Scratch, W4A16Weight};
use keepq_tinygemm::int4::QuantizedMatrixQ4;
use keepq_tinygemm::w4a16::{self, Layout};
use keepq_tinygemm::{ActBuf, w4a8, wna16};

pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    pub(crate) fn codes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.bits() >> 28) as u8).collect()
    }

    pub(crate) fn floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.bits() as f32 / 2_147_483_648.0 - 1.0).collect()
    }

    pub(crate) fn bf16s(&mut self, len: usize) -> Vec<bf16> {
        self.floats(len).into_iter().map(bf16::from_f32).collect()
    }
}

/// W4A16 weights in each layout.
pub(crate) struct Int4pack {
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) group: usize,
    bytes: [Vec<u8>; 3],
    pub(crate) pairs: Vec<[bf16; 2]>,
}

impl Int4pack {
    pub(crate) fn new(n: usize, k: usize, group: usize) -> Self {
        let mut random = Random(7);
        let codes = random.codes(n * k);
        let bytes = Layout::ALL.map(|layout| {
            let mut bytes = vec![0; n * k / 2];
            w4a16::pack(layout, n, k, &codes, &mut bytes).unwrap();
            bytes
        });
        Self { n, k, group, bytes, pairs: random.bf16s(2 * (k / group) * n).as_chunks().0.to_vec() }
    }

    pub(crate) fn view(&self, layout: usize) -> w4a16::Weights<'_> {
        let packed = w4a16::Packed::new(Layout::ALL[layout], self.n, self.k, &self.bytes[layout]);
        w4a16::Weights::new(packed.unwrap(), self.group, &self.pairs).unwrap()
    }
}

/// Weights of every path.
pub(crate) struct Weights {
    pub(crate) n: usize,
    pub(crate) k: usize,
    group: usize,
    int4pack: Int4pack,
    records: Vec<u8>,
    floats: Vec<f32>,
    points: Vec<i8>,
    words: Vec<u8>,
    scales: Vec<bf16>,
    pub(crate) int4: QuantizedMatrixQ4,
}

impl Weights {
    /// `n` is a multiple of 16; of 32, of W4A8, the first ones.
    pub(crate) fn new(n: usize, k: usize, group: usize) -> Self {
        let mut random = Random(6);
        let (codes, groups, n8) = (random.codes(n * k), k / group, n / 32 * 32);
        let (floats, scales) = (random.floats(groups * n8), random.bf16s(groups * n));
        let points: Vec<i8> = random.codes(groups * n8).iter().map(|&point| point as i8).collect();
        let (mut records, mut words) = (vec![0; w4a8::packed_bytes(n8, k, group).unwrap()], vec![0; n * k / 2]);
        w4a8::pack((n8, k), group, &codes[..n8 * k], &floats, &points, &mut records).unwrap();
        wna16::pack(n, k, &codes, &mut words).unwrap();
        let int4 = QuantizedMatrixQ4::quantize(n, k, &random.floats(n * k)).unwrap();
        let int4pack = Int4pack::new(n, k, group);
        Self { n, k, group, int4pack, records, floats, points, words, scales, int4 }
    }

    pub(crate) fn w4a16(&self, layout: usize) -> w4a16::Weights<'_> {
        self.int4pack.view(layout)
    }

    pub(crate) fn w4a8(&self) -> w4a8::Weights<'_> {
        let shape = (self.n / 32 * 32, self.k);
        w4a8::Weights::new(shape, self.group, &self.records, &self.floats, &self.points).unwrap()
    }

    pub(crate) fn wna16(&self) -> wna16::Weights<'_> {
        let shape = (self.n, self.k);
        wna16::Weights::new(shape, self.group, &self.words, &self.scales, wna16::Zeros::Eight).unwrap()
    }

    /// A path's weights, borrowed, to be held.
    pub(crate) fn four_bit(&self, path: usize) -> FourBit<'_> {
        let (n, k) = (self.n, self.k);
        match path {
            0..3 => FourBit::W4A16(W4A16Weight::from(self.w4a16(path))),
            3 => {
                let parts = (&self.records[..], &self.floats[..], &self.points[..]);
                FourBit::W4A8(w4a8::Stored::new((n / 32 * 32, k), self.group, parts.0, parts.1, parts.2).unwrap())
            }
            4 => FourBit::Int4(self.int4.clone()),
            _ => {
                let stored = wna16::Stored::new((n, k), self.group, &self.words[..], &self.scales[..], None);
                FourBit::Wna16(stored.unwrap())
            }
        }
    }

    /// The paths' names, and each path's columns.
    pub(crate) fn paths(&self) -> [(&'static str, usize); 6] {
        let n = self.n;
        [("w4a16 avx512", n), ("w4a16 avx2", n), ("w4a16 scalar", n), ("w4a8", n / 32 * 32), ("int4", n), ("wna16", n)]
    }

    /// `m` tokens by a path's weights.
    pub(crate) fn multiply(
        &self,
        path: usize,
        driver: &Driver<'_>,
        m: usize,
        x: &[f32],
        y: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), MatmulError> {
        let mut buffer = ActBuf::new();
        match path {
            0..3 => driver.matmul_w4a16_f32(m, x, &W4A16Weight::from(self.w4a16(path)), y, scratch),
            3 => driver.matmul_w4a8(buffer.quantize(m, self.k, x).unwrap(), self.w4a8(), y, scratch),
            4 => driver.matmul_int4(buffer.quantize(m, self.k, x).unwrap(), &self.int4, y, scratch),
            _ => driver.matmul_wna16(m, x, self.wna16(), y, scratch),
        }
    }

    /// The definition of a path's results.
    pub(crate) fn define(&self, path: usize, m: usize, x: &[f32], y: &mut [f32]) {
        let mut buffer = ActBuf::new();
        match path {
            0..3 => self.w4a16(path).multiply(x, y),
            3 => self.w4a8().multiply(buffer.quantize(m, self.k, x).unwrap(), y),
            4 => keepq_tinygemm::int4::linear_q4(buffer.quantize(m, self.k, x).unwrap(), &self.int4, y),
            _ => self.wna16().multiply(x, y),
        }
    }
}

pub(crate) fn bits(y: &[f32]) -> Vec<u32> {
    y.iter().map(|y| y.to_bits()).collect()
}

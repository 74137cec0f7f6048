//! Q4_1: 32 codes of four bits, a scale and a minimum in 20 bytes.

use keepq_blocks::GgmlType;

use super::half::{f16_bits, read_f16};
use super::{NaiveType, act};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q4_1,
    elements: 32,
    bytes: 20,
    f16_fields: &[0, 2],
    decode,
    encode,
    dot,
    met: act::met,
    steps: |k| 2 * (k / 32),
    parts,
};

fn decode(block: &[u8]) -> Vec<f32> {
    let (d, m) = (read_f16(block), read_f16(&block[2..]));
    (0..32).map(|j| d * code(block, j) as f32 + m).collect()
}

fn encode(x: &[f32]) -> Vec<u8> {
    let (mut min, mut max) = (x[0], x[0]);
    for &v in x {
        if v < min {
            min = v;
        }
        if v > max {
            max = v;
        }
    }
    let d = (max - min) / 15.0;
    let i = if (1.0 / d).is_infinite() { 0.0 } else { 1.0 / d };
    let mut block = f16_bits(d).to_le_bytes().to_vec();
    block.extend(f16_bits(min).to_le_bytes());
    for j in 0..16 {
        // A NaN becomes 0 in the cast.
        let q = |v: f32| (((v - min) * i + 0.5).trunc() as u8).min(15);
        block.push(q(x[j]) + 16 * q(x[j + 16]));
    }
    block
}

fn dot(row: &[u8], x: &[f32]) -> f32 {
    let mut acc = 0.0;
    for (block, x) in row.chunks(20).zip(x.chunks(32)) {
        let (d, m) = (read_f16(block), read_f16(&block[2..]));
        let x = act::quantize(x);
        let mut isum = 0;
        for j in 0..32 {
            isum += code(block, j) * i32::from(x.codes[j]);
        }
        acc += (d * x.a) * isum as f32;
        acc += (m * x.a) * x.sum as f32;
    }
    acc
}

fn parts(block: &[u8]) -> Vec<f64> {
    let (d, m) = (f64::from(read_f16(block)), f64::from(read_f16(&block[2..])));
    (0..32).map(|j| (d * f64::from(code(block, j))).abs() + m.abs()).collect()
}

/// Element j is the low half of byte j, element j + 16 the high one.
fn code(block: &[u8], j: usize) -> i32 {
    let byte = block[4 + j % 16];
    i32::from(if j < 16 { byte % 16 } else { byte / 16 })
}

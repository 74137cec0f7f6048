//! Q8_0: 32 codes of a byte and a scale in 34 bytes.

use keepq_blocks::GgmlType;

use super::half::{f16_bits, read_f16};
use super::{NaiveType, act};

pub(super) const TYPE: NaiveType = NaiveType {
    ty: GgmlType::Q8_0,
    elements: 32,
    bytes: 34,
    f16_fields: &[0],
    decode,
    encode,
    dot,
    met: act::met,
    steps: |k| k / 32,
    parts: |block| decode(block).iter().map(|&w| f64::from(w).abs()).collect(),
};

fn decode(block: &[u8]) -> Vec<f32> {
    let d = read_f16(block);
    (0..32).map(|j| code(block, j) as f32 * d).collect()
}

fn encode(x: &[f32]) -> Vec<u8> {
    let (d, codes) = scale_and_codes(x);
    let mut block = f16_bits(d).to_le_bytes().to_vec();
    block.extend(codes.iter().map(|&q| q as u8));
    block
}

/// The scale before it is rounded, and the codes that it gives.
pub(super) fn scale_and_codes(x: &[f32]) -> (f32, Vec<i8>) {
    let mut amax = 0.0;
    for v in x {
        if v.abs() > amax {
            amax = v.abs();
        }
    }
    let d = amax / 127.0;
    let i = 1.0 / d;
    if i.is_infinite() {
        return (0.0, vec![0; 32]);
    }
    // `round` takes halves away from zero.
    (d, x.iter().map(|v| (v * i).round() as i8).collect())
}

fn dot(row: &[u8], x: &[f32]) -> f32 {
    let mut acc = 0.0;
    for (block, x) in row.chunks(34).zip(x.chunks(32)) {
        let d = read_f16(block);
        let x = act::quantize(x);
        let mut isum = 0;
        for j in 0..32 {
            isum += code(block, j) * i32::from(x.codes[j]);
        }
        acc += (d * x.a) * isum as f32;
    }
    acc
}

fn code(block: &[u8], j: usize) -> i32 {
    i32::from(block[2 + j] as i8)
}

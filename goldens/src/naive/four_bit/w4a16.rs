//! W4A16: int4pack in three layouts, each with an arithmetic of its own.

use keepq_tinygemm::w4a16::Layout;

/// The bytes of codes `[n][k]`: blocks of rows one after another, in each all rows of k = 0, then of k = 1.
pub(crate) fn pack(layout: Layout, codes: &[Vec<u8>]) -> Vec<u8> {
    let block = if layout == Layout::Avx512 { 64 } else { 32 };
    let k = codes[0].len();
    let mut bytes = Vec::new();
    for rows in codes.chunks(block) {
        let half = rows.len() / 2;
        for i in 0..k {
            for d in 0..half {
                let is_split = layout != Layout::Scalar && rows.len() == block;
                let (low, high) = if is_split { (d, d + half) } else { (2 * d, 2 * d + 1) };
                bytes.push(rows[low][i] + 16 * rows[high][i]);
            }
        }
    }
    bytes
}

/// The dot of a row and a token, before it is rounded to bf16. `scales[g]` are the scale and the zero of each group of codes.
pub(crate) fn dot(layout: Layout, codes: &[u8], scales: &[[f32; 2]], x: &[f32]) -> f32 {
    let group = codes.len() / scales.len().max(1);
    let mut y = 0.0;
    for (i, (&code, &x)) in codes.iter().zip(x).enumerate() {
        let [s, z] = scales[i / group];
        let q = f32::from(code);
        y = match layout {
            Layout::Avx512 => libm::fmaf(x, libm::fmaf(q - 8.0, s, z), y),
            Layout::Avx2 => libm::fmaf(x, libm::fmaf(q, s, libm::fmaf(s, -8.0, z)), y),
            Layout::Scalar => y + x * ((q - 8.0) * s + z),
        };
    }
    y
}

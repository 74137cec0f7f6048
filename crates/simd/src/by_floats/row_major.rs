//! W4A16 row by row: the path through a copy, by panels for any number of tokens.

use std::ops::Range;

use keepq_blocks::Bf16;
use keepq_dot::{LANES, Target};
use keepq_tinygemm::SLAB_ROWS;
use keepq_tinygemm::w4a16::RowMajor;

use super::arithmetic::Arithmetic;
use super::panel::{Half, Memory};
use super::{EIGHTS, Strip};

/// Codes of a row that are decoded together: sixteen bytes.
const PIECE: usize = 32;

/// All tokens by all rows of a strip.
pub(super) fn multiply<T: Target, A: Arithmetic>(target: T, w: RowMajor<'_>, mut strip: Strip<'_>) {
    let mut memory = Memory::new();
    for row in strip.rows.clone().step_by(SLAB_ROWS) {
        let rows = row..strip.rows.end.min(row + SLAB_ROWS);
        strip.panels::<T, A>(target, &mut memory, rows.clone().enumerate(), |columns, panel| {
            target.run(
                #[inline(always)]
                || decode::<T, A>(target, w, rows.clone(), columns.clone(), panel),
            );
        });
    }
}

/// The weights of some columns of up to 32 rows. Lanes past the last row have the last row's, which nobody reads.
#[inline(always)]
fn decode<T: Target, A: Arithmetic>(
    target: T,
    w: RowMajor<'_>,
    rows: Range<usize>,
    columns: Range<usize>,
    panel: &mut [Half; 2],
) {
    let group = w.group();
    for e in 0..EIGHTS {
        let mut parts: [(&[u8], &[_], &[_]); LANES] = [(&[], &[], &[]); LANES];
        for lane in 0..LANES {
            parts[lane] = w.parts((rows.start + e * LANES + lane).min(rows.end - 1)).unwrap_or_default();
        }
        for from in columns.clone().step_by(PIECE) {
            let [mut scales, mut zeros] = [[0.0; LANES]; 2];
            for lane in 0..LANES {
                let (_, of_row, zeros_of_row) = parts[lane];
                let g = from / group;
                scales[lane] = Bf16::from_bits(of_row[g].to_bits()).to_f32();
                zeros[lane] = Bf16::from_bits(zeros_of_row[g].to_bits()).to_f32();
            }
            let scale = target.load(&scales);
            let offset = A::offset(target, scale, target.load(&zeros));
            // Of each row the even columns of its first and its last eight bytes, then the odd ones.
            let mut codes = [[target.splat(0.0); LANES]; 4];
            for lane in 0..LANES {
                let bytes = &parts[lane].0[from / 2..][..PIECE / 2];
                let mut halves = [[0; 8]; 2];
                halves.as_flattened_mut().copy_from_slice(bytes);
                let of_row = target.widen_nibbles(halves);
                for i in 0..4 {
                    codes[i][lane] = of_row[i];
                }
            }
            let to = &mut panel[e / 2][from - columns.start..][..PIECE];
            for i in 0..4 {
                let by_columns = target.transpose(codes[i]);
                for c in 0..LANES {
                    let column = i % 2 * 16 + 2 * c + i / 2;
                    target.store(A::weight(target, by_columns[c], scale, offset), &mut to[column][e % 2]);
                }
            }
        }
    }
}

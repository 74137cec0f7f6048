//! Rows of one type to rows of another, in pieces that threads take from a queue.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use keepq_blocks::{EncodeError, encode_row};
use keepq_gemm::Executor;
use keepq_gguf::{GgmlType, Matrix};

use super::plan::Step;

/// Elements of a piece, which one thread encodes; one row where a row has more.
const PIECE: usize = 32 * 1024;

/// Pieces for each thread between two writes: enough that a thread which is done early finds another one.
const PIECES_A_THREAD: usize = 8;

/// Writes the bytes that a tensor has in the new file, and counts them in `progress`.
///
/// Memory grows with the number of threads, not with the tensor: a decoded row for each, and the encoded bytes between two
/// writes. The bytes do not depend on the number of threads.
///
/// # Errors
/// Those of `out`, and one that names row and block of an element that is not finite, in the source or when it is encoded.
pub(super) fn write(
    step: &Step<'_>,
    executor: &dyn Executor,
    progress: &ProgressBar,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(rows) = step.rows else {
        out.write_all(step.data)?;
        progress.inc(step.data.len() as u64);
        return Ok(());
    };
    let rows_a_piece = (PIECE / rows.k()).max(1);
    let rows_a_batch = rows.n().min(rows_a_piece * PIECES_A_THREAD * executor.threads());
    let row_bytes = step.to.row_bytes(rows.k()).expect("the plan has chosen a type that fits the rows");
    let mut room = vec![0; row_bytes * rows_a_batch];
    for first in (0..rows.n()).step_by(rows_a_batch) {
        let batch = rows.rows(first..rows.n().min(first + rows_a_batch));
        let encoded = &mut room[..row_bytes * batch.n()];
        encode_batch(batch, step.to, rows_a_piece, executor, encoded)
            .map_err(|fault| io::Error::other(fault.after(first)))?;
        out.write_all(encoded)?;
        progress.inc(encoded.len() as u64);
    }
    Ok(())
}

/// Encodes rows to `out`, in parallel. Of several faults it gives that of the first row.
fn encode_batch(
    rows: Matrix<'_>,
    ty: GgmlType,
    rows_a_piece: usize,
    executor: &dyn Executor,
    out: &mut [u8],
) -> Result<(), Fault> {
    let row_bytes = out.len() / rows.n();
    let queue = Mutex::new((0..rows.n()).step_by(rows_a_piece).zip(out.chunks_mut(row_bytes * rows_a_piece)));
    let first_fault = Mutex::new(None::<Fault>);
    executor.run(&|| {
        let mut floats = vec![0.0; rows.k()];
        loop {
            let piece = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((first, out)) = piece else { return };
            for (row, out) in (first..).zip(out.chunks_exact_mut(row_bytes)) {
                if let Err(fault) = encode(rows.rows(row..row + 1), ty, &mut floats, out) {
                    let fault = fault.after(row);
                    let mut known = first_fault.lock().unwrap_or_else(PoisonError::into_inner);
                    if known.as_ref().is_none_or(|known| fault.row < known.row) {
                        *known = Some(fault);
                    }
                    break;
                }
            }
        }
    });
    first_fault.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Encodes one row to `out`; `floats` has room for its elements. A row that has the type already is copied.
fn encode(row: Matrix<'_>, ty: GgmlType, floats: &mut [f32], out: &mut [u8]) -> Result<(), Fault> {
    let fault = |block, too_large_for| Err(Fault { row: 0, block, too_large_for });
    if row.ty() == ty {
        out.copy_from_slice(row.bytes());
        return row.first_not_finite().map_or(Ok(()), |(_, block)| fault(block, None));
    }
    row.decode_row(0, floats).expect("one row, and room for it");
    match encode_row(ty, floats, out) {
        Err(EncodeError::NotFinite { index }) => return fault(index / row.ty().block_len(), None),
        result => result.expect("a type with an encoder, and room for a row of it"),
    }
    // A float can be too large for a scale of 16 bits.
    let encoded = Matrix::new(ty, 1, row.k(), out).expect("a row of a type with a decoder");
    encoded.first_not_finite().map_or(Ok(()), |(_, block)| fault(block, Some(ty)))
}

/// Where a file would be poisoned.
#[derive(Debug)]
struct Fault {
    row: usize,
    block: usize,
    /// Finite in the source, but not in this type.
    too_large_for: Option<GgmlType>,
}

impl Fault {
    /// The same with rows counted from `first` rows before.
    fn after(self, first: usize) -> Self {
        Self { row: first + self.row, ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, block, too_large_for } = self;
        match too_large_for {
            None => write!(f, "block {block} of row {row} is not finite"),
            Some(ty) => write!(f, "block {block} of row {row} is too large for {ty}"),
        }
    }
}

impl std::error::Error for Fault {}

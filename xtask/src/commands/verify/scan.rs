//! All tensors in pieces of some rows, which threads take from a queue.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use keepq_gemm::Executor;
use keepq_gguf::{Matrix, Tensor};

/// Bytes of a piece, which one thread looks at; one row where a row has more.
const PIECE: usize = 1 << 20;

/// Damaged blocks of a tensor whose places are kept.
pub(super) const PLACES: usize = 8;

/// The tensors of a file, and which of them can be looked at.
pub(super) struct Scan<'t, 'f> {
    pub(super) tensors: &'t [Tensor<'f>],
    /// Tensors of types that cannot be decoded, by index.
    pub(super) not_looked_at: Vec<usize>,
}

/// A block with an element that is not finite. Of a stack, rows are counted through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) block: usize,
}

/// What is wrong with a tensor.
#[derive(Debug, Default)]
pub(super) struct Damage {
    /// Damaged blocks.
    pub(super) blocks: u64,
    /// The first of them, up to [`PLACES`].
    pub(super) first: Vec<Place>,
}

/// Some rows of a tensor.
struct Piece<'f> {
    tensor: usize,
    /// The row of the tensor that the first one is.
    first: usize,
    rows: Matrix<'f>,
}

impl<'t, 'f> Scan<'t, 'f> {
    pub(super) fn new(tensors: &'t [Tensor<'f>]) -> Self {
        let is_known = |tensor: &Tensor<'_>| tensor.slice(0).is_ok();
        let not_looked_at = (0..tensors.len()).filter(|&index| !is_known(&tensors[index])).collect();
        Self { tensors, not_looked_at }
    }

    /// Bytes that are looked at.
    pub(super) fn bytes(&self) -> u64 {
        let known = self.tensors.iter().filter(|tensor| tensor.slice(0).is_ok());
        known.filter_map(Tensor::byte_size).sum()
    }

    /// Looks for damage, by tensor; `looked_at` is told the bytes of each piece.
    pub(super) fn run(&self, executor: &dyn Executor, looked_at: impl Fn(u64) + Sync) -> BTreeMap<usize, Damage> {
        let damage = Mutex::new(BTreeMap::<usize, Damage>::new());
        self.for_each(executor, |piece| {
            if piece.rows.first_not_finite().is_some() {
                let found = piece.damage();
                damage.lock().unwrap_or_else(PoisonError::into_inner).entry(piece.tensor).or_default().add(found);
            }
            looked_at(piece.rows.bytes().len() as u64);
        });
        damage.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads all bytes and gives their sum: what looking at them is compared with.
    pub(super) fn read(&self, executor: &dyn Executor) -> u64 {
        let total = Mutex::new(0_u64);
        self.for_each(executor, |piece| {
            let (words, rest) = piece.rows.bytes().as_chunks::<8>();
            let sum = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
            let sum = rest.iter().fold(sum, |sum, &byte| sum.wrapping_add(byte.into()));
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            *total = total.wrapping_add(sum);
        });
        black_box(total.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every piece once, on all threads.
    fn for_each(&self, executor: &dyn Executor, work: impl Fn(&Piece<'f>) + Sync) {
        let queue = Mutex::new(self.pieces());
        executor.run(&|| {
            loop {
                let piece = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(piece) = piece else { return };
                work(&piece);
            }
        });
    }

    fn pieces(&self) -> impl Iterator<Item = Piece<'f>> + Send {
        let slices = self.tensors.iter().enumerate().flat_map(|(index, tensor)| {
            let slices = usize::try_from(tensor.slices()).unwrap_or_default();
            (0..slices).map_while(move |slice| Some((index, slice, tensor.slice(slice).ok()?)))
        });
        slices.flat_map(|(tensor, slice, matrix)| {
            let rows = (PIECE * matrix.n() / matrix.bytes().len().max(1)).max(1);
            (0..matrix.n()).step_by(rows).map(move |row| {
                let range: Range<usize> = row..matrix.n().min(row + rows);
                Piece { tensor, first: slice * matrix.n() + row, rows: matrix.rows(range) }
            })
        })
    }
}

impl Piece<'_> {
    /// All damaged blocks. It decodes every row: what has a damaged block has few, or is useless.
    fn damage(&self) -> Damage {
        let mut damage = Damage::default();
        let mut elements = vec![0.0; self.rows.k()];
        for row in 0..self.rows.n() {
            if self.rows.rows(row..row + 1).first_not_finite().is_none() {
                continue;
            }
            self.rows.decode_row(row, &mut elements).expect("one of the rows, and room for it");
            for (block, elements) in elements.chunks(self.rows.ty().block_len()).enumerate() {
                if elements.iter().any(|element| !element.is_finite()) {
                    damage.blocks += 1;
                    if damage.first.len() < PLACES {
                        damage.first.push(Place { row: self.first + row, block });
                    }
                }
            }
        }
        damage
    }
}

impl Damage {
    /// Adds that of another piece, before or after.
    fn add(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.first.extend(other.first);
        self.first.sort_unstable();
        self.first.truncate(PLACES);
    }
}

//! [`Tiles`]: the tile registers of this thread while they are configured, and the one step that is computed in them.
//!
//! The configuration is state of the hardware that belongs to a thread. It is loaded by each outermost call and never taken for loaded; what was
//! there before is put back, or the registers are released. What is in the registers lives no longer than one step: nothing is left there for the next.

use std::marker::PhantomData;

use super::Amx;

/// Rows of a tile: 16 tokens, 16 rows of weights, or 64 codes of them, four to a row.
pub(super) const ROWS: usize = 16;

/// Bytes of a tile's row: codes.
pub(super) const BYTES: usize = 64;

/// A register's bytes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Tile(pub(super) [[u8; BYTES]; ROWS]);

impl Tile {
    pub(super) const ZERO: Self = Self([[0; BYTES]; ROWS]);
}

/// A register of sums.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Sums(pub(super) [[i32; ROWS]; ROWS]);

impl Sums {
    pub(super) const ZERO: Self = Self([[0; ROWS]; ROWS]);
}

/// What LDTILECFG reads: the palette, a row to begin with, and the shape of each register.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

const _: () = assert!(size_of::<Configuration>() == 64);

impl Configuration {
    /// No tiles: what there is before anything was loaded.
    const NONE: Self = Self { palette: 0, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };

    /// Eight full tiles.
    const EIGHT_FULL: Self = {
        let mut full = Self { palette: 1, ..Self::NONE };
        let mut tile = 0;
        while tile < 8 {
            (full.row_bytes[tile], full.rows[tile]) = (BYTES as u16, ROWS as u8);
            tile += 1;
        }
        full
    };
}

/// What is loaded: it has an address.
static FULL: Configuration = Configuration::EIGHT_FULL;

/// The tile registers of this thread, configured as eight full ones.
pub(super) struct Tiles {
    /// What was configured before.
    before: Configuration,
    /// They are this thread's.
    thread: PhantomData<*const ()>,
}

impl Tiles {
    /// Configures them.
    pub(super) fn new(Amx(()): Amx) -> Self {
        let mut before = Configuration::NONE;
        // SAFETY: there are the instructions (`Amx`); both operands are 64 bytes, the first of which are written, and the others a legal configuration.
        unsafe {
            core::arch::asm!(
                "sttilecfg [{before}]",
                "ldtilecfg [{full}]",
                before = in(reg) &raw mut before,
                full = in(reg) &raw const FULL,
                options(nostack, preserves_flags),
            );
        }
        Self { before, thread: PhantomData }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        if self.before.palette == 0 {
            // SAFETY: there are the instructions (`Tiles::new`); what is in the registers is nobody's.
            unsafe { core::arch::asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
        } else {
            // SAFETY: as above, and this is what the processor itself had stored.
            unsafe {
                core::arch::asm!(
                    "ldtilecfg [{before}]",
                    before = in(reg) &raw const self.before,
                    options(readonly, nostack, preserves_flags),
                );
            }
        }
    }
}

/// A method of [`Tiles`]: two operands of one kind by two of another.
///
/// Each of the four registers of sums waits for its own last product only, and registers 4 to 7 hold the operands of a step.
macro_rules! products {
    ($(#[$doc:meta])* $name:ident, $product:literal, $first:ident, $second:ident) => {
        $(#[$doc])*
        ///
        /// # Panics
        /// Where operands have different numbers of tiles, or none.
        pub(super) fn $name(&mut self, $first: [&[Tile]; 2], $second: [&[Tile]; 2], sums: &mut [[Sums; 2]; 2]) {
            let count = $first[0].len();
            let same = [$first[1], $second[0], $second[1]].iter().all(|tiles| tiles.len() == count);
            assert!(same && count > 0, "as many tiles of each, and some");
            // SAFETY: eight full tiles are configured (`self`). Each operand is read tile by tile, `count` of them; all four sums are written.
            unsafe {
                core::arch::asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{a0} + {stride}]",
                    "tileloadd tmm6, [{b0} + {stride}]",
                    concat!($product, " tmm0, tmm4, tmm6"),
                    "tileloadd tmm7, [{b1} + {stride}]",
                    concat!($product, " tmm1, tmm4, tmm7"),
                    "tileloadd tmm5, [{a1} + {stride}]",
                    concat!($product, " tmm2, tmm5, tmm6"),
                    concat!($product, " tmm3, tmm5, tmm7"),
                    "add {a0}, {tile}",
                    "add {a1}, {tile}",
                    "add {b0}, {tile}",
                    "add {b1}, {tile}",
                    "dec {count}",
                    "jnz 2b",
                    "tilestored [{sums} + {stride}], tmm0",
                    "add {sums}, {tile}",
                    "tilestored [{sums} + {stride}], tmm1",
                    "add {sums}, {tile}",
                    "tilestored [{sums} + {stride}], tmm2",
                    "add {sums}, {tile}",
                    "tilestored [{sums} + {stride}], tmm3",
                    a0 = inout(reg) $first[0].as_ptr() => _,
                    a1 = inout(reg) $first[1].as_ptr() => _,
                    b0 = inout(reg) $second[0].as_ptr() => _,
                    b1 = inout(reg) $second[1].as_ptr() => _,
                    sums = inout(reg) sums.as_mut_ptr() => _,
                    count = inout(reg) count => _,
                    stride = in(reg) BYTES,
                    tile = const size_of::<Tile>(),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}

impl Tiles {
    products! {
        /// `sums[i][j]`: the tiles of signed codes `x[i]`, a token a row, by those of unsigned codes `w[j]`, four a row's column:
        /// `sums[i][j][t][n] = Σ x[i][t][k] * w[j][k / 4][4 n + k % 4]`.
        tokens_by_weights, "tdpbsud", x, w
    }

    products! {
        /// `sums[i][j]`: the tiles of unsigned codes `w[i]`, a row of weights a row, by those of signed codes `x[j]`, four a token's column:
        /// `sums[i][j][n][t] = Σ w[i][n][k] * x[j][k / 4][4 t + k % 4]`.
        weights_by_tokens, "tdpbusd", w, x
    }
}

//! `neon-i8mm`: products of two rows by two tokens.
//!
//! Where many tokens run against a panel, `smmla` takes eight codes of two rows and of two tokens, twice what `sdot` multiplies. Few tokens,
//! whose rows are not decoded first, go by `sdot`: putting the codes of two rows side by side would cost what `smmla` saves.

use core::arch::aarch64::{int32x4_t, uint8x16_t, uint32x4_t, uint64x2_t};
use core::arch::asm;

use keepq_dot::{Target, Way};

use crate::body::Body;
use crate::neon::Neon;
use crate::over_neon::{operations_of_neon, products_of_dotprod};

pulp::simd_type! {
    /// Proof that the machine has NEON, its products of bytes and those of matrices of bytes.
    pub(crate) struct NeonI8mm {
        neon: "neon",
        dotprod: "dotprod",
        i8mm: "i8mm",
    }
}

impl NeonI8mm {
    /// What the machine has as well.
    #[inline(always)]
    fn neon(self) -> Neon {
        Neon { neon: self.neon }
    }
}

impl Target for NeonI8mm {
    const WAY: Way = Way::Octets;
    const TWO_TOKENS: bool = true;

    operations_of_neon!();
    products_of_dotprod!();

    /// Rows 0 and 1 with eight codes each, and 2 and 3; then the other four.
    #[inline(always)]
    fn join_quads(self, [a, b]: [Self::Bytes; 2]) -> [Self::Bytes; 2] {
        let rows = |a: uint8x16_t, b: uint8x16_t| {
            let (a, b): (uint32x4_t, uint32x4_t) = (pulp::cast(a), pulp::cast(b));
            [pulp::cast(self.neon.vzip1q_u32(a, b)), pulp::cast(self.neon.vzip2q_u32(a, b))]
        };
        [rows(a[0], b[0]), rows(a[1], b[1])]
    }

    /// Each register of sums is of two rows: the first row by both tokens, then the second one.
    #[inline(always)]
    fn add_products_of_two(
        self,
        sums: [Self::Partial; 2],
        quads: [Self::Bytes; 2],
        [first, second]: [[i8; 8]; 2],
    ) -> [Self::Partial; 2] {
        let tokens: uint64x2_t = pulp::cast([first, second]);
        let tokens: uint8x16_t = pulp::cast(tokens);
        // SAFETY: the token proves that the machine has the instruction.
        let add = |sum, rows| unsafe { smmla(sum, rows, tokens) };
        [
            [add(sums[0][0], quads[0][0]), add(sums[0][1], quads[0][1])],
            [add(sums[1][0], quads[1][0]), add(sums[1][1], quads[1][1])],
        ]
    }

    #[inline(always)]
    fn part_tokens(self, [a, b]: [Self::Partial; 2]) -> [Self::Partial; 2] {
        let first = |[x, y]: Self::Partial| self.neon.vuzp1q_s32(x, y);
        let second = |[x, y]: Self::Partial| self.neon.vuzp2q_s32(x, y);
        [[first(a), first(b)], [second(a), second(b)]]
    }

    #[inline(always)]
    fn run(self, body: impl FnMut()) {
        self.vectorize(Body(body));
    }
}

/// `sum`, a matrix of two by two, and the products of two rows of eight signed bytes by two of `b`.
///
/// # Safety
/// The machine has i8mm.
#[inline]
#[target_feature(enable = "neon,i8mm")]
unsafe fn smmla(mut sum: int32x4_t, a: uint8x16_t, b: uint8x16_t) -> int32x4_t {
    // SAFETY: the caller's; nothing but registers is read or written.
    unsafe {
        asm!(
            "smmla {sum:v}.4s, {a:v}.16b, {b:v}.16b",
            sum = inout(vreg) sum,
            a = in(vreg) a,
            b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

//! What the tiers above `neon` have from it: all but products of bytes.

/// The types and the operations of a tier whose method `neon` gives the token of `neon`: all but products and `run`. Sums are of 32 bits.
macro_rules! operations_of_neon {
    () => {
        type F32s = [core::arch::aarch64::float32x4_t; 2];
        type I32s = [core::arch::aarch64::int32x4_t; 2];
        type Bytes = [core::arch::aarch64::uint8x16_t; 2];
        type Partial = [core::arch::aarch64::int32x4_t; 2];
        type Pairs = [core::arch::aarch64::int16x8_t; 2];
        type Spreads = ();

        crate::over_neon::as_neon! {
            fn load_bytes(x: &[u8; 32]) -> Self::Bytes;
            fn load_codes(x: &[i8; 32]) -> Self::Bytes;
            fn store_bytes(x: Self::Bytes, to: &mut [u8; 32]);
            fn splat_bytes(x: [i8; 4]) -> Self::Bytes;
            fn field(x: Self::Bytes, shift: u32, mask: u8) -> Self::Bytes;
            fn join(low: Self::Bytes, high: Self::Bytes, shift: u32) -> Self::Bytes;
            fn dot_pairs(total: Self::I32s, a: Self::Pairs, b: [i16; 2]) -> Self::I32s;
            fn dot_lanes(total: Self::I32s, a: Self::Pairs, b: Self::Pairs) -> Self::I32s;
            fn unsigned_pairs(x: Self::Bytes, which: [usize; 2]) -> Self::Pairs;
            fn signed_pairs(x: Self::Bytes, which: [usize; 2]) -> Self::Pairs;
            fn mul_pairs(x: Self::Pairs, by: i16) -> Self::Pairs;
            fn lane_bits(x: Self::Bytes, first: usize, set: u8) -> Self::Bytes;
            fn widen_halves(x: Self::Bytes) -> [Self::F32s; 2];
            fn settled_i32(sum: Self::I32s) -> Self::I32s;
            fn settled_f32(x: Self::F32s) -> Self::F32s;
            fn join_pairs(a: Self::Pairs, b: Self::Pairs) -> Self::Pairs;
            fn sums_of_pairs(a: Self::Pairs, b: Self::Pairs) -> Self::Pairs;
            fn load_pairs(x: &[[i16; 2]; keepq_dot::LANES]) -> Self::Pairs;
            fn store_pairs(x: Self::Pairs, to: &mut [[i16; 2]; keepq_dot::LANES]);
            fn words(rows: [&[u8; 16]; keepq_dot::LANES]) -> [Self::Bytes; 4];
            fn widen_f16(x: [keepq_blocks::F16; keepq_dot::LANES]) -> Self::F32s;
            fn narrow_f16(x: Self::F32s) -> [keepq_blocks::F16; keepq_dot::LANES];
            fn to_bf16(x: Self::F32s) -> Self::F32s;
            fn widen_bf16s(x: Self::Pairs) -> [Self::F32s; 2];
            fn unpair(low: Self::F32s, high: Self::F32s) -> [Self::F32s; 2];
            fn widen_nibbles(x: [[u8; 8]; 2]) -> [Self::F32s; 4];
            fn sub_bytes(x: Self::Bytes, by: u8) -> Self::Bytes;
            fn widen_pairs(x: [i8; 16]) -> Self::Pairs;
            fn spread(by: Self::Spreads, x: Self::Pairs, lane: usize) -> Self::Pairs;
            fn sum_lanes(rows: [Self::I32s; keepq_dot::LANES]) -> Self::I32s;
            fn transpose(rows: [Self::F32s; keepq_dot::LANES]) -> [Self::F32s; keepq_dot::LANES];
            fn splat_i32(x: i32) -> Self::I32s;
            fn splat(x: f32) -> Self::F32s;
            fn load(x: &[f32; keepq_dot::LANES]) -> Self::F32s;
            fn store(x: Self::F32s, to: &mut [f32; keepq_dot::LANES]);
            fn add(a: Self::F32s, b: Self::F32s) -> Self::F32s;
            fn mul(a: Self::F32s, b: Self::F32s) -> Self::F32s;
            fn fma(a: Self::F32s, b: Self::F32s, c: Self::F32s) -> Self::F32s;
            fn to_f32(x: Self::I32s) -> Self::F32s;
            fn sum_float_lanes(x: [Self::F32s; keepq_dot::LANES]) -> Self::F32s;
            fn prefetch(at: *const u8);
        }

        #[inline(always)]
        fn spreads(self) {}
    };
}

/// Products by `sdot`, which takes both sides as signed: one sum of 32 bits a lane.
macro_rules! products_of_dotprod {
    () => {
        const WIDE_PARTIAL: bool = true;
        const SIGNED_PRODUCTS: bool = true;

        #[inline(always)]
        fn nothing(self) -> Self::Partial {
            self.splat_i32(0)
        }

        #[inline(always)]
        fn add_products(self, sum: Self::Partial, unsigned: Self::Bytes, signed: Self::Bytes) -> Self::Partial {
            // SAFETY: the token proves that the machine has the instruction.
            unsafe {
                [
                    crate::neon_dotprod::sdot(sum[0], unsigned[0], signed[0]),
                    crate::neon_dotprod::sdot(sum[1], unsigned[1], signed[1]),
                ]
            }
        }

        const BY_QUAD: bool = true;

        #[inline(always)]
        fn add_quad(self, sum: Self::Partial, unsigned: Self::Bytes, x: &[i8; 32], q: usize) -> Self::Partial {
            let quads = self.load_codes(x)[q / 4];
            // SAFETY: the token proves that the machine has the instruction.
            unsafe {
                [
                    crate::neon_dotprod::sdot_by_quad(sum[0], unsigned[0], quads, q % 4),
                    crate::neon_dotprod::sdot_by_quad(sum[1], unsigned[1], quads, q % 4),
                ]
            }
        }

        #[inline(always)]
        fn signed_products(self, a: Self::Bytes, b: Self::Bytes) -> Self::Partial {
            self.add_products(self.nothing(), a, b)
        }

        #[inline(always)]
        fn widen(self, total: Self::I32s, sum: Self::Partial) -> Self::I32s {
            let neon = self.neon().neon;
            [neon.vaddq_s32(total[0], sum[0]), neon.vaddq_s32(total[1], sum[1])]
        }

        #[inline(always)]
        fn widen_scaled(self, total: Self::I32s, sum: Self::Partial, scale: Self::Pairs) -> Self::I32s {
            self.neon().add_scaled(total, sum, scale)
        }
    };
}

/// Methods that are those of `neon`.
macro_rules! as_neon {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $ty),*) $(-> $out)? {
                self.neon().$name($($arg),*)
            }
        )*
    };
}

pub(crate) use {as_neon, operations_of_neon, products_of_dotprod};

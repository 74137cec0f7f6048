//! What the tiers above `x86-64-v3` have from it: nearly everything, compiled for their own features.

/// The types and the operations of a tier whose method `v3` gives the token of `x86-64-v3`: all but products and `run`.
macro_rules! operations_of_v3 {
    () => {
        type F32s = core::arch::x86_64::__m256;
        type I32s = core::arch::x86_64::__m256i;
        type Bytes = core::arch::x86_64::__m256i;
        type Partial = core::arch::x86_64::__m256i;
        type Pairs = core::arch::x86_64::__m256i;
        type Spreads = [core::arch::x86_64::__m256i; 4];

        crate::over_v3::as_v3! {
            fn load_bytes(x: &[u8; 32]) -> Self::Bytes;
            fn load_codes(x: &[i8; 32]) -> Self::Bytes;
            fn store_bytes(x: Self::Bytes, to: &mut [u8; 32]);
            fn splat_bytes(x: [i8; 4]) -> Self::Bytes;
            fn field(x: Self::Bytes, shift: u32, mask: u8) -> Self::Bytes;
            fn join(low: Self::Bytes, high: Self::Bytes, shift: u32) -> Self::Bytes;
            fn nothing() -> Self::Partial;
            fn unsigned_pairs(x: Self::Bytes, which: [usize; 2]) -> Self::Pairs;
            fn signed_pairs(x: Self::Bytes, which: [usize; 2]) -> Self::Pairs;
            fn mul_pairs(x: Self::Pairs, by: i16) -> Self::Pairs;
            fn lane_bits(x: Self::Bytes, first: usize, set: u8) -> Self::Bytes;
            fn widen_halves(x: Self::Bytes) -> [Self::F32s; 2];
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
            fn spreads() -> Self::Spreads;
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
    };
}

/// Products that are those of `x86-64-v3`: two sums of 16 bits a lane.
macro_rules! products_of_v3 {
    () => {
        crate::over_v3::as_v3! {
            fn add_products(sum: Self::Partial, unsigned: Self::Bytes, signed: Self::Bytes) -> Self::Partial;
            fn signed_products(a: Self::Bytes, b: Self::Bytes) -> Self::Partial;
            fn widen(total: Self::I32s, sum: Self::Partial) -> Self::I32s;
            fn widen_scaled(total: Self::I32s, sum: Self::Partial, scale: Self::Pairs) -> Self::I32s;
            fn dot_pairs(total: Self::I32s, a: Self::Pairs, b: [i16; 2]) -> Self::I32s;
            fn dot_lanes(total: Self::I32s, a: Self::Pairs, b: Self::Pairs) -> Self::I32s;
        }
    };
}

/// Products by `vpdpbusd` and `vpdpwssd`: one sum of 32 bits a lane. The two functions need what the token proves.
macro_rules! products_of_vnni {
    ($dpbusd:path, $dpwssd:path) => {
        const WIDE_PARTIAL: bool = true;

        #[inline(always)]
        fn add_products(self, sum: Self::Partial, unsigned: Self::Bytes, signed: Self::Bytes) -> Self::Partial {
            // SAFETY: the token proves that the machine has this instruction, for which pulp has no method.
            unsafe { $dpbusd(sum, unsigned, signed) }
        }

        #[inline(always)]
        fn signed_products(self, a: Self::Bytes, b: Self::Bytes) -> Self::Partial {
            let avx2 = self.v3().avx2;
            self.add_products(self.nothing(), avx2._mm256_abs_epi8(a), avx2._mm256_sign_epi8(b, a))
        }

        #[inline(always)]
        fn widen(self, total: Self::I32s, sum: Self::Partial) -> Self::I32s {
            self.v3().avx2._mm256_add_epi32(total, sum)
        }

        #[inline(always)]
        fn widen_scaled(self, total: Self::I32s, sum: Self::Partial, scale: Self::Pairs) -> Self::I32s {
            let avx2 = self.v3().avx2;
            avx2._mm256_add_epi32(total, avx2._mm256_mullo_epi32(sum, avx2._mm256_srai_epi32::<16>(scale)))
        }

        #[inline(always)]
        fn dot_pairs(self, total: Self::I32s, a: Self::Pairs, b: [i16; 2]) -> Self::I32s {
            self.dot_lanes(total, a, self.v3().splat_pair(b))
        }

        #[inline(always)]
        fn dot_lanes(self, total: Self::I32s, a: Self::Pairs, b: Self::Pairs) -> Self::I32s {
            // SAFETY: the token proves that the machine has this instruction, for which pulp has no method.
            unsafe { $dpwssd(total, a, b) }
        }
    };
}

/// The order in which sums are made, as `x86-64-v3` has it.
macro_rules! order_of_v3 {
    () => {
        crate::over_v3::as_v3! {
            fn settled(sum: Self::Partial) -> Self::Partial;
            fn settled_i32(sum: Self::I32s) -> Self::I32s;
            fn settled_f32(x: Self::F32s) -> Self::F32s;
        }
    };
}

/// Methods that are those of `x86-64-v3`.
macro_rules! as_v3 {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) $(-> $out:ty)?;)*) => {
        $(
            #[inline(always)]
            fn $name(self, $($arg: $ty),*) $(-> $out)? {
                self.v3().$name($($arg),*)
            }
        )*
    };
}

pub(crate) use {as_v3, operations_of_v3, order_of_v3, products_of_v3, products_of_vnni};

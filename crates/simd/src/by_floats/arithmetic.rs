//! [`Arithmetic`]: how a format rounds its weights and its steps.

use keepq_dot::Target;

/// What a weight is, and how a product is added up: see [`Layout::weight`](keepq_tinygemm::w4a16::Layout::weight) and
/// [`Layout::step`](keepq_tinygemm::w4a16::Layout::step), and for the fallback its own `multiply`.
pub(super) trait Arithmetic {
    /// What weights are made with beside the scale, once a group.
    fn offset<T: Target>(target: T, scale: T::F32s, zero: T::F32s) -> T::F32s;

    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s;

    #[inline(always)]
    fn step<T: Target>(target: T, x: T::F32s, weight: T::F32s, sum: T::F32s) -> T::F32s {
        target.fma(x, weight, sum)
    }
}

/// W4A16 in AVX-512's layout.
pub(super) struct Avx512;

impl Arithmetic for Avx512 {
    #[inline(always)]
    fn offset<T: Target>(_: T, _: T::F32s, zero: T::F32s) -> T::F32s {
        zero
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.fma(target.add(code, target.splat(-8.0)), scale, offset)
    }
}

/// W4A16 in AVX2's layout.
pub(super) struct Avx2;

impl Arithmetic for Avx2 {
    #[inline(always)]
    fn offset<T: Target>(target: T, scale: T::F32s, zero: T::F32s) -> T::F32s {
        target.fma(scale, target.splat(-8.0), zero)
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.fma(code, scale, offset)
    }
}

/// W4A16 in the scalar layout.
pub(super) struct Scalar;

impl Arithmetic for Scalar {
    #[inline(always)]
    fn offset<T: Target>(_: T, _: T::F32s, zero: T::F32s) -> T::F32s {
        zero
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.add(target.mul(target.add(code, target.splat(-8.0)), scale), offset)
    }

    #[inline(always)]
    fn step<T: Target>(target: T, x: T::F32s, weight: T::F32s, sum: T::F32s) -> T::F32s {
        target.add(sum, target.mul(x, weight))
    }
}

/// The fallback, whose zero points are codes and whose weights are rounded to bf16.
pub(super) struct Fallback;

impl Arithmetic for Fallback {
    #[inline(always)]
    fn offset<T: Target>(target: T, _: T::F32s, zero: T::F32s) -> T::F32s {
        target.mul(zero, target.splat(-1.0))
    }

    #[inline(always)]
    fn weight<T: Target>(target: T, code: T::F32s, scale: T::F32s, offset: T::F32s) -> T::F32s {
        target.to_bf16(target.mul(target.add(code, offset), scale))
    }
}

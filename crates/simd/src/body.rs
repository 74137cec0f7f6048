//! [`Body`]: code on its way into a function that is compiled for an instruction set.

/// A body to be compiled for the token's features.
///
/// `vectorize` takes `FnOnce` closures as well, but the call of one that is `FnMut` goes through a shim that the compiler
/// makes, does not inline into large bodies, and compiles for the baseline: three times slower, and nothing says so.
pub(crate) struct Body<F>(pub(crate) F);

impl<F: FnMut()> pulp::NullaryFnOnce for Body<F> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        (self.0)();
    }
}

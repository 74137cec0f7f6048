//! Products on the portable target.

use keepq_dot::{Portable, Product, Scratch, Way, strip_by};

/// `y[t * n + r]`, computed in each way there is, which must agree to the bit.
pub(crate) fn products(product: Product<'_>) -> Vec<f32> {
    let mut scratch = Scratch::new();
    scratch.fit(&product);
    let mut by = |way| {
        let mut y = vec![f32::NAN; product.x().m() * product.w().n()];
        strip_by(Portable, way, product, &mut y, &mut scratch);
        y
    };
    let (in_place, octets) = (by(Way::InPlace), by(Way::Octets));
    for (a, b) in in_place.iter().zip(&octets) {
        assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{}: {a} in place, {b}", product.w().ty());
    }
    in_place
}

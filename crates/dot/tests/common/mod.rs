//! Products on the portable target.

use keepq_dot::{Interleaved, Portable, Product, Scratch, Way, strip_by, strip_interleaved};

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
    same(&in_place, &octets, "side by side", &product);
    if Interleaved::supports(product.w().ty()) {
        let weights = Interleaved::new(product.w()).unwrap();
        let interleaved = Product::new(product.x(), weights.view()).unwrap();
        let (mut y, mut scratch) = (vec![f32::NAN; in_place.len()], Scratch::new());
        scratch.fit(&interleaved);
        strip_interleaved(Portable, interleaved, &mut y, &mut scratch);
        same(&in_place, &y, "interleaved", &product);
    }
    in_place
}

fn same(in_place: &[f32], other: &[f32], way: &str, product: &Product<'_>) {
    for (a, b) in in_place.iter().zip(other) {
        assert!(
            a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            "{}: {a} in place, {b} {way}",
            product.w().ty()
        );
    }
}

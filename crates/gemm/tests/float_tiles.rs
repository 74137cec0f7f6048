//! Every tier's float weights beside the portable tier's, at every edge of a tile and of a panel, at odd addresses.

use keepq_act::ActRows;
use keepq_blocks::{GgmlType, Matrix, encode_row};
use keepq_gemm::{Driver, Scratch, Serial};
use keepq_goldens::inputs::Floats;
use keepq_simd::Tier;

fn check((m, n, k): (usize, usize, usize)) {
    let (x, w) = (Floats::Gaussian.row(m * k, 17), Floats::Asymmetric.row(n * k, 18));
    for ty in [GgmlType::F32, GgmlType::F16, GgmlType::BF16] {
        // One byte on, so that no element is aligned.
        let mut bytes = vec![0; 1 + ty.row_bytes(n * k).unwrap()];
        encode_row(ty, &w, &mut bytes[1..]).unwrap();
        let w = Matrix::new(ty, n, k, &bytes[1..]).unwrap();
        let by = |tier| {
            let mut y = vec![f32::NAN; m * n];
            let x = ActRows::f32(m, k, &x).unwrap();
            Driver::new(tier, &Serial).matmul(x, w, &mut y, &mut Scratch::new()).unwrap();
            y.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        let want = by(Tier::PORTABLE);
        for tier in Tier::available() {
            assert_eq!(by(tier), want, "{ty} {tier} m = {m}, n = {n}, k = {k}");
        }
    }
}

#[test]
fn rows_and_tokens_about_every_tile() {
    for n in 1..=17 {
        for m in 1..=13 {
            check((m, n, 19));
        }
    }
}

#[test]
fn elements_about_every_eight_and_panel() {
    for k in [0, 1, 7, 8, 9, 15, 16, 383, 384, 385, 391, 392, 776] {
        for m in [1, 2, 3, 8, 9, 11] {
            check((m, 5, k));
        }
    }
}

#[test]
fn tokens_about_what_is_carried() {
    for m in [127, 128, 129, 130, 256, 257] {
        check((m, 6, 395));
    }
}

//! Dots are within docs/NUMERICS.md's bounds of float64, over decoded values of an independent decoder.

mod common;

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{BlockQ4_1, F16, GgmlType, Matrix};
use keepq_dot::Product;
use keepq_goldens::Reference;
use keepq_goldens::inputs::{Floats, Weights, real_rows, real_tokens};
use keepq_goldens::naive::{NaiveType, TYPES};

const BLOCKS: [usize; 6] = [1, 2, 3, 5, 7, 16];

fn dot(ty: &NaiveType, row: &[u8], token: &[f32]) -> f32 {
    let mut buffer = ActBuf::new();
    let x = buffer.quantize(ActFormat::for_weights(ty.ty).unwrap(), 1, token.len(), token).unwrap();
    let product = Product::new(x, Matrix::new(ty.ty, 1, token.len(), row).unwrap()).unwrap();
    common::products(product)[0]
}

/// Checks one dot, and returns its error in parts of its bound.
fn check(ty: &NaiveType, row: &[u8], token: &[f32], size: impl Fn(&Reference) -> f64) -> f64 {
    let reference = Reference::new(ty, row, &ty.met(token));
    let bound = Reference::bound(ty.steps(token.len()), size(&reference));
    let error = (f64::from(dot(ty, row, token)) - reference.value).abs();
    assert!(error <= bound, "{} k = {}: {error:e} off, more than {bound:e}", ty.ty, token.len());
    if bound == 0.0 { 0.0 } else { error / bound }
}

fn k(ty: &NaiveType, blocks: usize) -> usize {
    ty.chunk() * blocks + if ty.is_float() { 5 } else { 0 }
}

#[test]
fn ordinary_data_is_within_the_bound_of_its_l1() {
    let weights = [Weights::Encoded(Floats::Gaussian), Weights::Encoded(Floats::Asymmetric), Weights::Codes];
    let tokens = [Floats::Gaussian, Floats::Asymmetric, Floats::Outlier, Floats::Ones];
    for ty in TYPES {
        let mut worst = 0.0_f64;
        for blocks in BLOCKS {
            let k = k(ty, blocks);
            assert!(Reference::bound(ty.steps(k), 1.0) <= 1.0e-5, "{}: the bound of {blocks} blocks", ty.ty);
            for seed in 0..20 {
                for (weights, token) in weights.iter().flat_map(|w| tokens.iter().map(move |t| (w, t))) {
                    let (row, token) = (weights.row(ty, k, seed), token.row(k, 1000 + seed));
                    worst = worst.max(check(ty, &row, &token, |reference| reference.l1));
                }
            }
        }
        // A reference that followed the result would show no error at all.
        assert!(worst > 0.01, "{}: {worst}", ty.ty);
    }
}

#[test]
fn real_rows_are_within_the_bound_of_their_l1() {
    for ty in TYPES {
        let (k, rows) = real_rows(ty).expect("every type with a dot has an encoder");
        for token in real_tokens(k) {
            for row in &rows {
                check(ty, row, &token, |reference| reference.l1);
            }
        }
    }
}

/// Scales at both ends, of both signs and zero, by codes that are all equal; scales of parts at both ends and all different.
#[test]
fn adversarial_data_is_within_the_bound_of_its_parts() {
    for ty in TYPES {
        for blocks in BLOCKS {
            let k = ty.chunk() * blocks;
            for weights in [Weights::Edges, Weights::Extremes, Weights::Large] {
                let all = weights.row(ty, ty.chunk() * Weights::EDGE_BLOCKS, 0);
                for row in all.chunks_exact(k / ty.elements * ty.bytes) {
                    for token in [Floats::Ones, Floats::Flat, Floats::Peaks, Floats::Ties, Floats::Zeros, Floats::Small]
                    {
                        check(ty, row, &token.row(k, blocks as u64), |reference| reference.parts);
                    }
                }
            }
        }
    }
}

/// Why the bound of types with a minimum counts `|d q| + |m|`: they are rounded each for itself, and where they cancel
/// `|d q + m|` says nothing of that.
#[test]
fn where_scale_and_minimum_cancel_the_parts_bound_the_error_and_l1_does_not() {
    let ty = NaiveType::of(GgmlType::Q4_1).unwrap();
    let block = BlockQ4_1 { d: F16::from_f32(1.0), m: F16::from_f32(-8.0 - 1.0 / 128.0), qs: [0x88; 16] };
    let row = bytemuck::bytes_of(&block).repeat(3);
    let beyond_l1 = (0..50).filter(|&seed| {
        let token = Floats::Gaussian.row(96, seed);
        check(ty, &row, &token, |reference| reference.parts);
        let reference = Reference::new(ty, &row, &ty.met(&token));
        let error = (f64::from(dot(ty, &row, &token)) - reference.value).abs();
        error > Reference::bound(ty.steps(96), reference.l1)
    });
    assert!(beyond_l1.count() > 0);
}

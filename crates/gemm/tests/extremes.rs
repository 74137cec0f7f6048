//! Codes and scales at their ends by activations of ±127, on every tier: no intermediate sum may saturate or be rounded.

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::{BlockQ4_1, BlockQ8_0, F16, GgmlType, Matrix};
use keepq_gemm::{Driver, Scratch, Serial};
use keepq_goldens::inputs::{Floats, Weights};
use keepq_goldens::naive::TYPES;
use keepq_goldens::tested_tiers;

/// 16 blocks, whose sums an f32 holds exactly.
const K: usize = 512;
const N: usize = 9;

fn check(w: Matrix<'_>, x: f32, want: i32) {
    for tier in tested_tiers() {
        for m in [1, 2, 3, 8] {
            let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * N]);
            // amax = 127: the scale is 1 and the codes are the elements.
            let x = vec![x; m * K];
            let x = buffer.quantize(ActFormat::Q8_0, m, K, &x).unwrap();
            Driver::new(tier, &Serial).matmul(x, w, &mut y, &mut Scratch::new()).unwrap();
            assert_eq!(y, vec![(want * K as i32) as f32; m * N], "{} {tier} m = {m}", w.ty());
        }
    }
}

#[test]
fn q8_0() {
    for code in [-128_i8, -127, 127] {
        let blocks = vec![BlockQ8_0 { d: F16::from_f32(1.0), qs: [code; 32] }; N * K / 32];
        let w = Matrix::new(GgmlType::Q8_0, N, K, bytemuck::cast_slice(&blocks)).unwrap();
        for x in [127, -127] {
            check(w, x as f32, i32::from(code) * x);
        }
    }
}

#[test]
fn q4_1() {
    for (byte, code) in [(0xff, 15), (0x00, 0)] {
        let blocks = vec![BlockQ4_1 { d: F16::from_f32(2.0), m: F16::from_f32(-3.0), qs: [byte; 16] }; N * K / 32];
        let w = Matrix::new(GgmlType::Q4_1, N, K, bytemuck::cast_slice(&blocks)).unwrap();
        for x in [127, -127] {
            check(w, x as f32, (2 * code - 3) * x);
        }
    }
}

/// All types, one block long, by the dots of the naive implementation, whose integers are exact.
#[test]
fn every_type() {
    for ty in TYPES.iter().filter(|ty| !ty.is_float()) {
        let (n, k) = (2 * Weights::EXTREME_BLOCKS, ty.elements);
        let tokens = [Floats::Peaks.row(768, 1), Floats::Flat.row(512, 2), Floats::Ones.row(256, 3)].concat();
        let tokens: Vec<&[f32]> = tokens.chunks(256).map(|token| &token[..k]).collect();
        for seed in 0..4 {
            let halves = [Weights::Extremes, Weights::Large].map(|weights| weights.row(ty, n / 2 * k, seed));
            let w = halves.concat();
            let dots = |token: &&[f32]| w.chunks(ty.bytes).map(|row| ty.dot(row, token).to_bits()).collect::<Vec<_>>();
            let want: Vec<u32> = tokens.iter().flat_map(dots).collect();
            for tier in tested_tiers() {
                for m in [1, 2, 3, 6] {
                    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * n]);
                    let x = tokens[..m].concat();
                    let x = buffer.quantize(ActFormat::for_weights(ty.ty).unwrap(), m, k, &x).unwrap();
                    let matrix = Matrix::new(ty.ty, n, k, &w).unwrap();
                    Driver::new(tier, &Serial).matmul(x, matrix, &mut y, &mut Scratch::new()).unwrap();
                    let got: Vec<u32> = y.iter().map(|v| v.to_bits()).collect();
                    assert_eq!(got, want[..m * n], "{} {tier} m = {m}", ty.ty);
                }
            }
        }
    }
}

//! A dot is one chain over its blocks: permuting the blocks permutes its steps, and nothing else.

mod common;

use keepq_act::{ActBuf, ActFormat};
use keepq_blocks::Matrix;
use keepq_dot::Product;
use keepq_goldens::inputs::{Floats, Random, Weights};
use keepq_goldens::naive::{NaiveType, TYPES};

const BLOCKS: usize = 9;

/// The row by each of `m` copies of the token: the last one's.
fn dot(ty: &NaiveType, row: &[u8], token: &[f32], m: usize) -> f32 {
    let mut buffer = ActBuf::new();
    let (k, x) = (token.len(), token.repeat(m));
    let x = buffer.quantize(ActFormat::for_weights(ty.ty).unwrap(), m, k, &x).unwrap();
    let product = Product::new(x, Matrix::new(ty.ty, 1, k, row).unwrap()).unwrap();
    let y = common::products(product);
    y[m - 1]
}

/// What a block adds to a chain, step by step: for types with a minimum two numbers, each got with the other's scale at 0.
fn steps(ty: &NaiveType, block: &[u8], token: &[f32]) -> Vec<f32> {
    let step = |&field: &usize| {
        let mut alone = block.to_vec();
        ty.f16_fields.iter().filter(|&&other| other != field).for_each(|&other| alone[other..other + 2].fill(0));
        dot(ty, &alone, token, 1)
    };
    ty.f16_fields.iter().map(step).collect()
}

#[test]
fn permuting_blocks_permutes_partial_sums() {
    for ty in TYPES.iter().filter(|ty| !ty.is_float()) {
        let k = BLOCKS * ty.elements;
        let mut results = Vec::new();
        for seed in 0..30 {
            let row = Weights::Codes.row(ty, k, 40);
            let token = Floats::Asymmetric.row(k, 41);
            let (blocks, parts): (Vec<_>, Vec<_>) =
                (row.chunks(ty.bytes).collect(), token.chunks(ty.elements).collect());
            let mut order: Vec<usize> = (0..BLOCKS).collect();
            let mut random = Random::new(seed);
            (1..BLOCKS).rev().for_each(|i| order.swap(i, random.below(i + 1)));

            let pairs = order.iter().map(|&b| (blocks[b], parts[b]));
            let want = pairs.flat_map(|(block, part)| steps(ty, block, part)).fold(0.0, |acc, step| acc + step);
            let row: Vec<u8> = order.iter().flat_map(|&b| blocks[b]).copied().collect();
            let token: Vec<f32> = order.iter().flat_map(|&b| parts[b]).copied().collect();
            for m in [1, 3] {
                assert_eq!(dot(ty, &row, &token, m).to_bits(), f32::to_bits(want), "{} {order:?} m = {m}", ty.ty);
            }
            results.push(want.to_bits());
        }
        // The order matters, or the test would show nothing.
        assert!(results.iter().any(|&bits| bits != results[0]), "{}: any order gives the same", ty.ty);
    }
}

/// What stands in for blocks that are not there, where some are taken together, adds nothing.
#[test]
fn an_infinite_scale_in_the_last_block_stays_infinite() {
    for ty in TYPES.iter().filter(|ty| !ty.is_float()) {
        let k = BLOCKS * ty.elements;
        let (mut row, token) = (Weights::Codes.row(ty, k, 40), Floats::Asymmetric.row(k, 41));
        let d = row.len() - ty.bytes + ty.f16_fields[0];
        row[d..d + 2].copy_from_slice(&0x7c00_u16.to_le_bytes());
        assert!(dot(ty, &row, &token, 1).is_infinite(), "{}", ty.ty);
    }
}

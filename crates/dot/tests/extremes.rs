//! Integers are exact at their extremes, and what does not fit is refused.

mod common;

use keepq_act::{ActBuf, ActFormat, ActRows};
use keepq_blocks::{
    BlockQ2_K, BlockQ3_K, BlockQ4_0, BlockQ4_1, BlockQ4_K, BlockQ5_0, BlockQ5_1, BlockQ5_K, BlockQ6_K, BlockQ8_0, F16,
    GgmlType, Matrix,
};
use keepq_dot::{Product, ProductError, Quantized};
use keepq_goldens::inputs::{Floats, Weights};
use keepq_goldens::naive::NaiveType;

/// 16 blocks: 8,323,072 in magnitude, which an f32 still holds exactly.
const BLOCKS: usize = 16;
const K: usize = 32 * BLOCKS;

/// Every row by every token, for tokens that are multiplied in place and for those that are not.
fn products(w: Matrix<'_>, token: &[f32]) -> Vec<f32> {
    let mut all = Vec::new();
    for m in [1, 2, 3, 5] {
        let (mut buffer, tokens) = (ActBuf::new(), token.repeat(m));
        let x = buffer.quantize(ActFormat::Q8_0, m, K, &tokens).unwrap();
        all.extend(common::products(Product::new(x, w).unwrap()));
    }
    all
}

#[test]
fn q8_0_codes_of_minus_128_by_127() {
    let one = F16::from_f32(1.0);
    for (code, x, want) in [(-128, 127.0, -128 * 127), (-128, -127.0, 128 * 127), (127, -127.0, -127 * 127)] {
        let blocks = vec![BlockQ8_0 { d: one, qs: [code; 32] }; 3 * BLOCKS];
        let w = Matrix::new(GgmlType::Q8_0, 3, K, bytemuck::cast_slice(&blocks)).unwrap();
        // amax = 127: the scale is 1 and the codes are the elements.
        for y in products(w, &[x; K]) {
            assert_eq!(y, (want * K as i32) as f32);
        }
    }
}

#[test]
fn q4_1_codes_of_15_and_sums_by_127() {
    let (d, m) = (F16::from_f32(2.0), F16::from_f32(-3.0));
    for (byte, x, want) in [(0xff, 127.0, (30 - 3) * 127), (0xff, -127.0, -(30 - 3) * 127), (0x00, 127.0, -3 * 127)] {
        let blocks = vec![BlockQ4_1 { d, m, qs: [byte; 16] }; 3 * BLOCKS];
        let w = Matrix::new(GgmlType::Q4_1, 3, K, bytemuck::cast_slice(&blocks)).unwrap();
        for y in products(w, &[x; K]) {
            assert_eq!(y, (want * K as i32) as f32);
        }
    }
}

/// What sums of 16 bits hold.
const MOST: usize = i16::MAX as usize;

/// Blocks with every code and every scale of a part at their ends, by activations of ±127: no sum of products reaches 2^15
/// (the portable target would panic), where one of twice as many quads would, unless it is of a whole sub-block; and every dot
/// is the one of exact integers.
fn check_limits<B: Quantized>() {
    let ty = NaiveType::of(B::TYPE).unwrap();
    for seed in 0..4 {
        let n = Weights::EXTREME_BLOCKS;
        for weights in [Weights::Extremes, Weights::Large] {
            let bytes = weights.row(ty, n * B::LEN, seed);
            let tokens =
                [Floats::Peaks.row(768, seed), Floats::Flat.row(512, seed), Floats::Ones.row(256, seed)].concat();
            let tokens: Vec<&[f32]> = tokens.chunks(256).map(|token| &token[..B::LEN]).collect();
            for row in bytes.chunks(ty.bytes) {
                let w = Matrix::new(B::TYPE, 1, B::LEN, row).unwrap();
                let want: Vec<u32> = tokens.iter().map(|token| ty.dot(row, token).to_bits()).collect();
                assert_eq!(dots(w, &tokens), want, "{} by six tokens", B::TYPE);
                for (token, want) in tokens.iter().zip(&want) {
                    assert_eq!(dots(w, &[token]), [*want], "{} by one", B::TYPE);
                }
            }
        }
    }
    let largest = usize::from(B::MAX_CODE) * 127 * 2;
    assert!(B::QUADS * largest <= MOST, "{}: {} quads", B::TYPE, B::QUADS);
    let whole = 4 * B::QUADS == B::SUB_BLOCK.min(32);
    assert!(whole || 2 * B::QUADS * largest > MOST, "{}: no more than {} quads", B::TYPE, B::QUADS);
}

/// The bits of one row by all tokens.
fn dots(w: Matrix<'_>, tokens: &[&[f32]]) -> Vec<u32> {
    let (mut buffer, x) = (ActBuf::new(), tokens.concat());
    let format = ActFormat::for_weights(w.ty()).unwrap();
    let product = Product::new(buffer.quantize(format, tokens.len(), w.k(), &x).unwrap(), w).unwrap();
    common::products(product).iter().map(|v| v.to_bits()).collect()
}

#[test]
fn sixteen_bits_hold_as_many_products_as_they_can() {
    check_limits::<BlockQ4_0>();
    check_limits::<BlockQ4_1>();
    check_limits::<BlockQ5_0>();
    check_limits::<BlockQ5_1>();
    check_limits::<BlockQ8_0>();
    check_limits::<BlockQ2_K>();
    check_limits::<BlockQ3_K>();
    check_limits::<BlockQ4_K>();
    check_limits::<BlockQ5_K>();
    check_limits::<BlockQ6_K>();
}

#[test]
fn pairs_that_do_not_fit_are_refused() {
    let bytes = [0; 68];
    let w = Matrix::new(GgmlType::Q8_0, 1, 64, &bytes).unwrap();
    let mut buffer = ActBuf::new();
    // Activations of 33 elements cannot be made at all; of 32 they are whole blocks, but not this row's.
    let x = buffer.quantize(ActFormat::Q8_0, 1, 32, &[0.0; 32]).unwrap();
    assert_eq!(Product::new(x, w).unwrap_err(), ProductError::WrongK { weights: 64, activations: 32 });
    let x = ActRows::f32(1, 64, &[0.0; 64]).unwrap();
    let (wanted, found) = (ActFormat::Q8_0, ActFormat::F32);
    assert_eq!(Product::new(x, w).unwrap_err(), ProductError::WrongFormat { ty: GgmlType::Q8_0, wanted, found });
    // Blocks of 32 are not what super-blocks meet, nor the other way round; and there are types without a kernel.
    let (super_block, x) = ([0; 144], [0.0; 256]);
    let (mut of_32, mut of_256) = (ActBuf::new(), ActBuf::new());
    let of_32 = of_32.quantize(ActFormat::Q8_0, 1, 256, &x).unwrap();
    let w = Matrix::new(GgmlType::Q4_K, 1, 256, &super_block).unwrap();
    let (wanted, found) = (ActFormat::Q8_K, ActFormat::Q8_0);
    assert_eq!(Product::new(of_32, w).unwrap_err(), ProductError::WrongFormat { ty: GgmlType::Q4_K, wanted, found });
    let of_256 = of_256.quantize(ActFormat::Q8_K, 1, 256, &x).unwrap();
    let w = Matrix::new(GgmlType::Q4_0, 1, 256, &super_block).unwrap();
    let (wanted, found) = (ActFormat::Q8_0, ActFormat::Q8_K);
    assert_eq!(Product::new(of_256, w).unwrap_err(), ProductError::WrongFormat { ty: GgmlType::Q4_0, wanted, found });
    for ty in [GgmlType::IQ4_NL, GgmlType::IQ4_XS, GgmlType::MXFP4] {
        let bytes = vec![0; ty.row_bytes(256).unwrap()];
        let w = Matrix::new(ty, 1, 256, &bytes).unwrap();
        assert_eq!(Product::new(of_32, w).unwrap_err(), ProductError::NoKernel { ty });
    }
    // Float rows may have any length, but have to have the same.
    let w = Matrix::new(GgmlType::F32, 1, 17, &bytes).unwrap();
    let x = ActRows::f32(1, 16, &[0.0; 16]).unwrap();
    assert_eq!(Product::new(x, w).unwrap_err(), ProductError::WrongK { weights: 17, activations: 16 });
}

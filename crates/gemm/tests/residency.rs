//! A weight gives the product of what it holds: the file's blocks, or their values rounded to bf16, in either orientation.

#[allow(dead_code, reason = "a weight asks for tokens in the format it wants")]
mod common;

use common::Problem;
use keepq_act::ActBuf;
use keepq_blocks::{Bf16, GgmlType, Matrix};
use keepq_dot::Interleaved;
use keepq_gemm::{Driver, Reason, Residency, Scratch, Serial, Weight};
use keepq_simd::Tier;

const M: usize = 3;
const N: usize = 21;

/// The bits of all tokens by a weight.
fn product(weight: &Weight<'_>, x: &[f32]) -> Vec<u32> {
    let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; M * N]);
    let driver = Driver::new(Tier::best(), &Serial);
    weight.matmul(&driver, &mut buffer.share(M, weight.k(), x), &mut y, &mut Scratch::new()).unwrap();
    y.iter().map(|v| v.to_bits()).collect()
}

/// The elements of all rows, rounded to bf16: a BF16 matrix.
fn rounded(matrix: &Matrix<'_>) -> Vec<u8> {
    let mut row = vec![0.0; matrix.k()];
    let mut bytes = Vec::new();
    for i in 0..matrix.n() {
        matrix.decode_row(i, &mut row).unwrap();
        bytes.extend(row.iter().flat_map(|&v| Bf16::from_f32(v).to_bits().to_le_bytes()));
    }
    bytes
}

fn bf16(bytes: &[u8], k: usize) -> Weight<'_> {
    Weight::new(Matrix::new(GgmlType::BF16, N, k, bytes).unwrap(), Residency::Strict).unwrap()
}

#[test]
fn blocks_are_kept_or_expanded_as_asked() {
    for problem in Problem::all(M, N, 3) {
        let is_float = matches!(problem.ty, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16);
        let kept = Weight::new(problem.matrix(), Residency::Keep).unwrap();
        assert_eq!((kept.n(), kept.k(), kept.expansion()), (N, problem.k, None), "{}", problem.ty);
        let (kept, bytes) = (product(&kept, &problem.x), rounded(&problem.matrix()));
        let rounded = product(&bf16(&bytes, problem.k), &problem.x);
        let interleaved = Weight::new(problem.matrix(), Residency::Interleave).unwrap();
        // Of whole eights of rows.
        let bytes = problem.matrix().bytes().len() / N * N.next_multiple_of(8);
        let copied = Interleaved::supports(problem.ty).then_some((bytes, Reason::Interleaved));
        assert_eq!(interleaved.expansion(), copied, "{}", problem.ty);
        assert_eq!(product(&interleaved, &problem.x), kept, "{}", problem.ty);
        for residency in [Residency::ExpandNk, Residency::ExpandKn, Residency::Reference] {
            let weight = Weight::new(problem.matrix(), residency).unwrap();
            let expanded = (2 * N * problem.k, Reason::Asked);
            assert_eq!(weight.expansion(), (!is_float).then_some(expanded), "{} {residency:?}", problem.ty);
            let want = if is_float { &kept } else { &rounded };
            assert_eq!(&product(&weight, &problem.x), want, "{} {residency:?}", problem.ty);
        }
    }
}

#[test]
fn interleaved_rows_give_the_same_on_every_tier_for_any_number_of_tokens() {
    for m in 1..=9 {
        for problem in Problem::all(m, 137, 3) {
            let interleaved = Weight::new(problem.matrix(), Residency::Interleave).unwrap();
            let kept = Weight::new(problem.matrix(), Residency::Keep).unwrap();
            let product = |tier, weight: &Weight<'_>| {
                let (mut buffer, mut y) = (ActBuf::new(), vec![f32::NAN; m * problem.n]);
                let mut x = buffer.share(m, problem.k, &problem.x);
                weight.matmul(&Driver::new(tier, &Serial), &mut x, &mut y, &mut Scratch::new()).unwrap();
                y.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            };
            let want = product(Tier::PORTABLE, &kept);
            for tier in Tier::available() {
                assert_eq!(product(tier, &interleaved), want, "{} {tier} m = {m}", problem.ty);
            }
        }
    }
}

#[test]
fn a_type_without_a_kernel_is_expanded_and_says_so() {
    let (k, x) = (64, [0.5; M * 64]);
    let bytes: Vec<u8> = (0..N * 2 * 18).map(|i| if i % 18 == 1 { 0x2c } else { (i * 37 % 256) as u8 }).collect();
    let matrix = Matrix::new(GgmlType::IQ4_NL, N, k, &bytes).unwrap();
    let weight = Weight::new(matrix, Residency::Keep).unwrap();
    assert_eq!(weight.expansion(), Some((2 * N * k, Reason::NoKernel)));
    assert_eq!(product(&weight, &x), product(&bf16(&rounded(&matrix), k), &x));
    assert!(Weight::new(matrix, Residency::Strict).is_err());
}

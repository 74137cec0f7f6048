//! What does not fit is refused by the driver, and nothing is written then.

use keepq_act::{ActBuf, ActError, ActFormat, ActRows};
use keepq_blocks::{Bf16, GgmlType, Matrix};
use keepq_dot::ProductError;
use keepq_dot::kn::KnMatrix;
use keepq_gemm::{Driver, MatmulError, Residency, Scratch, Serial, Weight};
use keepq_simd::Tier;

fn driver() -> Driver<'static> {
    Driver::new(Tier::best(), &Serial)
}

#[test]
fn shapes_that_do_not_fit() {
    let bytes = [0; 3 * 68];
    let w = Matrix::new(GgmlType::Q8_0, 3, 64, &bytes).unwrap();
    let (mut buffer, mut scratch) = (ActBuf::new(), Scratch::new());
    let mut refused = |x: ActRows<'_>, y: &mut [f32]| {
        let error = driver().matmul(x, w, y, &mut scratch).unwrap_err();
        assert!(y.iter().all(|&v| v == 7.0), "{error} was written over");
        error
    };

    // k = 33 is ragged and cannot be quantized; 32 and 96 are not this matrix's.
    let x = [0.0; 4 * 96];
    let ragged = buffer.quantize(ActFormat::Q8_0, 1, 33, &x[..33]).unwrap_err();
    assert_eq!(ragged, ActError::RaggedRow { format: ActFormat::Q8_0, k: 33 });
    for k in [32, 96] {
        let acts = buffer.quantize(ActFormat::Q8_0, 2, k, &x[..2 * k]).unwrap();
        let want = ProductError::WrongK { weights: 64, activations: k };
        assert_eq!(refused(acts, &mut [7.0; 6]), MatmulError::Product(want));
    }
    let acts = ActRows::f32(2, 64, &x[..128]).unwrap();
    let want = ProductError::WrongFormat { ty: GgmlType::Q8_0, wanted: ActFormat::Q8_0, found: ActFormat::F32 };
    assert_eq!(refused(acts, &mut [7.0; 6]), MatmulError::Product(want));
    let acts = buffer.quantize(ActFormat::Q8_0, 2, 64, &x[..128]).unwrap();
    for len in [0, 5, 7] {
        assert_eq!(refused(acts, &mut vec![7.0; len]), MatmulError::WrongOutput { m: 2, n: 3, found: len });
    }
}

#[test]
fn shapes_that_do_not_fit_the_other_orientation() {
    let elements = [Bf16::default(); 6];
    let w = KnMatrix::new(2, 3, &elements).unwrap();
    let (mut buffer, mut scratch, mut y) = (ActBuf::new(), Scratch::new(), [7.0; 2]);
    let mut refused = |x: ActRows<'_>| driver().matmul_kn(x, w, &mut y, &mut scratch).unwrap_err();
    let want = ProductError::WrongK { weights: 3, activations: 4 };
    assert_eq!(refused(ActRows::f32(1, 4, &[0.0; 4]).unwrap()), MatmulError::Product(want));
    assert_eq!(refused(ActRows::f32(2, 3, &[0.0; 6]).unwrap()), MatmulError::WrongOutput { m: 2, n: 2, found: 2 });
    let quantized = buffer.quantize(ActFormat::Q8_0, 1, 32, &[0.0; 32]).unwrap();
    assert!(matches!(refused(quantized), MatmulError::Product(ProductError::WrongFormat { .. })));
    assert_eq!(y, [7.0; 2]);
}

#[test]
fn shared_activations_that_are_ragged() {
    let bytes = [0; 34];
    let weight = Weight::new(Matrix::new(GgmlType::Q8_0, 1, 32, &bytes).unwrap(), Residency::Keep).unwrap();
    let (mut buffer, x) = (ActBuf::new(), [0.0; 31]);
    let error = weight.matmul(&driver(), &mut buffer.share(1, 31, &x), &mut [7.0], &mut Scratch::new()).unwrap_err();
    assert_eq!(error, MatmulError::Acts(ActError::RaggedRow { format: ActFormat::Q8_0, k: 31 }));
}

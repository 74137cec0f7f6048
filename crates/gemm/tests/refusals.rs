//! What does not fit is refused by the driver, and nothing is written then.

use keepq_act::{ActBuf, ActError, ActFormat, ActRows};
use keepq_blocks::{Bf16, GgmlType, Matrix};
use keepq_dot::ProductError;
use keepq_dot::kn::KnMatrix;
use keepq_gemm::{Driver, MatmulError, Residency, Route, Scratch, Serial, StackError, Weight, WeightStack};
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

/// By the driver, and by a resident stack where there is one.
#[test]
fn routes_and_stacks_that_do_not_fit() {
    let bytes = [0; 3 * 68];
    let slice = |n: usize| Matrix::new(GgmlType::Q8_0, n, 64, &bytes[..68 * n]).unwrap();
    let narrow = Matrix::new(GgmlType::Q8_0, 3, 32, &bytes[..3 * 34]).unwrap();
    let no_kernel = Matrix::new(GgmlType::IQ4_NL, 3, 64, &bytes[..3 * 36]).unwrap();
    let route = |row, slice| Route { row, slice };
    let refused = |stack: &[Matrix<'_>], k: usize, routes: &[Route], len: usize| {
        let (mut buffer, mut scratch, x) = (ActBuf::new(), Scratch::new(), [0.0; 128]);
        let mut x = buffer.share(128 / k, k, &x);
        let mut y = vec![7.0; len];
        let error = driver().matmul_indexed(&mut x, stack, routes, &mut y, &mut scratch).unwrap_err();
        if let Ok(stack) = WeightStack::new(stack, Residency::Strict) {
            let resident = stack.matmul_indexed(&driver(), &mut x, routes, &mut y, &mut scratch).unwrap_err();
            assert_eq!(resident, error);
        }
        assert!(y.iter().all(|&v| v == 7.0), "{error} was written over");
        error
    };

    let two = [slice(3), slice(3)];
    let good = [route(0, 0), route(1, 1)];
    assert_eq!(refused(&[], 64, &good, 6), MatmulError::Stack(StackError::Empty));
    let shape = |found| MatmulError::Stack(StackError::Shape { slice: 1, expected: (3, 64), found });
    assert_eq!(refused(&[slice(3), slice(2)], 64, &good, 6), shape((2, 64)));
    assert_eq!(refused(&[slice(3), narrow], 64, &good, 6), shape((3, 32)));
    for k in [32, 128] {
        let want = ProductError::WrongK { weights: 64, activations: k };
        assert_eq!(refused(&two, k, &good, 6), MatmulError::Product(want));
    }
    // The last route is the wrong one.
    let no_row = MatmulError::NoSuchRow { route: 2, row: 2, m: 2 };
    assert_eq!(refused(&two, 64, &[good[0], good[1], route(2, 0)], 9), no_row);
    let no_slice = MatmulError::NoSuchSlice { route: 2, slice: u32::MAX, slices: 2 };
    assert_eq!(refused(&two, 64, &[good[0], good[1], route(0, u32::MAX)], 9), no_slice);
    for len in [0, 5, 7] {
        assert_eq!(refused(&two, 64, &good, len), MatmulError::WrongOutput { m: 2, n: 3, found: len });
    }
    assert_eq!(refused(&two, 64, &[], 1), MatmulError::WrongOutput { m: 0, n: 3, found: 1 });

    // Only a route makes a type without a kernel an error.
    let stack = [slice(3), no_kernel];
    let want = StackError::NoKernel { slice: 1, ty: GgmlType::IQ4_NL };
    assert_eq!(refused(&stack, 64, &good, 6), MatmulError::Stack(want));
    assert_eq!(WeightStack::new(&stack, Residency::Strict).unwrap_err(), want);
    let (mut buffer, mut y) = (ActBuf::new(), [7.0; 3]);
    let mut x = buffer.share(1, 64, &[0.0; 64]);
    driver().matmul_indexed(&mut x, &stack, &good[..1], &mut y, &mut Scratch::new()).unwrap();
    assert_eq!(y, [0.0; 3]);
}

#[test]
fn indexed_activations_that_are_not_what_they_say() {
    let bytes = [0; 68];
    let stack = [Matrix::new(GgmlType::Q8_0, 1, 64, &bytes).unwrap()];
    let (mut buffer, mut y) = (ActBuf::new(), [7.0]);
    let mut x = buffer.share(2, 64, &[0.0; 127]);
    let route = [Route { row: 0, slice: 0 }];
    let error = driver().matmul_indexed(&mut x, &stack, &route, &mut y, &mut Scratch::new()).unwrap_err();
    assert_eq!(error, MatmulError::Acts(ActError::WrongLength { m: 2, k: 64, expected: 128, found: 127 }));
    assert_eq!(y, [7.0]);
}

#[test]
fn errors_say_where_and_what() {
    let text = |error: &dyn std::error::Error| error.to_string();
    assert_eq!(text(&MatmulError::NoSuchRow { route: 5, row: 9, m: 4 }), "route 5 takes row 9 of 4");
    assert_eq!(text(&MatmulError::NoSuchSlice { route: 5, slice: 9, slices: 8 }), "route 5 leads to slice 9 of 8");
    let shape = StackError::Shape { slice: 3, expected: (4, 64), found: (5, 32) };
    assert_eq!(text(&MatmulError::Stack(shape)), "slice 3 has 5 rows of 32 elements, the first one 4 of 64");
    let no_kernel = StackError::NoKernel { slice: 2, ty: GgmlType::IQ4_NL };
    assert_eq!(text(&no_kernel), "slice 2: IQ4_NL weights cannot be multiplied in place by this version");
}

#[test]
fn shared_activations_that_are_ragged() {
    let bytes = [0; 34];
    let weight = Weight::new(Matrix::new(GgmlType::Q8_0, 1, 32, &bytes).unwrap(), Residency::Keep).unwrap();
    let (mut buffer, x) = (ActBuf::new(), [0.0; 31]);
    let error = weight.matmul(&driver(), &mut buffer.share(1, 31, &x), &mut [7.0], &mut Scratch::new()).unwrap_err();
    assert_eq!(error, MatmulError::Acts(ActError::RaggedRow { format: ActFormat::Q8_0, k: 31 }));
}

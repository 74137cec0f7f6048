//! What does not fit is refused, and nothing is written then.

use half::bf16;
use keepq_dot::ProductError;
use keepq_gemm::{Driver, MatmulError, Scratch, Serial, W4A16Weight};
use keepq_simd::Tier;
use keepq_tinygemm::ActBuf;

use crate::weights::Weights;

#[test]
fn shapes_that_do_not_fit() {
    let (m, n, k) = (2, 64, 96);
    let weights = Weights::new(n, k, 32);
    let (driver, mut scratch) = (Driver::new(Tier::best(), &Serial), Scratch::new());
    let x = vec![1.0; 3 * (k + 32)];
    for (path, (name, _)) in weights.paths().into_iter().enumerate() {
        let mut refused = |x: &[f32], len: usize| {
            let mut y = vec![7.0; len];
            let error = weights.multiply(path, &driver, m, x, &mut y, &mut scratch).unwrap_err();
            assert!(y.iter().all(|&y| y == 7.0), "{name}: {error} was written over");
            error
        };
        for found in [0, m * n - 1, m * n + 1] {
            assert_eq!(refused(&x[..m * k], found), MatmulError::WrongOutput { m, n, found }, "{name}");
        }
        // Activations of int8 have a k of their own.
        if !matches!(path, 3 | 4) {
            for found in [0, m * k - 1, m * k + 1] {
                assert_eq!(refused(&x[..found], m * n), MatmulError::WrongInput { m, k, found }, "{name}");
            }
        }
    }

    let (mut buffer, mut y) = (ActBuf::new(), vec![7.0; m * n]);
    let acts = buffer.quantize(m, k + 32, &x[..m * (k + 32)]).unwrap();
    let want = MatmulError::Product(ProductError::WrongK { weights: k, activations: k + 32 });
    assert_eq!(driver.matmul_w4a8(acts, weights.w4a8(), &mut y, &mut scratch), Err(want));
    assert_eq!(driver.matmul_int4(acts, &weights.int4, &mut y, &mut scratch), Err(want));
    assert!(y.iter().all(|&y| y == 7.0));
}

#[test]
fn shapes_of_bf16_that_do_not_fit() {
    let weights = Weights::new(64, 64, 32);
    let w = W4A16Weight::from(weights.w4a16(1));
    let (driver, mut scratch) = (Driver::new(Tier::best(), &Serial), Scratch::new());
    let mut refused = |m, x: usize, y: usize| {
        let mut y = vec![bf16::NEG_ONE; y];
        let error = driver.matmul_w4a16(m, &vec![bf16::ONE; x], &w, &mut y, &mut scratch).unwrap_err();
        assert!(y.iter().all(|&y| y == bf16::NEG_ONE), "{error} was written over");
        error
    };
    let error = refused(2, 127, 128);
    assert_eq!(error, MatmulError::WrongInput { m: 2, k: 64, found: 127 });
    assert_eq!(error.to_string(), "2 tokens of 64 activations are no input of 127 elements");
    assert_eq!(refused(2, 128, 127), MatmulError::WrongOutput { m: 2, n: 64, found: 127 });
    let m = usize::MAX;
    assert_eq!(refused(m, 64, 64), MatmulError::WrongInput { m, k: 64, found: 64 });
}

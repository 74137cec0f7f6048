//! What is made is read back to the bit, and is as near to the floats as its codes allow.

use keepq_checkpoint::{Method, Recipe, RowFault, ZeroPoints};

use crate::folder::{Folder, config, make, weights};

pub(crate) const METHODS: [Method; 6] = [
    Method::Gptq(ZeroPoints::LessOne),
    Method::Gptq(ZeroPoints::AsTheyAre),
    Method::Awq,
    Method::CpuInt4,
    Method::W4A8,
    Method::Int4,
];

#[test]
fn what_is_made_is_read_back_to_the_bit() {
    let (n, k) = (64, 256);
    let weights = weights(n, k);
    for method in METHODS {
        for (group, asymmetric) in [(32, false), (64, true), (128, false), (256, true)] {
            let recipe = Recipe::new(method, group, asymmetric).unwrap();
            let made = make(&recipe, "w", (n, k), &weights);
            let folder = Folder::new(&config(&recipe), &made.tensors);
            let files = folder.open().unwrap();
            let checkpoint = files.parse().unwrap();
            assert_eq!(checkpoint.quantization().method, method);
            let linear = checkpoint.linear("w", (n, k)).unwrap();
            assert_eq!(
                linear.bytes(),
                made.tensors.iter().filter(|t| !t.0.ends_with("g_idx")).map(|t| t.3.len()).sum::<usize>()
            );
            let groups = recipe.groups(k);
            let (mut row, mut squares, mut total) = (vec![0.0; k], 0.0, 0.0);
            for r in 0..n {
                linear.decode_row(r, &mut row);
                for (i, found) in row.iter().enumerate() {
                    let at = r * groups + if groups == 1 { 0 } else { i / group };
                    let (scale, zero) = (made.scales.scales[at], made.scales.zeros[at]);
                    let code = f32::from(made.codes[r * k + i]);
                    let expected =
                        if method == Method::CpuInt4 { (code - 8.0) * scale + zero } else { (code - zero) * scale };
                    assert_eq!(*found, expected, "{method:?} {group} {asymmetric} [{r}, {i}]");
                    let weight = f64::from(weights[r * k + i]);
                    squares += (f64::from(*found) - weight).powi(2);
                    total += weight * weight;
                }
            }
            // Uniform weights in 16 steps are off by about 1 / sqrt(12) of a step.
            let relative = (squares / total).sqrt();
            assert!((0.005..0.12).contains(&relative), "{method:?} {group} {asymmetric}: {relative}");
        }
    }
}

#[test]
fn each_group_has_the_least_error_of_its_candidates() {
    let (n, k, group) = (32, 64, 64);
    let weights = weights(n, k);
    let squares = |method, asymmetric| {
        let recipe = Recipe::new(method, group, asymmetric).unwrap();
        let made = make(&recipe, "w", (n, k), &weights);
        (0..n * k)
            .map(|i| {
                let (scale, zero) = (made.scales.scales[i / group], made.scales.zeros[i / group]);
                let code = f32::from(made.codes[i]);
                let w = if method == Method::CpuInt4 { (code - 8.0) * scale + zero } else { (code - zero) * scale };
                f64::from(w - weights[i]).powi(2)
            })
            .sum::<f64>()
    };
    // More freedom, less error; W4A8's scales have more bits than those of GPTQ.
    let (symmetric, asymmetric) = (squares(Method::Gptq(ZeroPoints::LessOne), false), squares(Method::W4A8, true));
    assert!(asymmetric < symmetric, "{asymmetric} {symmetric}");
    assert!(squares(Method::W4A8, false) < symmetric * 1.001);
    assert!(squares(Method::CpuInt4, true) < symmetric);

    // The factor 1.06 of the symmetric search, recomputed: never better than what was chosen.
    let by_hand: f64 = weights
        .chunks(group)
        .map(|w| {
            let amax = w.iter().fold(0.0_f32, |a, w| a.max(w.abs()));
            let scale = half::f16::from_f32(1.06 * (amax / 8.0)).to_f32();
            w.iter().map(|w| f64::from((w / scale).round_ties_even().clamp(-8.0, 7.0) * scale - w).powi(2)).sum::<f64>()
        })
        .sum();
    assert!(symmetric <= by_hand, "{symmetric} {by_hand}");
}

#[test]
fn rows_that_cannot_be_quantized_say_where() {
    let mut row = vec![0.5; 64];
    let fault = |method, row: &[f32]| {
        Recipe::new(method, 32, false).unwrap().scales(row, &mut [0.0; 2], &mut [0.0; 2]).unwrap_err()
    };
    row[40] = f32::NAN;
    for method in METHODS {
        assert_eq!(fault(method, &row), RowFault::NotFinite { column: 40 });
    }
    row[40] = 1e7;
    assert_eq!(fault(Method::Awq, &row), RowFault::ScaleOverflow { column: 32 });
    assert_eq!(Recipe::new(Method::None, 32, false), None);
}

#[test]
fn extremes_are_quantized() {
    for method in METHODS {
        let recipe = Recipe::new(method, 32, false).unwrap();
        for row in [vec![0.0; 64], vec![-0.0; 64], vec![f32::MIN_POSITIVE / 4.0; 64], vec![1e-30; 64]] {
            let (mut scales, mut zeros, mut codes) = ([0.0; 2], [0.0; 2], [0; 64]);
            recipe.scales(&row, &mut scales, &mut zeros).unwrap();
            recipe.codes(&row, &scales, &zeros, &mut codes);
            assert!(codes.iter().all(|&code| code < 16), "{method:?}");
            assert!(scales.iter().chain(&zeros).all(|x| x.is_finite()), "{method:?} {scales:?} {zeros:?}");
        }
    }
}

#[test]
fn shapes_that_a_form_has_not_are_refused() {
    let parts = |method, shape| Recipe::new(method, 64, false).unwrap().parts(shape).map(|parts| parts.len());
    let text = |method, shape| parts(method, shape).unwrap_err().to_string();
    assert_eq!(text(Method::Awq, (12, 64)), "awq: 12 rows are no multiple of 8");
    assert_eq!(text(Method::W4A8, (48, 64)), "w4a8: 48 rows are no multiple of 32");
    let group = "cpu_int4: rows of 96 codes in groups of 64: of 32, 64, 128 or 256, and a divisor of k";
    assert_eq!(text(Method::CpuInt4, (3, 96)), group);
    assert_eq!((parts(Method::Int4, (3, 97)), parts(Method::CpuInt4, (3, 128))), (Ok(2), Ok(3)));
}

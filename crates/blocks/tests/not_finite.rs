//! Elements that are not finite: refused when they are encoded, found by row and block in weights.

use keepq_blocks::{EncodeError, GgmlType, Matrix, encode_row};

#[test]
fn none_is_encoded_and_the_first_is_named() {
    for &ty in GgmlType::ALL {
        let (k, mut out) = (2 * ty.block_len(), vec![0; 2 * ty.block_bytes()]);
        if encode_row(ty, &vec![0.0; k], &mut out).is_err() {
            continue;
        }
        let zeros = out.clone();
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for index in [0, k / 2, k - 1] {
                let mut x = vec![1.0; k];
                (x[index], x[k - 1]) = (odd, odd);
                assert_eq!(encode_row(ty, &x, &mut out), Err(EncodeError::NotFinite { index }), "{ty} {odd}");
            }
        }
        assert_eq!(out, zeros, "{ty}: nothing is written");
    }
}

#[test]
fn a_damaged_scale_is_found_in_its_row_and_block() {
    // Four rows of three blocks; the scale is the first thing in each, and infinite.
    let (n, blocks, bytes) = (4, 3, 34);
    for damaged in 0..n * blocks {
        let mut rows = vec![1; n * blocks * bytes];
        rows[damaged * bytes..][..2].copy_from_slice(&0x7c00_u16.to_le_bytes());
        rows[(n * blocks - 1) * bytes..][..2].copy_from_slice(&0x7e00_u16.to_le_bytes());
        let matrix = Matrix::new(GgmlType::Q8_0, n, 32 * blocks, &rows).unwrap();
        assert_eq!(matrix.first_not_finite(), Some((damaged / blocks, damaged % blocks)));
    }
}

/// Bytes with no sense at all, and some whose scales are near infinity, in blocks of every type: what is seen in the scales is what
/// the decoded elements show.
#[test]
fn scales_tell_of_the_elements() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for &ty in GgmlType::ALL {
        let (k, blocks) = (ty.block_len(), 200);
        let (mut finite, mut others) = (0, 0);
        for _ in 0..20 {
            // High bytes of floats are mostly those of the largest and of infinity.
            let mut bytes: Vec<u8> = (0..blocks * ty.block_bytes()).map(|_| random()).collect();
            for byte in &mut bytes {
                *byte = if random() % 8 == 0 {
                    [0x7b, 0x7c, 0x7f, 0xff, 0xfb, 0xfc][usize::from(random() % 6)]
                } else {
                    *byte
                };
            }
            let Ok(matrix) = Matrix::new(ty, blocks, k, &bytes) else { break };
            for row in 0..blocks {
                let mut elements = vec![0.0; k];
                matrix.decode_row(row, &mut elements).unwrap();
                let is_finite = elements.iter().all(|element| element.is_finite());
                assert_eq!(matrix.rows(row..row + 1).first_not_finite().is_none(), is_finite, "{ty}");
                *(if is_finite { &mut finite } else { &mut others }) += 1;
            }
            let first = (0..blocks).find(|&row| matrix.rows(row..row + 1).first_not_finite().is_some());
            assert_eq!(matrix.first_not_finite(), first.map(|row| (row, 0)), "{ty}");
        }
        assert!(finite + others == 0 || finite > 0 && others > 0, "{ty}: {finite} finite, {others} not");
    }
}

//! Packed bytes and results equal those of PyTorch's operators under each capability (`tests/data/README.md`).

mod common;

use common::Arrays;
use half::bf16;
use keepq_tinygemm::w4a16::{Layout, Packed, Weights, pack};
use keepq_tinygemm::{narrow, widen};

/// Shape, then the codes followed by the bytes packed under AVX-512, AVX2 and default.
const CASES: [(usize, usize, &[u8]); 2] =
    [(32, 64, include_bytes!("data/int4pack_32_64.bin")), (80, 256, include_bytes!("data/int4pack_80_256.bin"))];

#[test]
fn packs_and_unpacks_as_torch_does() {
    for (n, k, file) in CASES {
        let (codes, packed) = file.split_at(n * k);
        assert_eq!(packed.len(), Layout::ALL.len() * n * k / 2);
        for (layout, want) in Layout::ALL.into_iter().zip(packed.chunks_exact(n * k / 2)) {
            let mut bytes = vec![0; n * k / 2];
            pack(layout, n, k, codes, &mut bytes).unwrap();
            assert!(bytes == want, "{layout:?} [{n},{k}]: packed bytes differ from torch's");

            let mut unpacked = vec![0; n * k];
            Packed::new(layout, n, k, want).unwrap().unpack(&mut unpacked).unwrap();
            assert!(unpacked == codes, "{layout:?} [{n},{k}]: codes differ from torch's");
        }
    }
}

/// Shape and group, then: activations `[32,K]`, scales and zeros `[K/g,N,2]`, codes `[N,K]`, the bytes packed under AVX-512, AVX2 and
/// default, and the results of 32 tokens `[32,N]` in the same order.
const STRESS: [(usize, usize, usize, &[u8]); 2] = [
    (64, 128, 32, include_bytes!("data/w4a16_stress2_64_128_32.bin")),
    (80, 512, 128, include_bytes!("data/w4a16_stress_80_512_128.bin")),
];

/// Tokens of the results.
const M: usize = 32;

#[test]
fn results_are_those_of_each_layout_and_tell_them_apart() {
    for (n, k, group, file) in STRESS {
        let mut file = Arrays(file);
        let (x, pairs) = (file.bf16s(M * k), file.bf16s(k / group * n * 2));
        let scales = pairs.as_chunks().0;
        let codes = file.bytes(n * k);
        let packed = [(); 3].map(|()| file.bytes(n * k / 2));
        let want = [(); 3].map(|()| file.bf16s(M * n));
        assert!(file.0.is_empty());
        // They differ, so that one arithmetic for all would not do.
        assert!(want[0] != want[2] && want[1] != want[2] && (want[0] != want[1] || n == 80));

        let mut wide = vec![0.0; M * k];
        widen(&x, &mut wide);
        for (i, layout) in Layout::ALL.into_iter().enumerate() {
            let mut bytes = vec![0; n * k / 2];
            pack(layout, n, k, codes, &mut bytes).unwrap();
            assert!(bytes == packed[i], "{layout:?} [{n},{k}]: packed bytes differ from torch's");

            let w = Weights::new(Packed::new(layout, n, k, packed[i]).unwrap(), group, scales).unwrap();
            // All tokens, and each by itself.
            for m in [M, 1] {
                for (x, want) in wide.chunks_exact(m * k).zip(want[i].chunks_exact(m * n)) {
                    let (mut y, mut rounded) = (vec![f32::NAN; m * n], vec![bf16::NAN; m * n]);
                    w.multiply(x, &mut y);
                    narrow(&y, &mut rounded);
                    assert!(rounded == want, "{layout:?} [{n},{k}], m = {m}: results differ from torch's");
                }
            }
        }
    }
}

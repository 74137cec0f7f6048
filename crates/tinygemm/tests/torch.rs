//! Packed bytes equal those of PyTorch's operator under each capability (`tests/data/README.md`).

use keepq_tinygemm::w4a16::{Layout, Packed, pack};

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

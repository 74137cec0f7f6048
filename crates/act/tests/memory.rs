//! What a buffer holds, which its owner reports.

use keepq_act::{ActBuf, ActFormat, ActRows};

#[test]
fn bytes_are_those_of_codes_scales_and_sums() {
    let (x, mut buffer) = ([1.0; 512], ActBuf::new());
    assert_eq!(buffer.bytes(), 0);
    buffer.quantize(ActFormat::F32, 2, 64, &x[..128]).unwrap();
    assert_eq!(buffer.bytes(), 0, "floats are viewed where they are");
    // Four blocks of 32 codes, an f32, two i16.
    let q8_0 = 4 * (32 + 4 + 4);
    buffer.quantize(ActFormat::Q8_0, 2, 64, &x[..128]).unwrap();
    assert_eq!(buffer.bytes(), q8_0);
    // Two of 256 codes, an f32, sixteen i16.
    let q8_k = 2 * (256 + 4 + 32);
    buffer.quantize(ActFormat::Q8_K, 1, 512, &x).unwrap();
    assert_eq!(buffer.bytes(), q8_0 + q8_k);
    buffer.gather(ActRows::f32(1, 7, &x[..7]).unwrap(), [0, 0, 0]);
    assert_eq!(buffer.bytes(), q8_0 + q8_k + 3 * 7 * 4);
}

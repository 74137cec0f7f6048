//! [`Output`]: what a case computes, as bytes that can be hashed.

use md5::{Digest, Md5};

/// Bytes, in which every NaN is the same NaN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output(Vec<u8>);

impl Output {
    /// Of bytes that hold no NaN, or none that matters.
    #[must_use]
    pub const fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Of floats.
    #[must_use]
    pub fn of_floats<'a>(floats: impl IntoIterator<Item = &'a f32>) -> Self {
        let mut output = Self::default();
        output.push_floats(floats);
        output
    }

    /// Appends bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Appends floats, little-endian.
    pub fn push_floats<'a>(&mut self, floats: impl IntoIterator<Item = &'a f32>) {
        for float in floats {
            let float = if float.is_nan() { f32::NAN } else { *float };
            self.0.extend(float.to_bits().to_le_bytes());
        }
    }

    /// Appends a binary16 value, little-endian.
    pub fn push_f16(&mut self, bits: u16) {
        let is_nan = bits & 0x7fff > 0x7c00;
        self.0.extend(if is_nan { 0x7e00_u16 } else { bits }.to_le_bytes());
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as floats.
    #[must_use]
    pub fn floats(&self) -> Vec<f32> {
        self.0.as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    }

    /// The MD5 of the bytes, in lowercase hexadecimal.
    #[must_use]
    pub fn md5(&self) -> String {
        Md5::digest(&self.0).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_is_that_of_rfc_1321() {
        assert_eq!(Output::of_bytes(b"abc".to_vec()).md5(), "900150983cd24fb0d6963f7d28e17f72");
    }

    #[test]
    fn any_nan_equals_any_nan_and_nothing_else_is_touched() {
        let [a, b] = [0x7fc0_0000, 0xffc0_1234].map(f32::from_bits);
        assert_eq!(Output::of_floats(&[a]), Output::of_floats(&[b]));
        assert_ne!(Output::of_floats(&[0.0]), Output::of_floats(&[-0.0]));
        let (mut a, mut b, mut infinite) = (Output::default(), Output::default(), Output::default());
        a.push_f16(0xfe01);
        b.push_f16(0x7e00);
        infinite.push_f16(0xfc00);
        assert_eq!(a, b);
        assert_eq!(infinite.bytes(), [0x00, 0xfc]);
    }
}

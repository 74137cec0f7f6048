//! Writes GGUF files field by field, right or wrong; independent of `keepq_gguf::write`.

/// Type ids of metadata values.
pub(crate) mod value {
    pub(crate) const U8: u32 = 0;
    pub(crate) const U32: u32 = 4;
    pub(crate) const I32: u32 = 5;
    pub(crate) const F32: u32 = 6;
    pub(crate) const BOOL: u32 = 7;
    pub(crate) const STRING: u32 = 8;
    pub(crate) const ARRAY: u32 = 9;
    pub(crate) const U64: u32 = 10;
}

/// Type ids of tensors.
pub(crate) mod tensor {
    pub(crate) const F32: u32 = 0;
    #[allow(dead_code, reason = "not all that include this have a removed type")]
    pub(crate) const Q4_2: u32 = 4;
    pub(crate) const Q8_0: u32 = 8;
    pub(crate) const Q4_K: u32 = 12;
    pub(crate) const F64: u32 = 28;
}

/// A file in the making.
#[derive(Clone)]
pub(crate) struct Raw(pub(crate) Vec<u8>);

impl Raw {
    /// The fixed part of version 3.
    pub(crate) fn header(tensors: u64, keys: u64) -> Self {
        Self::version(3, tensors, keys)
    }

    pub(crate) fn version(version: u32, tensors: u64, keys: u64) -> Self {
        Self(b"GGUF".to_vec()).u32(version).u64(tensors).u64(keys)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    pub(crate) fn string(self, text: &[u8]) -> Self {
        self.u64(text.len() as u64).bytes(text)
    }

    /// A key and the type of its value.
    pub(crate) fn key(self, key: &str, ty: u32) -> Self {
        self.string(key.as_bytes()).u32(ty)
    }

    /// A key whose value is an array: its element type and count.
    pub(crate) fn array(self, key: &str, element: u32, count: u64) -> Self {
        self.key(key, value::ARRAY).u32(element).u64(count)
    }

    pub(crate) fn tensor(self, name: &str, dims: &[u64], ty: u32, offset: u64) -> Self {
        let file = self.string(name.as_bytes()).u32(dims.len() as u32);
        dims.iter().fold(file, |file, &dim| file.u64(dim)).u32(ty).u64(offset)
    }

    /// Padding to the alignment, then `len` bytes of data.
    pub(crate) fn data(mut self, alignment: usize, len: usize) -> Self {
        let section = self.0.len().next_multiple_of(alignment);
        self.0.resize(section, 0);
        self.0.extend((0..len).map(|byte| byte as u8));
        self
    }
}

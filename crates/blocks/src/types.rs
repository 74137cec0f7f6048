//! Every ggml type id: name, elements a block, bytes a block.

use core::fmt;

/// What became of a number in ggml's list of types.
enum Entry {
    Known(GgmlType),
    Removed(&'static str),
}

macro_rules! types {
    ($($(#[$doc:meta])* $variant:ident = $id:literal, $name:literal, $len:literal, $bytes:literal;)*
     @removed $($old_id:literal, $old_name:literal;)*) => {
        /// A tensor type of ggml, by the id that GGUF files store.
        ///
        /// All ids of ggml are known here, so that every file opens and every tensor can be listed; whether a
        /// type can be decoded or multiplied is another question ([`Matrix::new`](crate::Matrix::new) answers it).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, reason = "the field's names: Q4_K is not Q4K")]
        #[repr(u32)]
        pub enum GgmlType {
            $($(#[$doc])* $variant = $id,)*
        }

        impl GgmlType {
            /// All types, in the order of their ids.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            fn entry(id: u32) -> Option<Entry> {
                match id {
                    $($id => Some(Entry::Known(Self::$variant)),)*
                    $($old_id => Some(Entry::Removed($old_name)),)*
                    _ => None,
                }
            }

            /// The name, as ggml's users write it: `Q4_K`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Elements in a block (1 for plain numbers).
            #[must_use]
            pub const fn block_len(self) -> usize {
                match self { $(Self::$variant => $len,)* }
            }

            /// Bytes in a block.
            #[must_use]
            pub const fn block_bytes(self) -> usize {
                match self { $(Self::$variant => $bytes,)* }
            }
        }
    };
}

types! {
    /// IEEE binary32.
    F32 = 0, "F32", 1, 4;
    /// IEEE binary16.
    F16 = 1, "F16", 1, 2;
    /// Nibbles with a scale.
    Q4_0 = 2, "Q4_0", 32, 18;
    /// Nibbles with a scale and a minimum.
    Q4_1 = 3, "Q4_1", 32, 20;
    /// Five bits with a scale.
    Q5_0 = 6, "Q5_0", 32, 22;
    /// Five bits with a scale and a minimum.
    Q5_1 = 7, "Q5_1", 32, 24;
    /// Signed bytes with a scale.
    Q8_0 = 8, "Q8_0", 32, 34;
    /// Activations for types with a minimum; never stored in a file.
    Q8_1 = 9, "Q8_1", 32, 36;
    /// Two bits, sub-blocks of 16 with 4-bit scale and minimum.
    Q2_K = 10, "Q2_K", 256, 84;
    /// Three bits, sub-blocks of 16 with a 6-bit scale.
    Q3_K = 11, "Q3_K", 256, 110;
    /// Four bits, sub-blocks of 32 with 6-bit scale and minimum.
    Q4_K = 12, "Q4_K", 256, 144;
    /// Five bits, sub-blocks of 32 with 6-bit scale and minimum.
    Q5_K = 13, "Q5_K", 256, 176;
    /// Six bits, sub-blocks of 16 with an 8-bit scale.
    Q6_K = 14, "Q6_K", 256, 210;
    /// Activations for K-quants; never stored in a file.
    Q8_K = 15, "Q8_K", 256, 292;
    /// 2.06 bits from a codebook.
    IQ2_XXS = 16, "IQ2_XXS", 256, 66;
    /// 2.31 bits from a codebook.
    IQ2_XS = 17, "IQ2_XS", 256, 74;
    /// 3.06 bits from a codebook.
    IQ3_XXS = 18, "IQ3_XXS", 256, 98;
    /// 1.56 bits from a codebook.
    IQ1_S = 19, "IQ1_S", 256, 50;
    /// Four bits into a table of 16 values.
    IQ4_NL = 20, "IQ4_NL", 32, 18;
    /// 3.44 bits from a codebook.
    IQ3_S = 21, "IQ3_S", 256, 110;
    /// 2.56 bits from a codebook.
    IQ2_S = 22, "IQ2_S", 256, 82;
    /// Four bits into a table of 16 values, sub-blocks of 32 with a 6-bit scale.
    IQ4_XS = 23, "IQ4_XS", 256, 136;
    /// Signed bytes.
    I8 = 24, "I8", 1, 1;
    /// Signed 16-bit integers.
    I16 = 25, "I16", 1, 2;
    /// Signed 32-bit integers.
    I32 = 26, "I32", 1, 4;
    /// Signed 64-bit integers.
    I64 = 27, "I64", 1, 8;
    /// IEEE binary64.
    F64 = 28, "F64", 1, 8;
    /// 1.75 bits from a codebook.
    IQ1_M = 29, "IQ1_M", 256, 56;
    /// bfloat16.
    BF16 = 30, "BF16", 1, 2;
    /// Ternary, 1.69 bits.
    TQ1_0 = 34, "TQ1_0", 256, 54;
    /// Ternary, 2.06 bits.
    TQ2_0 = 35, "TQ2_0", 256, 66;
    /// 4-bit floats (E2M1) with a power of two as scale.
    MXFP4 = 39, "MXFP4", 32, 17;
    /// 4-bit floats (E2M1), groups of 16 with an E4M3 scale.
    NVFP4 = 40, "NVFP4", 64, 36;
    /// One bit with a scale.
    Q1_0 = 41, "Q1_0", 128, 18;
    /// Two bits with a scale.
    Q2_0 = 42, "Q2_0", 64, 18;

    @removed
    4, "Q4_2";
    5, "Q4_3";
    31, "Q4_0_4_4";
    32, "Q4_0_4_8";
    33, "Q4_0_8_8";
    36, "IQ4_NL_4_4";
    37, "IQ4_NL_4_8";
    38, "IQ4_NL_8_8";
}

impl GgmlType {
    /// The type with this id.
    ///
    /// # Errors
    /// [`TypeIdError`] for ids that ggml has removed, and for those that are newer than this crate.
    pub fn from_id(id: u32) -> Result<Self, TypeIdError> {
        match Self::entry(id) {
            Some(Entry::Known(ty)) => Ok(ty),
            Some(Entry::Removed(name)) => Err(TypeIdError::Removed { id, name }),
            None => Err(TypeIdError::Unknown { id }),
        }
    }

    /// The type with this name, in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| ty.name().eq_ignore_ascii_case(name))
    }

    /// The id that files store.
    #[must_use]
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// Bytes in a row of `k` elements; `None` where `k` is no multiple of the block or the bytes overflow.
    #[must_use]
    pub const fn row_bytes(self, k: usize) -> Option<usize> {
        if k.is_multiple_of(self.block_len()) { (k / self.block_len()).checked_mul(self.block_bytes()) } else { None }
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A type id that names no type of today's ggml.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeIdError {
    /// ggml removed this type.
    Removed {
        /// The id.
        id: u32,
        /// The name the type had.
        name: &'static str,
    },
    /// No such type, or one that is newer than this crate.
    Unknown {
        /// The id.
        id: u32,
    },
}

impl fmt::Display for TypeIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Removed { id, name } => {
                write!(f, "type id {id} ({name}) was removed from ggml: re-quantize the model")
            }
            Self::Unknown { id } => write!(f, "type id {id} is unknown: not ggml's, or newer than this version"),
        }
    }
}

impl core::error::Error for TypeIdError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_lead_back_to_their_type() {
        for &ty in GgmlType::ALL {
            assert_eq!(GgmlType::from_id(ty.id()), Ok(ty));
            assert_eq!(GgmlType::from_name(ty.name()), Some(ty));
        }
        assert_eq!(GgmlType::from_name("q4_k"), Some(GgmlType::Q4_K));
        assert_eq!(GgmlType::from_name("Q9"), None);
    }

    #[test]
    fn removed_and_unknown_ids_are_told_apart() {
        for id in [4, 5, 31, 32, 33, 36, 37, 38] {
            assert!(matches!(GgmlType::from_id(id), Err(TypeIdError::Removed { .. })), "{id}");
        }
        for id in [43, 1000, u32::MAX] {
            assert_eq!(GgmlType::from_id(id), Err(TypeIdError::Unknown { id }));
        }
    }

    #[test]
    fn rows_are_whole_blocks() {
        assert_eq!(GgmlType::Q4_1.row_bytes(576), Some(18 * 20));
        assert_eq!(GgmlType::Q4_1.row_bytes(0), Some(0));
        assert_eq!(GgmlType::Q4_1.row_bytes(33), None);
        assert_eq!(GgmlType::Q4_K.row_bytes(576), None);
        assert_eq!(GgmlType::F64.row_bytes(usize::MAX / 4), None);
    }
}

//! [`Value`]: one value of the metadata, read where it lies.

use core::fmt;

use crate::cursor::{Cursor, Fault};
use crate::error::quoted;
use crate::{Array, ErrorKind};

/// The type of a metadata value, by the id that files store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ValueType {
    /// 8-bit unsigned integer.
    U8 = 0,
    /// 8-bit signed integer.
    I8 = 1,
    /// 16-bit unsigned integer.
    U16 = 2,
    /// 16-bit signed integer.
    I16 = 3,
    /// 32-bit unsigned integer.
    U32 = 4,
    /// 32-bit signed integer.
    I32 = 5,
    /// IEEE binary32.
    F32 = 6,
    /// One byte, 0 or 1.
    Bool = 7,
    /// UTF-8 with its length in front.
    String = 8,
    /// Values of one type with their type and count in front.
    Array = 9,
    /// 64-bit unsigned integer.
    U64 = 10,
    /// 64-bit signed integer.
    I64 = 11,
    /// IEEE binary64.
    F64 = 12,
}

impl ValueType {
    const ALL: [Self; 13] = [
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::F32,
        Self::Bool,
        Self::String,
        Self::Array,
        Self::U64,
        Self::I64,
        Self::F64,
    ];

    pub(crate) const MAX_ID: u32 = Self::F64 as u32;

    /// The type with this id.
    #[must_use]
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(id).ok()?).copied()
    }

    /// The id that files store.
    #[must_use]
    pub const fn id(self) -> u32 {
        self as u32
    }

    /// The name, as Rust has it: `u32`, `f32`, `string`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Array => "array",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }

    /// Bytes of a value; none for strings and arrays, whose length stands in front of them.
    pub(crate) const fn bytes(self) -> Option<u64> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::String | Self::Array => None,
        }
    }

    /// The least and the largest number of an integer type; none for other types.
    pub(crate) const fn integers(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::U8 => (0, u8::MAX as i128),
            Self::I8 => (i8::MIN as i128, i8::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::I16 => (i16::MIN as i128, i16::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::I32 => (i32::MIN as i128, i32::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
            Self::I64 => (i64::MIN as i128, i64::MAX as i128),
            Self::F32 | Self::F64 | Self::Bool | Self::String | Self::Array => return None,
        })
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A metadata value; strings and arrays are borrowed from the file.
///
/// `Display` gives one line: strings quoted, long strings and arrays shortened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// 8-bit unsigned integer.
    U8(u8),
    /// 8-bit signed integer.
    I8(i8),
    /// 16-bit unsigned integer.
    U16(u16),
    /// 16-bit signed integer.
    I16(i16),
    /// 32-bit unsigned integer.
    U32(u32),
    /// 32-bit signed integer.
    I32(i32),
    /// IEEE binary32.
    F32(f32),
    /// A boolean.
    Bool(bool),
    /// Text. A NUL inside is legal (some vocabularies have a token of it).
    String(&'a str),
    /// Values of one type.
    Array(Array<'a>),
    /// 64-bit unsigned integer.
    U64(u64),
    /// 64-bit signed integer.
    I64(i64),
    /// IEEE binary64.
    F64(f64),
}

impl<'a> Value<'a> {
    /// The type.
    #[must_use]
    pub const fn ty(&self) -> ValueType {
        match self {
            Self::U8(_) => ValueType::U8,
            Self::I8(_) => ValueType::I8,
            Self::U16(_) => ValueType::U16,
            Self::I16(_) => ValueType::I16,
            Self::U32(_) => ValueType::U32,
            Self::I32(_) => ValueType::I32,
            Self::F32(_) => ValueType::F32,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::Array(_) => ValueType::Array,
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F64(_) => ValueType::F64,
        }
    }

    /// The value as an integer of any width and sign; none for what is no integer.
    #[inline]
    pub(crate) fn integer(&self) -> Option<i128> {
        Some(match *self {
            Self::U8(value) => value.into(),
            Self::I8(value) => value.into(),
            Self::U16(value) => value.into(),
            Self::I16(value) => value.into(),
            Self::U32(value) => value.into(),
            Self::I32(value) => value.into(),
            Self::U64(value) => value.into(),
            Self::I64(value) => value.into(),
            _ => return None,
        })
    }

    /// Reads and checks a value with its type id in front.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let ty = read_type(cursor)?;
        Self::read_typed(cursor, ty)
    }

    /// Reads and checks a value of type `ty`.
    #[inline]
    pub(crate) fn read_typed(cursor: &mut Cursor<'a>, ty: ValueType) -> Result<Self, Fault> {
        let what = ty.name();
        Ok(match ty {
            ValueType::U8 => Self::U8(u8::from_le_bytes(cursor.array(what)?)),
            ValueType::I8 => Self::I8(i8::from_le_bytes(cursor.array(what)?)),
            ValueType::U16 => Self::U16(u16::from_le_bytes(cursor.array(what)?)),
            ValueType::I16 => Self::I16(i16::from_le_bytes(cursor.array(what)?)),
            ValueType::U32 => Self::U32(u32::from_le_bytes(cursor.array(what)?)),
            ValueType::I32 => Self::I32(i32::from_le_bytes(cursor.array(what)?)),
            ValueType::F32 => Self::F32(f32::from_le_bytes(cursor.array(what)?)),
            ValueType::U64 => Self::U64(u64::from_le_bytes(cursor.array(what)?)),
            ValueType::I64 => Self::I64(i64::from_le_bytes(cursor.array(what)?)),
            ValueType::F64 => Self::F64(f64::from_le_bytes(cursor.array(what)?)),
            ValueType::Bool => {
                let at = cursor.at();
                match u8::from_le_bytes(cursor.array(what)?) {
                    0 => Self::Bool(false),
                    1 => Self::Bool(true),
                    found => return Err(Fault { at, kind: ErrorKind::Bool { found } }),
                }
            }
            ValueType::String => Self::String(cursor.string()?),
            ValueType::Array => Self::Array(Array::read(cursor)?),
        })
    }
}

/// Reads a type id.
pub(crate) fn read_type(cursor: &mut Cursor<'_>) -> Result<ValueType, Fault> {
    let at = cursor.at();
    let id = cursor.u32("value type")?;
    ValueType::from_id(id).ok_or(Fault { at, kind: ErrorKind::ValueType { id } })
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U8(value) => value.fmt(f),
            Self::I8(value) => value.fmt(f),
            Self::U16(value) => value.fmt(f),
            Self::I16(value) => value.fmt(f),
            Self::U32(value) => value.fmt(f),
            Self::I32(value) => value.fmt(f),
            Self::F32(value) => write!(f, "{value:?}"), // 1.0, not 1: a float
            Self::Bool(value) => value.fmt(f),
            Self::String(value) => f.write_str(&quoted(value)),
            Self::Array(value) => value.fmt(f),
            Self::U64(value) => value.fmt(f),
            Self::I64(value) => value.fmt(f),
            Self::F64(value) => write!(f, "{value:?}"),
        }
    }
}

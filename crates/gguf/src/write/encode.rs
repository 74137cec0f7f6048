//! [`PutValue`]: what can be written as a metadata value.

use super::put_string;
use crate::{Array, Value, ValueType};

/// What [`Writer::put`](super::Writer::put) accepts: integers, floats, `bool`, `&str`, `String`; slices,
/// arrays and vectors of those; [`Value`] and [`Array`] of another file.
pub trait PutValue: sealed::Encode {}

impl<T: sealed::Encode> PutValue for T {}

pub(super) mod sealed {
    use crate::ValueType;

    /// A value and its bytes.
    pub trait Encode {
        /// The type id that stands before the value.
        fn ty(&self) -> ValueType;

        /// Appends the value as files have it.
        fn encode(&self, out: &mut Vec<u8>);
    }

    /// A value that arrays are made of.
    pub trait Element: Encode {
        /// The type of every value of this Rust type, known even where there are none.
        const TYPE: ValueType;
    }
}

use sealed::{Element, Encode};

macro_rules! numbers {
    ($($number:ident $variant:ident)*) => {$(
        impl Encode for $number {
            fn ty(&self) -> ValueType {
                ValueType::$variant
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }

        impl Element for $number {
            const TYPE: ValueType = ValueType::$variant;
        }
    )*};
}

numbers! { u8 U8 i8 I8 u16 U16 i16 I16 u32 U32 i32 I32 u64 U64 i64 I64 f32 F32 f64 F64 }

impl Encode for bool {
    fn ty(&self) -> ValueType {
        ValueType::Bool
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Element for bool {
    const TYPE: ValueType = ValueType::Bool;
}

impl Encode for str {
    fn ty(&self) -> ValueType {
        ValueType::String
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_string(out, self);
    }
}

impl Encode for String {
    fn ty(&self) -> ValueType {
        ValueType::String
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_string(out, self);
    }
}

impl Element for &str {
    const TYPE: ValueType = ValueType::String;
}

impl Element for String {
    const TYPE: ValueType = ValueType::String;
}

impl<T: Encode + ?Sized> Encode for &T {
    fn ty(&self) -> ValueType {
        (**self).ty()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        (**self).encode(out);
    }
}

impl<T: Element> Encode for [T] {
    fn ty(&self) -> ValueType {
        ValueType::Array
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_array_header(out, T::TYPE, self.len());
        for element in self {
            element.encode(out);
        }
    }
}

impl<T: Element, const N: usize> Encode for [T; N] {
    fn ty(&self) -> ValueType {
        ValueType::Array
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.as_slice().encode(out);
    }
}

impl<T: Element> Encode for Vec<T> {
    fn ty(&self) -> ValueType {
        ValueType::Array
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.as_slice().encode(out);
    }
}

impl Encode for Array<'_> {
    fn ty(&self) -> ValueType {
        ValueType::Array
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_array_header(out, self.element_type(), self.len());
        out.extend(self.bytes());
    }
}

impl Encode for Value<'_> {
    fn ty(&self) -> ValueType {
        Value::ty(self)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Value::U8(value) => value.encode(out),
            Value::I8(value) => value.encode(out),
            Value::U16(value) => value.encode(out),
            Value::I16(value) => value.encode(out),
            Value::U32(value) => value.encode(out),
            Value::I32(value) => value.encode(out),
            Value::F32(value) => value.encode(out),
            Value::Bool(value) => value.encode(out),
            Value::String(value) => value.encode(out),
            Value::Array(value) => value.encode(out),
            Value::U64(value) => value.encode(out),
            Value::I64(value) => value.encode(out),
            Value::F64(value) => value.encode(out),
        }
    }
}

fn put_array_header(out: &mut Vec<u8>, element: ValueType, len: usize) {
    out.extend(element.id().to_le_bytes());
    out.extend((len as u64).to_le_bytes());
}

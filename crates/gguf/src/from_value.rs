//! [`FromValue`]: what a metadata value can be asked for as.

use std::borrow::Cow;

use core::fmt;

use crate::{Array, Items, Value, ValueType};

/// A type that a metadata value can be read as.
///
/// Integers accept every integer type of the file whose value fits (writers disagree about widths);
/// `f32` accepts an `f64` that it can hold exactly, `f64` any float; [`Items`] an array whose
/// elements are all accepted. Nothing else is converted: a float is no integer, an integer no boolean.
pub trait FromValue<'a>: Sized {
    /// What is accepted, for error texts: "an integer that fits u32".
    fn expected() -> Cow<'static, str>;

    /// The value as this type.
    ///
    /// # Errors
    /// [`Mismatch`] where it is none.
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch>;

    /// Whether every value of type `ty` is accepted, so that an array of them need not be looked through.
    fn accepts_all(_ty: ValueType) -> bool {
        false
    }
}

/// A value of another type, or of another range, than the one asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    expected: Cow<'static, str>,
    found: Box<str>,
}

impl Mismatch {
    /// `T` was wanted and `found` is there.
    #[must_use]
    pub fn new<'a, T: FromValue<'a>>(found: Value<'_>) -> Self {
        let found = match found {
            Value::Array(array) => format!("an array of {} {}", array.len(), array.element_type()),
            value => format!("{} {value}", value.ty()),
        };
        Self { expected: T::expected(), found: found.into() }
    }

    /// The same for an element of `array`.
    pub(crate) fn in_element(self, array: &Array<'_>, index: usize) -> Self {
        Self {
            expected: array_of(&self.expected),
            found: format!("an array of {} {}, element {index} is {}", array.len(), array.element_type(), self.found)
                .into(),
        }
    }

    /// What was wanted.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What is there.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {}", self.expected, self.found)
    }
}

impl core::error::Error for Mismatch {}

fn array_of(element: &str) -> Cow<'static, str> {
    format!("an array, each element {element}").into()
}

macro_rules! integers {
    ($($int:ident)*) => {$(
        impl<'a> FromValue<'a> for $int {
            fn expected() -> Cow<'static, str> {
                concat!("an integer that fits ", stringify!($int)).into()
            }

            #[inline]
            fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
                value
                    .integer()
                    .and_then(|integer| Self::try_from(integer).ok())
                    .ok_or_else(|| Mismatch::new::<Self>(value))
            }

            fn accepts_all(ty: ValueType) -> bool {
                ty.integers().is_some_and(|(least, most)| {
                    Self::try_from(least).is_ok() && Self::try_from(most).is_ok()
                })
            }
        }
    )*};
}

integers! { u8 i8 u16 i16 u32 i32 u64 i64 usize }

impl<'a> FromValue<'a> for f64 {
    fn expected() -> Cow<'static, str> {
        "a float".into()
    }

    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::F32(float) => Ok(float.into()),
            Value::F64(float) => Ok(float),
            _ => Err(Mismatch::new::<Self>(value)),
        }
    }

    fn accepts_all(ty: ValueType) -> bool {
        matches!(ty, ValueType::F32 | ValueType::F64)
    }
}

impl<'a> FromValue<'a> for f32 {
    fn expected() -> Cow<'static, str> {
        "a float that fits f32".into()
    }

    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::F32(float) => Ok(float),
            Value::F64(wide) => {
                let float = wide as f32;
                if f64::from(float) == wide || wide.is_nan() { Ok(float) } else { Err(Mismatch::new::<Self>(value)) }
            }
            _ => Err(Mismatch::new::<Self>(value)),
        }
    }

    fn accepts_all(ty: ValueType) -> bool {
        ty == ValueType::F32
    }
}

impl<'a> FromValue<'a> for bool {
    fn expected() -> Cow<'static, str> {
        "a boolean".into()
    }

    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Bool(value) => Ok(value),
            _ => Err(Mismatch::new::<Self>(value)),
        }
    }

    fn accepts_all(ty: ValueType) -> bool {
        ty == ValueType::Bool
    }
}

impl<'a> FromValue<'a> for &'a str {
    fn expected() -> Cow<'static, str> {
        "a string".into()
    }

    #[inline]
    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(Mismatch::new::<Self>(value)),
        }
    }

    fn accepts_all(ty: ValueType) -> bool {
        ty == ValueType::String
    }
}

impl<'a> FromValue<'a> for Array<'a> {
    fn expected() -> Cow<'static, str> {
        "an array".into()
    }

    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Array(array) => Ok(array),
            _ => Err(Mismatch::new::<Self>(value)),
        }
    }
}

impl<'a, T: FromValue<'a>> FromValue<'a> for Items<'a, T> {
    fn expected() -> Cow<'static, str> {
        array_of(&T::expected())
    }

    fn from_value(value: Value<'a>) -> Result<Self, Mismatch> {
        match value {
            Value::Array(array) => array.items(),
            _ => Err(Mismatch::new::<Self>(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `T` accepts all of a type just where it accepts the numbers at both ends of it.
    fn agrees<T: for<'a> FromValue<'a>>() {
        for (ty, ends) in [
            (ValueType::U8, [Value::U8(u8::MIN), Value::U8(u8::MAX)]),
            (ValueType::I8, [Value::I8(i8::MIN), Value::I8(i8::MAX)]),
            (ValueType::U16, [Value::U16(u16::MIN), Value::U16(u16::MAX)]),
            (ValueType::I16, [Value::I16(i16::MIN), Value::I16(i16::MAX)]),
            (ValueType::U32, [Value::U32(u32::MIN), Value::U32(u32::MAX)]),
            (ValueType::I32, [Value::I32(i32::MIN), Value::I32(i32::MAX)]),
            (ValueType::U64, [Value::U64(u64::MIN), Value::U64(u64::MAX)]),
            (ValueType::I64, [Value::I64(i64::MIN), Value::I64(i64::MAX)]),
            (ValueType::F32, [Value::F32(f32::MIN), Value::F32(f32::INFINITY)]),
            // Not exact as an f32.
            (ValueType::F64, [Value::F64(0.1), Value::F64(f64::MAX)]),
            (ValueType::Bool, [Value::Bool(false), Value::Bool(true)]),
            (ValueType::String, [Value::String(""), Value::String("1")]),
        ] {
            let accepted = ends.iter().all(|end| T::from_value(*end).is_ok());
            assert_eq!(T::accepts_all(ty), accepted, "{} of {ty}", T::expected());
        }
    }

    #[test]
    fn what_is_accepted_by_its_type_is_accepted_one_by_one() {
        agrees::<u8>();
        agrees::<i8>();
        agrees::<u16>();
        agrees::<i16>();
        agrees::<u32>();
        agrees::<i32>();
        agrees::<u64>();
        agrees::<i64>();
        agrees::<usize>();
        agrees::<f32>();
        agrees::<f64>();
        agrees::<bool>();
        assert!(<&str>::accepts_all(ValueType::String) && !<&str>::accepts_all(ValueType::U8));
    }
}

//! [`Array`]: an array of the metadata, read where it lies, and its iterators.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use crate::cursor::{Cursor, Fault};
use crate::value::read_type;
use crate::{ErrorKind, FromValue, Mismatch, Value, ValueType};

/// Values of one type, borrowed from the file: nothing is decoded before it is asked for.
///
/// ```text
/// | element type u32 | count u64 | element 0 | element 1 | …      (no padding)
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Array<'a> {
    element: ValueType,
    len: usize,
    /// The elements as the file has them, checked.
    bytes: &'a [u8],
}

impl<'a> Array<'a> {
    /// The type of the elements; never an array.
    #[must_use]
    pub const fn element_type(&self) -> ValueType {
        self.element
    }

    /// Elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements.
    #[must_use]
    pub fn values(&self) -> Values<'a> {
        Values { element: self.element, left: self.len, cursor: Cursor::new(self.bytes) }
    }

    /// The elements as `T`, checked once so that the iterator yields all of them: by their type where every value of it is a `T`,
    /// else one by one.
    ///
    /// # Errors
    /// [`Mismatch`] where an element is no `T`. [`Gguf::get`](crate::Gguf::get) with
    /// [`Items`] does the same and names the key.
    pub fn items<T: FromValue<'a>>(&self) -> Result<Items<'a, T>, Mismatch> {
        // Where the type says it all, nothing is looked at: vocabularies have hundreds of thousands of elements.
        let doubtful = if T::accepts_all(self.element) { 0 } else { self.len };
        for (index, value) in self.values().take(doubtful).enumerate() {
            if let Err(mismatch) = T::from_value(value) {
                return Err(mismatch.in_element(self, index));
            }
        }
        Ok(Items { values: self.values(), item: PhantomData })
    }

    /// The elements as the file has them.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Reads an array from its element type on, and checks every element.
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let at = cursor.at();
        let element = read_type(cursor)?;
        if element == ValueType::Array {
            // Refused, as ggml does: no model has them, and recursion by a number of the file is a stack overflow.
            return Err(Fault { at, kind: ErrorKind::NestedArray });
        }
        let count_at = cursor.at();
        let count = cursor.u64("array count")?;
        // A string is at least its length.
        cursor.hold(count_at, "array elements", count, element.bytes().unwrap_or(8))?;
        let start = cursor.at();
        match (element, element.bytes()) {
            (ValueType::Bool, _) => {
                for _ in 0..count {
                    Value::read_typed(cursor, element)?;
                }
            }
            (_, None) => cursor.skip_strings(count)?,
            (_, Some(size)) => {
                cursor.take("array", count * size)?;
            }
        }
        // The elements are there, a byte each at least, so that their count can be addressed.
        Ok(Self { element, len: usize::try_from(count).unwrap_or_default(), bytes: cursor.since(start) })
    }
}

impl<'a> IntoIterator for &Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.values()
    }
}

/// Elements shown of a longer array.
const SHOWN: usize = 8;

impl fmt::Display for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, value) in self.values().take(SHOWN).enumerate() {
            write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
        }
        match self.len.checked_sub(SHOWN) {
            None | Some(0) => f.write_str("]"),
            Some(more) => write!(f, ", … {more} more]"),
        }
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The elements of an [`Array`], one after another.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    element: ValueType,
    left: usize,
    cursor: Cursor<'a>,
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        // Checked when the file was opened; cannot fail unless the file changed under its map.
        Value::read_typed(&mut self.cursor, self.element).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    /// One look at the type for all numbers, where [`next`](Self::next) takes one for each.
    #[inline]
    fn fold<B, F: FnMut(B, Value<'a>) -> B>(mut self, init: B, mut f: F) -> B {
        match self.element {
            ValueType::U32 => self.numbers(init, f, |bytes| Value::U32(u32::from_le_bytes(bytes))),
            ValueType::I32 => self.numbers(init, f, |bytes| Value::I32(i32::from_le_bytes(bytes))),
            ValueType::F32 => self.numbers(init, f, |bytes| Value::F32(f32::from_le_bytes(bytes))),
            ValueType::String => {
                let mut folded = init;
                while let Some(left) = self.left.checked_sub(1)
                    && let Ok(text) = self.cursor.string()
                {
                    self.left = left;
                    folded = f(folded, Value::String(text));
                }
                folded
            }
            _ => {
                let mut folded = init;
                for value in self {
                    folded = f(folded, value);
                }
                folded
            }
        }
    }
}

impl<'a> Values<'a> {
    /// Folds what is left, numbers of `N` bytes.
    #[inline]
    fn numbers<const N: usize, B>(
        self,
        init: B,
        mut f: impl FnMut(B, Value<'a>) -> B,
        value: impl Fn([u8; N]) -> Value<'a>,
    ) -> B {
        let (numbers, _) = self.cursor.rest().as_chunks::<N>();
        numbers.iter().take(self.left).fold(init, |folded, bytes| f(folded, value(*bytes)))
    }
}

impl ExactSizeIterator for Values<'_> {}
impl FusedIterator for Values<'_> {}

/// The elements of an [`Array`] as `T`: integers of any width that fit, floats, booleans, `&str`.
///
/// ```
/// use keepq_gguf::{Gguf, Items, write::Writer};
///
/// let mut writer = Writer::new();
/// writer.put("tokenizer.ggml.tokens", ["<s>", "</s>"].as_slice())?;
/// let mut bytes = Vec::new();
/// writer.write_to(&mut bytes)?;
///
/// let gguf = Gguf::parse(&bytes)?;
/// let tokens: Items<'_, &str> = gguf.require("tokenizer.ggml.tokens")?; // borrows; no string is allocated
/// assert_eq!(tokens.len(), 2);
/// assert_eq!(tokens.last(), Some("</s>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Items<'a, T> {
    values: Values<'a>,
    item: PhantomData<T>,
}

impl<'a, T: FromValue<'a>> Iterator for Items<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // Every element was checked when the iterator was made.
        T::from_value(self.values.next()?).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.values.size_hint()
    }

    /// Faster over all elements than [`next`](Self::next) for each, by [`for_each`](Iterator::for_each) too.
    #[inline]
    fn fold<B, F: FnMut(B, T) -> B>(self, init: B, mut f: F) -> B {
        self.values.fold(init, |folded, value| match T::from_value(value) {
            Ok(item) => f(folded, item),
            Err(_) => folded, // every element was checked when the iterator was made
        })
    }
}

impl<'a, T: FromValue<'a>> ExactSizeIterator for Items<'a, T> {}
impl<'a, T: FromValue<'a>> FusedIterator for Items<'a, T> {}

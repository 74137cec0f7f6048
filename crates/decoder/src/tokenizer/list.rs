//! [`List`]: one of a vocabulary's lists, in memory or where the file has it.

use keepq_gguf::{FromValue, Items};

/// A list of a vocabulary. That of a file stays there until a tokenizer needs it: its length costs nothing.
#[derive(Clone, Debug)]
pub struct List<'a, T>(Held<'a, T>);

#[derive(Clone, Debug)]
enum Held<'a, T> {
    Memory(Vec<T>),
    File(Items<'a, T>),
}

impl<'a, T: FromValue<'a> + Copy> List<'a, T> {
    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Memory(elements) => elements.len(),
            Held::File(items) => items.len(),
        }
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements, read once from end to end.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        match &self.0 {
            Held::Memory(elements) => elements.clone(),
            Held::File(items) => {
                let mut elements = Vec::with_capacity(items.len());
                items.clone().for_each(|item| elements.push(item));
                elements
            }
        }
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for List<'_, T> {
    fn from(elements: Vec<T>) -> Self {
        Self(Held::Memory(elements))
    }
}

impl<T> FromIterator<T> for List<'_, T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

impl<'a, T> From<Items<'a, T>> for List<'a, T> {
    fn from(items: Items<'a, T>) -> Self {
        Self(Held::File(items))
    }
}

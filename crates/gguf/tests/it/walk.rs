//! Touches all that a parsed file offers, so that nothing panics unseen.

use keepq_gguf::{Gguf, Items, Value};

/// Reads every value and every tensor in every way; the sum keeps the reads from being optimised away.
pub(crate) fn walk(gguf: &Gguf<'_>) -> usize {
    let mut seen = 0;
    for (key, value) in gguf.metadata() {
        assert_eq!(gguf.value(key).map(|found| found.ty()), Some(value.ty()));
        seen += value.to_string().len();
        if let Value::Array(array) = value {
            assert_eq!(array.values().count(), array.len(), "{key}");
        }
        seen += gguf.get::<u16>(key).is_ok() as usize;
        seen += gguf.get::<f32>(key).is_ok() as usize;
        seen += gguf.get::<Items<'_, &str>>(key).map_or(0, |items| items.map_or(0, |items| items.map(str::len).sum()));
        seen += gguf.get::<Items<'_, i8>>(key).map_or(0, |items| items.map_or(0, Iterator::count));
    }
    for tensor in gguf.tensors() {
        assert_eq!(gguf.require_tensor(tensor.name()).map(|found| found.offset()), Ok(tensor.offset()));
        if let Ok(data) = tensor.data() {
            assert_eq!(Some(data.len() as u64), tensor.byte_size());
            seen += data.iter().map(|&byte| usize::from(byte)).sum::<usize>();
        }
        seen += tensor.matrix().map_or(0, |matrix| matrix.n());
        seen += tensor.slice(0).map_or(0, |matrix| matrix.k());
        seen += tensor.slice(usize::MAX).map_or(0, |matrix| matrix.k());
    }
    seen
}

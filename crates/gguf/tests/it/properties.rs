//! Whatever happens to a file, reading it panics nowhere; whatever is written is read back.

use keepq_gguf::{Array, ErrorKind, GgmlType, Gguf, Items, Value, write::Writer};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::raw::{Raw, tensor, value};
use crate::walk::walk;

/// A small valid file with a value of every kind and tensors of several types.
fn valid() -> Vec<u8> {
    Raw::header(4, 7)
        .key("general.architecture", value::STRING)
        .string("llama \u{e9}".as_bytes())
        .key("general.alignment", value::U32)
        .u32(8)
        .key("flag", value::BOOL)
        .bytes(&[1])
        .key("count", value::U64)
        .u64(5)
        .array("tokens", value::STRING, 3)
        .string(b"a")
        .string(b"")
        .string("\u{1f980}".as_bytes())
        .array("scores", value::F32, 2)
        .u32(0)
        .u32(1)
        .array("flags", value::BOOL, 2)
        .bytes(&[0, 1])
        .tensor("a", &[32, 2], tensor::Q8_0, 0)
        .tensor("stack", &[2, 1, 2], tensor::F32, 72)
        .tensor("unknown", &[3], 1000, 88)
        .tensor("b", &[3], tensor::F32, 96)
        .data(8, 96 + 12)
        .0
}

/// Where the header of [`valid`] ends, after the last tensor's offset.
fn header_len() -> usize {
    valid().len() - 96 - 12
}

#[test]
fn every_truncation_is_an_error() {
    let file = valid();
    walk(&Gguf::parse(&file).unwrap());
    for len in 0..file.len() {
        assert!(Gguf::parse(&file[..len]).is_err(), "{len} of {} bytes", file.len());
    }
}

#[test]
fn every_single_bit_may_flip() {
    let file = valid();
    for bit in 0..8 * header_len() {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        if let Ok(gguf) = Gguf::parse(&file) {
            walk(&gguf);
        }
    }
}

proptest! {
    #[test]
    fn any_mutation_is_a_file_or_an_error(
        edits in vec((0..header_len(), any::<u8>()), 1..8),
        words in vec((0..header_len() - 8, prop_oneof![Just(0), Just(u64::MAX), Just(1 << 63), 0..200_u64]), 0..2),
        len in 0..2 * valid().len(),
    ) {
        let mut file = valid();
        for (at, byte) in edits {
            file[at] = byte;
        }
        for (at, word) in words {
            file[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        file.truncate(len);
        if let Ok(gguf) = Gguf::parse(&file) {
            walk(&gguf);
        }
    }

    #[test]
    fn any_bytes_after_the_magic_are_a_file_or_an_error(bytes in vec(any::<u8>(), 0..256)) {
        let file = Raw(b"GGUF\x03\0\0\0".to_vec()).bytes(&bytes).0;
        if let Ok(gguf) = Gguf::parse(&file) {
            walk(&gguf);
        }
    }

    #[test]
    fn what_is_written_is_read(
        alignment in (0..8_u32).prop_map(|log| 1 << log),
        values in btree_map("[a-z.\u{e9}]{1,12}", any_value(), 0..8),
        tensors in btree_map("[a-z.0-9]{1,63}", any_tensor(), 0..6),
    ) {
        let mut writer = Writer::new();
        for (key, value) in &values {
            value.put(&mut writer, key);
        }
        writer.put("general.alignment", alignment).unwrap();
        let mut stream = false;
        for (name, (ty, dims, data)) in &tensors {
            // Half of the data at hand, half in pieces.
            if stream {
                writer.tensor_with(name, *ty, dims, |out| data.chunks(7).try_for_each(|piece| out.write_all(piece)))
            } else {
                writer.tensor(name, *ty, dims, data)
            }
            .unwrap();
            stream = !stream;
        }
        let mut file = Vec::new();
        prop_assert_eq!(writer.write_to(&mut file).unwrap(), file.len() as u64);

        let gguf = Gguf::parse(&file).unwrap();
        prop_assert_eq!((gguf.version(), gguf.alignment()), (3, alignment));
        prop_assert_eq!(gguf.metadata().len(), values.len() + 1);
        for (key, value) in &values {
            prop_assert_eq!(value, &Any::read(gguf.value(key).unwrap()));
        }
        prop_assert_eq!(gguf.tensors().len(), tensors.len());
        for (name, (ty, dims, data)) in &tensors {
            let tensor = gguf.require_tensor(name).unwrap();
            prop_assert_eq!((tensor.ty(), tensor.dims()), (Ok(*ty), dims.as_slice()));
            prop_assert_eq!(tensor.data().unwrap(), data.as_slice());
            prop_assert!(tensor.offset().is_multiple_of(alignment.into()));
        }

        // The values as another file's reader gives them write the same bytes.
        let mut copy = Writer::new();
        for (key, value) in gguf.metadata() {
            copy.put(key, value).unwrap();
        }
        for tensor in gguf.tensors() {
            copy.tensor(tensor.name(), tensor.ty().unwrap(), tensor.dims(), tensor.data().unwrap()).unwrap();
        }
        let mut again = Vec::new();
        copy.write_to(&mut again).unwrap();
        prop_assert!(again == file);
    }
}

/// An owned value of each type, floats by their bits.
#[derive(Clone, Debug, PartialEq)]
enum Any {
    U8(u8),
    I16(i16),
    U32(u32),
    I64(i64),
    F32(u32),
    F64(u64),
    Bool(bool),
    String(String),
    Strings(Vec<String>),
    I32s(Vec<i32>),
    Bools(Vec<bool>),
}

fn any_value() -> impl Strategy<Value = Any> {
    prop_oneof![
        any::<u8>().prop_map(Any::U8),
        any::<i16>().prop_map(Any::I16),
        any::<u32>().prop_map(Any::U32),
        any::<i64>().prop_map(Any::I64),
        any::<u32>().prop_map(Any::F32),
        any::<u64>().prop_map(Any::F64),
        any::<bool>().prop_map(Any::Bool),
        any::<String>().prop_map(Any::String),
        vec(any::<String>(), 0..6).prop_map(Any::Strings),
        vec(any::<i32>(), 0..6).prop_map(Any::I32s),
        vec(any::<bool>(), 0..6).prop_map(Any::Bools),
    ]
}

impl Any {
    fn put(&self, writer: &mut Writer<'_>, key: &str) {
        match self {
            Self::U8(value) => writer.put(key, value),
            Self::I16(value) => writer.put(key, value),
            Self::U32(value) => writer.put(key, value),
            Self::I64(value) => writer.put(key, value),
            Self::F32(bits) => writer.put(key, f32::from_bits(*bits)),
            Self::F64(bits) => writer.put(key, f64::from_bits(*bits)),
            Self::Bool(value) => writer.put(key, value),
            Self::String(value) => writer.put(key, value),
            Self::Strings(value) => writer.put(key, value),
            Self::I32s(value) => writer.put(key, value),
            Self::Bools(value) => writer.put(key, value),
        }
        .unwrap();
    }

    fn read(value: Value<'_>) -> Self {
        match value {
            Value::U8(value) => Self::U8(value),
            Value::I16(value) => Self::I16(value),
            Value::U32(value) => Self::U32(value),
            Value::I64(value) => Self::I64(value),
            Value::F32(value) => Self::F32(value.to_bits()),
            Value::F64(value) => Self::F64(value.to_bits()),
            Value::Bool(value) => Self::Bool(value),
            Value::String(value) => Self::String(value.into()),
            Value::Array(array) => match array.element_type() {
                keepq_gguf::ValueType::String => {
                    Self::Strings(array.items::<&str>().unwrap().map(String::from).collect())
                }
                keepq_gguf::ValueType::I32 => Self::I32s(array.items().unwrap().collect()),
                keepq_gguf::ValueType::Bool => Self::Bools(array.items().unwrap().collect()),
                other => panic!("an array of {other} was not written"),
            },
            other => panic!("{other} was not written"),
        }
    }
}

/// A type, dimensions and as many bytes as they take.
pub(crate) fn any_tensor() -> impl Strategy<Value = (GgmlType, Vec<u64>, Vec<u8>)> {
    let types = proptest::sample::select(GgmlType::ALL);
    (types, 1..4_u64, vec(1..4_u64, 0..3)).prop_flat_map(|(ty, blocks, more)| {
        let bytes = blocks * ty.block_bytes() as u64 * more.iter().product::<u64>();
        let dims: Vec<u64> = std::iter::once(blocks * ty.block_len() as u64).chain(more).collect();
        (Just(ty), Just(dims), vec(any::<u8>(), usize::try_from(bytes).unwrap()))
    })
}

/// The fault of an array of these strings by the definition, one string after another: where the first byte lies that is not
/// UTF-8.
fn not_utf8(start: usize, strings: &[Vec<u8>]) -> Option<u64> {
    let mut at = start;
    strings.iter().find_map(|string| {
        let text = at + 8;
        at = text + string.len();
        core::str::from_utf8(string).err().map(|error| (text + error.valid_up_to()) as u64)
    })
}

/// Strings are checked many at once, in which lengths up to 127 are text like any other.
#[test]
fn many_strings_have_the_fault_of_the_first_that_has_one() {
    let text = || {
        prop_oneof![
            4 => "[aé日🦀]{0,4}".prop_map(String::into_bytes),
            1 => vec(any::<u8>(), 0..4),
            1 => (120..140_usize).prop_map(|len| vec![b'a'; len]),
            1 => (8..9000_usize).prop_map(|len| "é".repeat(len).into_bytes()),
        ]
    };
    proptest!(|(strings in vec(text(), 0..24))| {
        let start = Raw::header(0, 1).array("t", value::STRING, 0).0.len();
        let file = Raw::header(0, 1).array("t", value::STRING, strings.len() as u64);
        let file = strings.iter().fold(file, |file, string| file.string(string)).0;
        match not_utf8(start, &strings) {
            Some(at) => {
                let error = Gguf::parse(&file).unwrap_err();
                prop_assert_eq!((error.at(), error.kind()), (Some(at), &ErrorKind::NotUtf8));
            }
            None => {
                let gguf = Gguf::parse(&file).unwrap();
                let read: Items<'_, &str> = gguf.require("t").unwrap();
                let mut folded = Vec::new();
                read.clone().for_each(|string| folded.push(string.as_bytes()));
                prop_assert_eq!(&folded, &strings);
                prop_assert!(read.map(str::as_bytes).eq(folded));
            }
        }
        // Of two faults the first is told, whichever kind it is.
        let cut = file.len() - file.len() / 3;
        let (error, whole) = (Gguf::parse(&file[..cut]).err(), not_utf8(start, &strings));
        if let Some(at) = whole.filter(|&at| at < cut as u64) {
            let error = error.expect("two faults");
            prop_assert!(error.at() <= Some(at), "{error}");
        }
    });
}

/// All elements at once and one after another are the same, of each type and from anywhere on.
#[test]
fn arrays_fold_to_what_they_iterate_over() {
    for (element, bytes) in [(0, 1), (1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (6, 4), (7, 1), (10, 8), (11, 8), (12, 8)]
    {
        let data =
            (0..6 * bytes as u8).map(|byte| if element == value::BOOL { byte % 2 } else { byte }).collect::<Vec<_>>();
        let file = Raw::header(0, 1).array("t", element, 6).bytes(&data).0;
        let gguf = Gguf::parse(&file).unwrap();
        let array = gguf.require::<Array<'_>>("t").unwrap();
        for skipped in 0..=6 {
            let rest = || array.values().skip(skipped);
            let mut values = array.values();
            values.by_ref().take(skipped).for_each(drop);
            let folded = values.fold(Vec::new(), |mut folded, value| {
                folded.push(value);
                folded
            });
            assert_eq!(folded.len(), 6 - skipped);
            assert_eq!(format!("{folded:?}"), format!("{:?}", rest().collect::<Vec<_>>()), "{element}");
        }
    }
}

//! [`Made`]: a file of legal and other fields, which a fuzzer chooses. Most of what it chooses gets past the first fields.

use arbitrary::{Arbitrary, Result, Unstructured};
use keepq_gguf::Gguf;
use keepq_gguf::write::Writer;

use crate::raw::Raw;
use crate::walk::walk;

/// The largest alignment that is written again: the writer pads to it, were it a gigabyte.
const MOST_PADDING: u32 = 1 << 12;

/// Bytes of data at most: enough for tensors at most of the offsets, and little to go over.
const MOST_DATA: usize = 8 << 10;

/// A file.
#[derive(Arbitrary, Debug)]
pub(crate) struct Made<'b> {
    version_2: bool,
    alignment: Option<u32>,
    keys: Vec<(Name<'b>, Content<'b>)>,
    tensors: Vec<Tensor<'b>>,
    /// What is added to the counts.
    lies: Option<(u8, u8)>,
    /// Bytes of data.
    data: u16,
    /// Bytes that are changed at last.
    damage: Vec<(u16, u8)>,
}

/// A name that consumers look for, or another.
#[derive(Arbitrary, Debug)]
enum Name<'b> {
    Known(Known),
    Other(&'b [u8]),
}

#[derive(Arbitrary, Debug)]
enum Known {
    Architecture,
    ModelName,
    SplitNumber,
    SplitCount,
    SplitTensors,
    Tokens,
}

impl Name<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Known(Known::Architecture) => b"general.architecture",
            Self::Known(Known::ModelName) => b"general.name",
            Self::Known(Known::SplitNumber) => b"split.no",
            Self::Known(Known::SplitCount) => b"split.count",
            Self::Known(Known::SplitTensors) => b"split.tensors.count",
            Self::Known(Known::Tokens) => b"tokenizer.ggml.tokens",
            Self::Other(bytes) => bytes,
        }
    }
}

/// The value of a key.
#[derive(Arbitrary, Debug)]
enum Content<'b> {
    Text(&'b [u8]),
    Bool(u8),
    Small(u8),
    Word(u32),
    Signed(i32),
    Long(u64),
    Double(f64),
    Texts(Vec<&'b [u8]>),
    Words(Vec<u32>),
    Bools(Vec<bool>),
    Any { ty: u8, bytes: &'b [u8] },
    AnyArray { ty: u8, count: u64, bytes: &'b [u8] },
}

impl Content<'_> {
    /// The value with its type in front.
    fn append(&self, file: Raw) -> Raw {
        let array = |file: Raw, element: u32, count: usize| file.u32(9).u32(element).u64(count as u64);
        match self {
            Self::Text(text) => file.u32(8).string(text),
            Self::Bool(byte) => file.u32(7).bytes(&[*byte]),
            Self::Small(byte) => file.u32(0).bytes(&[*byte]),
            Self::Word(word) => file.u32(4).u32(*word),
            Self::Signed(word) => file.u32(5).bytes(&word.to_le_bytes()),
            Self::Long(word) => file.u32(10).u64(*word),
            Self::Double(value) => file.u32(12).bytes(&value.to_le_bytes()),
            Self::Texts(texts) => texts.iter().fold(array(file, 8, texts.len()), |file, text| file.string(text)),
            Self::Words(words) => words.iter().fold(array(file, 5, words.len()), |file, word| file.u32(*word)),
            Self::Bools(bools) => {
                bools.iter().fold(array(file, 7, bools.len()), |file, &value| file.bytes(&[value.into()]))
            }
            Self::Any { ty, bytes } => file.u32((*ty).into()).bytes(bytes),
            Self::AnyArray { ty, count, bytes } => file.u32(9).u32((*ty).into()).u64(*count).bytes(bytes),
        }
    }
}

#[derive(Debug)]
struct Tensor<'b> {
    name: &'b [u8],
    ty: u32,
    dims: Vec<u64>,
    offset: u64,
}

impl<'b> Arbitrary<'b> for Tensor<'b> {
    fn arbitrary(u: &mut Unstructured<'b>) -> Result<Self> {
        let blocks = |u: &mut Unstructured<'b>| -> Result<u64> {
            Ok(match u.int_in_range(0..=9)? {
                0 => u64::arbitrary(u)?,
                small @ 1..=4 => small,
                whole => 32 << (whole - 5), // 32 to 512: whole blocks of all types but a few
            })
        };
        let count = if u.ratio(1, 16)? { u.int_in_range(0..=6)? } else { u.int_in_range(1..=3)? };
        Ok(Self {
            name: u.arbitrary()?,
            ty: if u.ratio(1, 16)? { u.arbitrary()? } else { u.int_in_range(0..=40)? },
            dims: (0..count).map(|_| blocks(u)).collect::<Result<_>>()?,
            offset: if u.ratio(1, 16)? { u.arbitrary()? } else { 32 * u.int_in_range(0..=200)? },
        })
    }
}

impl Made<'_> {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (more_tensors, more_keys) = self.lies.unwrap_or_default();
        let keys = self.keys.len() + usize::from(self.alignment.is_some());
        let counts = (self.tensors.len() + usize::from(more_tensors), keys + usize::from(more_keys));
        let mut file = Raw::version(if self.version_2 { 2 } else { 3 }, counts.0 as u64, counts.1 as u64);
        if let Some(alignment) = self.alignment {
            file = file.key("general.alignment", 4).u32(alignment);
        }
        for (name, content) in &self.keys {
            file = content.append(file.string(name.bytes()));
        }
        for Tensor { name, ty, dims, offset } in &self.tensors {
            file = file.string(name).u32(dims.len() as u32);
            file = dims.iter().fold(file, |file, &dim| file.u64(dim)).u32(*ty).u64(*offset);
        }
        let mut bytes = file.data(32, usize::from(self.data) % MOST_DATA).0;
        for (at, byte) in &self.damage {
            let at = usize::from(*at) % bytes.len();
            bytes[at] ^= byte;
        }
        bytes
    }

    /// What opens can be read in every way, and what is written from it opens as the same.
    pub(crate) fn check(&self) {
        let bytes = self.bytes();
        let Ok(gguf) = Gguf::parse(&bytes) else { return };
        walk(&gguf);
        if gguf.alignment() > MOST_PADDING {
            return;
        }

        let mut writer = Writer::new();
        for (key, value) in gguf.metadata() {
            // An alignment of another width is read, and not written.
            if writer.put(key, value).is_err() {
                return;
            }
        }
        let known = || gguf.tensors().iter().filter_map(|tensor| Some((tensor, tensor.ty().ok()?)));
        for (tensor, ty) in known() {
            writer
                .tensor(tensor.name(), ty, tensor.dims(), tensor.data().expect("a known type"))
                .expect("a legal tensor");
        }
        let mut again = Vec::new();
        writer.write_to(&mut again).expect("memory");
        let copy = Gguf::parse(&again).expect("a file that was written");
        let values =
            |gguf: &Gguf<'_>| gguf.metadata().map(|(key, value)| format!("{key}: {value:?}")).collect::<Vec<_>>();
        assert_eq!(values(&copy), values(&gguf));
        assert_eq!(copy.tensors().len(), known().count());
        for (tensor, ty) in known() {
            let copied = copy.require_tensor(tensor.name()).expect("the same tensors");
            assert_eq!((copied.ty(), copied.dims(), copied.data()), (Ok(ty), tensor.dims(), tensor.data()));
        }
    }
}

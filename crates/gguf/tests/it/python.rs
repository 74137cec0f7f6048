//! Files of the reference implementation: `data/python.py` and `data/python_split.py` wrote them with the `gguf` package.

use std::path::Path;

use keepq_gguf::{GgmlType, Gguf, Items, Source, Value, ValueType, open_set};

const FILE: &[u8] = include_bytes!("../data/python.gguf");

#[test]
fn values_are_those_that_were_written() {
    let gguf = Gguf::parse(FILE).unwrap();
    assert_eq!((gguf.version(), gguf.alignment()), (3, 64));
    let expected = [
        ("general.architecture", Value::String("llama")),
        ("general.alignment", Value::U32(64)),
        ("value.u8", Value::U8(200)),
        ("value.i8", Value::I8(-100)),
        ("value.u16", Value::U16(60000)),
        ("value.i16", Value::I16(-30000)),
        ("value.u32", Value::U32(4_000_000_000)),
        ("value.i32", Value::I32(-2_000_000_000)),
        ("value.u64", Value::U64((1 << 63) + 1)),
        ("value.i64", Value::I64(-(1 << 62))),
        ("value.f32", Value::F32(0.1)),
        ("value.f64", Value::F64(0.1)),
        ("value.bool", Value::Bool(true)),
        ("value.string", Value::String("h\u{e9}llo \u{1f980}")),
    ];
    let arrays = ["array.strings", "array.i32", "array.f32", "array.bool"];
    let found: Vec<_> = gguf.metadata().filter(|(_, value)| value.ty() != ValueType::Array).collect();
    assert_eq!(found, expected);
    assert_eq!(gguf.metadata().len(), expected.len() + arrays.len());

    let strings: Items<'_, &str> = gguf.require("array.strings").unwrap();
    assert!(strings.eq(["<s>", "", "\u{2581}the"]));
    assert!(gguf.require::<Items<'_, i32>>("array.i32").unwrap().eq([3, -1, 2]));
    assert!(gguf.require::<Items<'_, f32>>("array.f32").unwrap().eq([0.5, -1000.0]));
    assert!(gguf.require::<Items<'_, bool>>("array.bool").unwrap().eq([true, false]));
}

#[test]
fn tensors_are_those_that_were_written() {
    let gguf = Gguf::parse(FILE).unwrap();
    let found: Vec<_> = gguf.tensors().iter().map(|t| (t.name(), t.ty().unwrap(), t.dims())).collect();
    assert_eq!(
        found,
        [
            ("plain.f32", GgmlType::F32, [5, 2].as_slice()),
            ("plain.f16", GgmlType::F16, &[5, 2]),
            ("stack.i32", GgmlType::I32, &[4, 3, 2]),
            ("quant.q8_0", GgmlType::Q8_0, &[64, 3]),
            ("vector.f32", GgmlType::F32, &[1]),
        ]
    );

    let row = |name: &str, row: usize| {
        let matrix = gguf.require_tensor(name).unwrap().matrix().unwrap();
        let mut values = vec![0.0; matrix.k()];
        matrix.decode_row(row, &mut values).unwrap();
        values
    };
    assert_eq!(row("plain.f32", 1), [2.5, 3.0, 3.5, 4.0, 4.5]);
    assert_eq!(row("plain.f16", 1), [-2.5, -3.0, -3.5, -4.0, -4.5]);
    assert_eq!(row("vector.f32", 0), [1.5]);
    for n in 0..3 {
        let codes: Vec<f32> =
            (0..64).map(|k| if k % 32 == 0 { 127.0 } else { ((64 * n + k) % 31) as f32 - 15.0 }).collect();
        assert_eq!(row("quant.q8_0", n), codes);
    }

    let stack = gguf.require_tensor("stack.i32").unwrap();
    let numbers: Vec<u8> = (0..24_i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!((stack.data().unwrap(), stack.slices()), (numbers.as_slice(), 2));
}

#[test]
fn a_set_is_as_it_was_written_from_any_of_its_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for number in 1..=3 {
        let set = open_set(folder.join(format!("python-0000{number}-of-00003.gguf")), Source::map).unwrap();
        let gguf = set.parse().unwrap();
        assert_eq!((gguf.shards(), gguf.require("general.name")), (3, Ok("in three files")));
        assert!(gguf.require::<Items<'_, &str>>("array.strings").unwrap().eq(["<s>", "</s>"]));

        let shards: Vec<usize> = gguf.tensors().iter().map(|tensor| tensor.shard()).collect();
        assert_eq!(shards, [1, 1, 2, 2]);
        for (number, tensor) in gguf.tensors().iter().enumerate() {
            assert_eq!(tensor.name(), format!("blk.{number}.attn_norm.weight"));
            let mut row = [0.0; 5];
            tensor.matrix().unwrap().decode_row(0, &mut row).unwrap();
            assert_eq!(row, [0.0, 1.0, 2.0, 3.0, 4.0].map(|value| value + 10.0 * number as f32));
        }
    }
}

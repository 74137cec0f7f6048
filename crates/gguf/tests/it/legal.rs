//! Files that look odd and are legal.

use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Gguf, Items, Tensor, TypeIdError, Value, ValueType};

use crate::raw::{Raw, tensor, value};
use crate::walk::walk;

fn two_tensors(version: u32) -> Raw {
    Raw::version(version, 2, 1)
        .key("general.architecture", value::STRING)
        .string(b"llama")
        .tensor("a", &[32, 2], tensor::Q8_0, 0)
        .tensor("b", &[3], tensor::F32, 96)
        .data(32, 96 + 12)
}

#[test]
fn versions_2_and_3_read_alike() {
    for version in [2, 3] {
        let file = two_tensors(version).0;
        let gguf = Gguf::parse(&file).unwrap();
        assert_eq!((gguf.version(), gguf.alignment()), (version, 32));
        assert_eq!(gguf.value("general.architecture"), Some(Value::String("llama")));

        let a = gguf.tensor("a").unwrap();
        assert_eq!((a.ty(), a.dims(), a.elements()), (Ok(GgmlType::Q8_0), [32, 2].as_slice(), 64));
        let start = usize::try_from(a.offset()).unwrap();
        assert_eq!(a.data().unwrap(), &file[start..start + 68]);
        let matrix = a.matrix().unwrap();
        assert_eq!((matrix.n(), matrix.k(), matrix.bytes()), (2, 32, a.data().unwrap()));

        let b = gguf.tensors()[1].matrix().unwrap();
        assert_eq!((b.n(), b.k()), (1, 3));
        assert_eq!(gguf.tensor("c").map(Tensor::name), None);
    }
}

#[test]
fn bytes_are_read_at_any_address() {
    let file = two_tensors(3).0;
    let mut shifted = vec![0; file.len() + 8];
    for shift in 0..8 {
        let place = &mut shifted[shift..][..file.len()];
        place.copy_from_slice(&file);
        let gguf = Gguf::parse(place).unwrap();
        assert_eq!(gguf.tensor("b").unwrap().matrix().unwrap().bytes(), &file[file.len() - 12..]);
        walk(&gguf);
    }
}

#[test]
fn alignment_1_puts_tensors_side_by_side() {
    let header = Raw::header(2, 1)
        .key("general.alignment", value::U32)
        .u32(1)
        .tensor("a", &[32], tensor::Q8_0, 0)
        .tensor("b", &[3], tensor::F32, 34);
    let header_len = header.0.len() as u64;
    let file = header.data(1, 34 + 12).0;
    let gguf = Gguf::parse(&file).unwrap();
    assert_eq!(gguf.alignment(), 1);
    assert_eq!(gguf.tensors()[1].offset(), header_len + 34);
    assert_eq!(gguf.tensors()[1].matrix().unwrap().bytes(), &file[file.len() - 12..]);
}

#[test]
fn an_alignment_of_another_width_is_an_alignment() {
    let file = Raw::header(0, 1).key("general.alignment", value::U64).u64(4096).0;
    assert_eq!(Gguf::parse(&file).unwrap().alignment(), 4096);
}

#[test]
fn tensors_lie_in_any_order_with_gaps_and_bytes_after_them() {
    let file = Raw::header(3, 0)
        .tensor("last", &[16], tensor::F32, 256)
        .tensor("first", &[16], tensor::F32, 0)
        .tensor("middle", &[1], tensor::F32, 64)
        .data(32, 1000)
        .0;
    let gguf = Gguf::parse(&file).unwrap();
    let names: Vec<&str> = gguf.tensors().iter().map(Tensor::name).collect();
    assert_eq!(names, ["last", "first", "middle"]);
    assert_eq!(gguf.tensor("middle").unwrap().data().unwrap(), [64, 65, 66, 67]);
}

#[test]
fn a_file_without_tensors_needs_no_data_section() {
    let file = Raw::header(0, 1).array("tokenizer.ggml.tokens", value::STRING, 2).string(b"a").string(b"").0;
    let gguf = Gguf::parse(&file).unwrap();
    assert_eq!(gguf.tensors().len(), 0);
    assert!(gguf.require::<Items<'_, &str>>("tokenizer.ggml.tokens").unwrap().eq(["a", ""]));
}

#[test]
fn a_value_may_hold_a_nul() {
    let file = Raw::header(0, 1).array("tokenizer.ggml.tokens", value::STRING, 1).string(b"\0").0;
    let tokens: Items<'_, &str> = Gguf::parse(&file).unwrap().require("tokenizer.ggml.tokens").unwrap();
    assert!(tokens.eq(["\0"]));
}

#[test]
fn names_of_63_bytes_are_whole() {
    let name = "n".repeat(63);
    let file = Raw::header(1, 0).tensor(&name, &[1], tensor::F32, 0).data(32, 4).0;
    assert_eq!(Gguf::parse(&file).unwrap().require_tensor(&name).unwrap().name(), name);
}

#[test]
fn all_removed_and_unknown_types_are_listed() {
    let ids = [4, 5, 31, 32, 33, 36, 37, 38, 43, u32::MAX];
    let header = Raw::header(ids.len() as u64, 0);
    let file = ids
        .iter()
        .enumerate()
        .fold(header, |file, (at, &id)| file.tensor(&format!("t{id}"), &[5], id, 32 * at as u64))
        .data(32, 32 * ids.len());
    let gguf = Gguf::parse(&file.0).unwrap();
    for (tensor, id) in gguf.tensors().iter().zip(ids) {
        let (TypeIdError::Removed { id: found, .. } | TypeIdError::Unknown { id: found }) = tensor.ty().unwrap_err();
        assert_eq!(found, id);
        assert!(tensor.data().unwrap_err().to_string().contains(&format!("tensor \"t{id}\"")));
    }
}

#[test]
fn stacks_are_viewed_slice_by_slice() {
    // w[3,2,2]: twelve floats 0, 1, … in three matrices.
    let mut file = Raw::header(1, 0).tensor("experts", &[2, 2, 3], tensor::F32, 0).data(32, 0);
    for value in 0..12_u8 {
        file = file.bytes(&f32::from(value).to_le_bytes());
    }
    let gguf = Gguf::parse(&file.0).unwrap();
    let stack = gguf.tensor("experts").unwrap();
    assert_eq!(stack.slices(), 3);
    let mut row = [0.0; 2];
    for slice in 0..3 {
        let matrix = stack.slice(slice).unwrap();
        assert_eq!((matrix.n(), matrix.k()), (2, 2));
        matrix.decode_row(1, &mut row).unwrap();
        assert_eq!(row, [4 * slice + 2, 4 * slice + 3].map(|value| value as f32));
    }
}

#[test]
fn all_dimensions_from_the_third_on_count_slices() {
    let mut file = Raw::header(1, 0).tensor("kernels", &[1, 1, 2, 3], tensor::F32, 0).data(32, 0);
    for value in 0..6_u8 {
        file = file.bytes(&f32::from(value).to_le_bytes());
    }
    let gguf = Gguf::parse(&file.0).unwrap();
    let tensor = gguf.tensor("kernels").unwrap();
    assert_eq!(tensor.slices(), 6);
    let mut row = [0.0];
    tensor.slice(5).unwrap().decode_row(0, &mut row).unwrap();
    assert_eq!(row, [5.0]);
    assert!(tensor.slice(6).is_err());
}

#[test]
fn integers_are_read_whatever_their_width() {
    let file = Raw::header(0, 4)
        .key("small", value::U8)
        .bytes(&[7])
        .key("negative", value::I32)
        .bytes(&(-7_i32).to_le_bytes())
        .key("large", value::U64)
        .u64(u64::MAX)
        .array("types", value::I32, 2)
        .u32(1)
        .u32(6)
        .0;
    let gguf = Gguf::parse(&file).unwrap();
    assert_eq!(gguf.require::<u64>("small"), Ok(7));
    assert_eq!(gguf.require::<i8>("negative"), Ok(-7));
    assert!(gguf.require::<u64>("negative").is_err());
    assert_eq!(gguf.require::<u64>("large"), Ok(u64::MAX));
    assert!(gguf.require::<i64>("large").is_err());
    assert!(gguf.require::<bool>("small").is_err());
    assert!(gguf.require::<f32>("small").is_err());
    assert!(gguf.require::<Items<'_, u8>>("types").unwrap().eq([1, 6]));
    assert_eq!(gguf.get::<u32>("missing"), Ok(None));
}

#[test]
fn floats_are_read_where_nothing_is_lost() {
    let file = Raw::header(0, 3)
        .key("narrow", value::F32)
        .bytes(&1.5_f32.to_le_bytes())
        .key("exact", ValueType::F64.id())
        .bytes(&0.25_f64.to_le_bytes())
        .key("wide", ValueType::F64.id())
        .bytes(&0.1_f64.to_le_bytes())
        .0;
    let gguf = Gguf::parse(&file).unwrap();
    assert_eq!(gguf.require::<f64>("narrow"), Ok(1.5));
    assert_eq!(gguf.require::<f32>("exact"), Ok(0.25));
    assert_eq!(gguf.require::<f64>("wide"), Ok(0.1));
    assert!(gguf.require::<f32>("wide").is_err());
    assert!(gguf.require::<u32>("narrow").is_err());
}

#[test]
fn arrays_take_the_bytes_of_their_type() {
    let two =
        |file: Raw, ty: ValueType, element: &[u8]| file.array(ty.name(), ty.id(), 2).bytes(element).bytes(element);
    let file = two(Raw::header(0, 11), ValueType::U8, &[1]);
    let file = two(file, ValueType::I8, &(-1_i8).to_le_bytes());
    let file = two(file, ValueType::Bool, &[1]);
    let file = two(file, ValueType::U16, &2_u16.to_le_bytes());
    let file = two(file, ValueType::I16, &(-2_i16).to_le_bytes());
    let file = two(file, ValueType::U32, &4_u32.to_le_bytes());
    let file = two(file, ValueType::I32, &(-4_i32).to_le_bytes());
    let file = two(file, ValueType::F32, &4.5_f32.to_le_bytes());
    let file = two(file, ValueType::U64, &8_u64.to_le_bytes());
    let file = two(file, ValueType::I64, &(-8_i64).to_le_bytes());
    let file = two(file, ValueType::F64, &8.5_f64.to_le_bytes()).0;
    let gguf = Gguf::parse(&file).unwrap();
    for wanted in [
        Value::U8(1),
        Value::I8(-1),
        Value::Bool(true),
        Value::U16(2),
        Value::I16(-2),
        Value::U32(4),
        Value::I32(-4),
        Value::F32(4.5),
        Value::U64(8),
        Value::I64(-8),
        Value::F64(8.5),
    ] {
        let name = wanted.ty().name();
        let Some(Value::Array(array)) = gguf.value(name) else { panic!("{name} is no array") };
        assert!(array.values().eq([wanted, wanted]), "{name}: {array}");
    }
}

#[test]
fn values_are_shown_on_one_short_line() {
    let file = Raw::header(0, 2)
        .key("general.name", value::STRING)
        .string("a\nname ".repeat(100).as_bytes())
        .array("numbers", value::U8, 100)
        .data(1, 100)
        .0;
    let gguf = Gguf::parse(&file).unwrap();
    let lines: Vec<String> = gguf.metadata().map(|(key, value)| format!("{key} = {value}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    general.name = "a\nname a\nname a\nname a\nname a\nname a\nname a\nname a\nname a\nname a\nname a\nname a\nn"… (700 bytes)
    numbers = [0, 1, 2, 3, 4, 5, 6, 7, … 92 more]
    "#);
}

#[test]
fn scales_that_are_not_finite_open_and_are_found() {
    let mut data = vec![0; 2 * 3 * 2 * 34]; // two matrices of three rows of two blocks
    let stack = |data: &[u8]| {
        let mut writer = Writer::new();
        writer.tensor("experts", GgmlType::Q8_0, &[64, 3, 2], data).unwrap();
        let mut file = Vec::new();
        writer.write_to(&mut file).unwrap();
        Gguf::parse(&file).unwrap().tensor("experts").unwrap().verify().map_err(|error| error.to_string())
    };
    assert_eq!(stack(&data), Ok(()));
    data[9 * 34..][..2].copy_from_slice(&[0, 0x7c]);
    let error = stack(&data).unwrap_err();
    assert!(
        error.starts_with("tensor \"experts\" at byte ") && error.ends_with(": block 1 of row 4 is not finite"),
        "{error}"
    );
}

//! `xtask quantize`: every type, by another way and by llama.cpp's own; what it says, and what it refuses.

mod errors;
mod llama;
mod shapes;

use std::fs;
use std::path::Path;
use std::process::Command;

use keepq_blocks::encode_row;
use keepq_decoder::{Logits, Model, Session, Settings};
use keepq_gemm::Residency;
use keepq_gguf::{GgmlType, Gguf, Source, Tensor, Value};
use keepq_simd::Tier;
use serde_json::json;

use crate::support::{names_in, printed, refusal, split, synthetic, temporary_folder, xtask};
use shapes::{KEPT, write_shapes};

/// The types, with what stands in for each where rows are no multiple of 256, and its `general.file_type`.
const TYPES: [(&str, &str, u32); 13] = [
    ("F32", "F32", 0),
    ("F16", "F16", 1),
    ("BF16", "BF16", 32),
    ("Q4_0", "Q4_0", 2),
    ("Q4_1", "Q4_1", 3),
    ("Q5_0", "Q5_0", 8),
    ("Q5_1", "Q5_1", 9),
    ("Q8_0", "Q8_0", 7),
    ("Q2_K", "Q4_0", 10),
    ("Q3_K", "Q4_0", 12),
    ("Q4_K", "Q5_0", 15),
    ("Q5_K", "Q5_1", 17),
    ("Q6_K", "Q8_0", 18),
];

fn quantize(from: &Path, ty: &str, out: &Path) -> Command {
    let mut command = xtask(["quantize", "--type", ty]);
    command.arg("--from").arg(from).arg("--out").arg(out);
    command
}

/// The type that a tensor has when its file was quantized to `name`.
fn expected(source: &Tensor<'_>, name: &str, fallback: &str) -> GgmlType {
    let from = source.ty().expect("a known type");
    let dims = source.dims();
    let named = |name| GgmlType::from_name(name).expect("a type");
    match (dims.len(), dims[0] % 256, dims[0] % 32) {
        (1, ..) => from,
        _ if KEPT.contains(&source.name()) => from,
        (_, 0, _) => named(name),
        (_, _, 0) => named(fallback),
        _ if name.contains('Q') => GgmlType::F16,
        _ => named(name),
    }
}

/// The bytes of a tensor in another type, a row at a time.
fn encoded(tensor: &Tensor<'_>, ty: GgmlType) -> Vec<u8> {
    let mut bytes = Vec::new();
    for slice in 0..tensor.slices() as usize {
        let matrix = tensor.slice(slice).expect("a matrix");
        let mut row = vec![0.0; matrix.k()];
        let mut encoded = vec![0; ty.row_bytes(matrix.k()).expect("whole blocks")];
        for n in 0..matrix.n() {
            matrix.decode_row(n, &mut row).expect("a row");
            encode_row(ty, &row, &mut encoded).expect("finite elements");
            bytes.extend_from_slice(&encoded);
        }
    }
    bytes
}

/// The keys that do not change, with their values.
fn kept<'a>(gguf: &Gguf<'a>) -> Vec<(&'a str, Value<'a>)> {
    let changed = ["general.quantization_version", "general.file_type"];
    gguf.metadata().filter(|(key, _)| !changed.contains(key) && !key.starts_with("split.")).collect()
}

#[test]
fn every_type_has_the_bytes_of_decoded_and_encoded_rows() {
    let dir = temporary_folder();
    let [shapes, out] = ["shapes.gguf", "out.gguf"].map(|name| dir.path().join(name));
    write_shapes(&shapes);
    for file in [synthetic(), &shapes] {
        let before = Source::map(file).expect("a file");
        let before = before.parse().expect("a GGUF file");
        for (name, fallback, file_type) in TYPES {
            printed(&mut quantize(file, &name.to_lowercase(), &out));
            let after = Source::map(&out).expect("a file");
            let after = after.parse().expect("a GGUF file");

            assert_eq!(kept(&after), kept(&before), "{name}");
            assert_eq!(after.value("general.file_type"), Some(Value::U32(file_type)));
            assert_eq!(after.value("general.quantization_version"), Some(Value::U32(2)));
            assert_eq!(after.metadata().len(), kept(&after).len() + 2, "{name}: a key of a split file");
            assert_eq!(after.tensors().len(), before.tensors().len());
            for source in before.tensors() {
                let tensor = after.require_tensor(source.name()).expect("the same tensors");
                let ty = expected(source, name, fallback);
                assert_eq!((tensor.dims(), tensor.ty()), (source.dims(), Ok(ty)), "{name}: {}", source.name());
                let data = tensor.data().expect("its bytes");
                let same = if source.ty() == Ok(ty) {
                    data == source.data().expect("its bytes")
                } else {
                    data == encoded(source, ty)
                };
                assert!(same, "{name}: {}", source.name());
            }
        }
    }
    assert_eq!(names_in(dir.path()).len(), 2);
}

/// The logits after each of some tokens.
fn logits(file: &Path, ids: &[u32]) -> Vec<f32> {
    let source = Source::map(file).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let settings = Settings::new(Tier::best(), 1, Residency::Strict).expect("one thread");
    let model = Model::load(&gguf, settings.residency()).expect("a model that runs as it is stored");
    let mut session = Session::new(&model, settings.driver(), ids.len()).expect("a small context");
    session.feed(ids, Logits::All).expect("logits").to_vec()
}

#[test]
fn every_type_runs_and_types_of_many_bits_are_near_the_source() {
    let dir = temporary_folder();
    let out = dir.path().join("model.gguf");
    let ids: Vec<u32> = (0..24).map(|i| i * 37 % 320).collect();
    let norm = |logits: &[f32]| logits.iter().map(|logit| f64::from(*logit).powi(2)).sum::<f64>().sqrt();
    let source = logits(synthetic(), &ids);
    for (name, ..) in TYPES {
        printed(&mut quantize(synthetic(), name, &out));
        let logits = logits(&out, &ids);
        assert!(logits.iter().all(|logit| logit.is_finite()), "{name}");
        let difference: Vec<f32> = logits.iter().zip(&source).map(|(a, b)| a - b).collect();
        let bound = if ["F32", "F16", "BF16", "Q8_0"].contains(&name) { 0.04 } else { 0.75 };
        let distance = norm(&difference) / norm(&source);
        assert!(distance < bound, "{name}: {distance}");
    }
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let dir = temporary_folder();
    let (source, out) = (dir.path().join("shapes.gguf"), dir.path().join("model.gguf"));
    write_shapes(&source);
    let files = ["1", "2", "3", "7"].map(|threads| {
        printed(quantize(&source, "Q4_K", &out).args(["--threads", threads]));
        fs::read(&out).expect("a file")
    });
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_set_of_files_becomes_one_which_is_that_of_the_whole() {
    let dir = temporary_folder();
    let [_, second, third] = split(dir.path());
    let [whole, out] = ["whole.gguf", "out.gguf"].map(|name| dir.path().join(name));
    printed(&mut quantize(synthetic(), "Q3_K", &whole));
    printed(&mut quantize(&third, "Q3_K", &out));
    assert!(fs::read(&out).expect("a file") == fs::read(&whole).expect("a file"));

    let line = refusal(&mut quantize(&third, "Q3_K", &second));
    assert_eq!(line, format!("{} is the source: it is not written over", second.display()));
}

#[test]
fn the_summary_has_every_tensor_and_names_what_fell_back() {
    let dir = temporary_folder();
    let out = dir.path().join("model.gguf");
    let text = printed(quantize(synthetic(), "q6_k", &out).arg("--json"));
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let bytes = |path: &Path| fs::metadata(path).expect("a file").len();
    assert_eq!((&json["type"], &json["bytes_before"]), (&json!("Q6_K"), &json!(bytes(synthetic()))));
    assert_eq!(json["bytes_after"], bytes(&out));
    let conversions = json["conversions"].as_array().expect("conversions");
    let sum = |key: &str| conversions.iter().map(|row| row[key].as_u64().expect("a number")).sum::<u64>();
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    assert_eq!(sum("tensors"), gguf.tensors().len() as u64);
    assert_eq!(sum("bytes_before"), gguf.tensors().iter().filter_map(Tensor::byte_size).sum::<u64>());
    // 96, 288 and 416 rows of two blocks of 210 bytes.
    let elements = (96 + 288 + 416) * 512;
    assert!(conversions.contains(&json!({
        "from": "F16", "to": "Q6_K", "tensors": 3, "bytes_before": elements * 2, "bytes_after": elements / 256 * 210,
    })));
    let fallbacks = json["fallbacks"].as_array().expect("fallbacks");
    assert_eq!(fallbacks.len(), 2, "{text}");
    for k in [288, 416] {
        let of_k = fallbacks.iter().find(|fallback| fallback["k"] == k);
        let fallback = of_k.unwrap_or_else(|| panic!("rows of {k}: {text}"));
        assert_eq!((&fallback["type"], &fallback["block_len"]), (&json!("Q8_0"), &json!(256)));
        // One in each layer.
        assert_eq!(fallback["tensors"].as_array().map(Vec::len), Some(8));
    }
}

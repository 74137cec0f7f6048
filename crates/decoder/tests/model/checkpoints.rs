//! Checkpoints: tiny ones that transformers made and ran, and what the 4-bit paths make of them.

use std::path::{Path, PathBuf};

use keepq_checkpoint::{CheckpointFiles, Method, Recipe, Scales, ZeroPoints};
use keepq_decoder::{Config, Logits, Model, ModelError, Session, Settings, select_path};
use keepq_gemm::Residency;
use keepq_gguf::Source;
use keepq_simd::{Tier, probe};
use keepq_tinygemm::select::{Fit, PathKind, Policy};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};

/// Keys and values are kept in f16 here, which has 11 bits; everything else is float32 on both sides.
const NEAR: f32 = 2e-3;

const NAMES: [&str; 5] = ["llama", "llama3", "qwen2", "qwen3", "gemma3"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/checkpoints").join(name)
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The ids fed, and all logits after each of them, by transformers.
fn oracle(name: &str) -> (Vec<u32>, Vec<f32>) {
    let data = json_of(&data(name).join("logits.json"));
    let ids = data["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
    let rows = data["logits"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    (ids, rows.map(|logit| logit.as_f64().unwrap() as f32).collect())
}

/// All logits of a checkpoint's model, by the portable tier.
fn logits(folder: &Path, policy: Option<Policy>, ids: &[u32]) -> Result<(Vec<f32>, usize), ModelError> {
    let files = CheckpointFiles::open(folder, |path| Source::map(path))?;
    let checkpoint = files.parse()?;
    let path = policy.map(|policy| select_path(&checkpoint, &probe(), policy)).transpose()?.map(|found| found.path);
    let model = Model::from_checkpoint(&checkpoint, path, |_| ())?;
    let settings = Settings::new(Tier::best(), 1, Residency::Keep).unwrap();
    let mut session = Session::new(&model, settings.driver(), ids.len()).unwrap();
    let logits = session.feed(ids, Logits::All).unwrap().to_vec();
    // Cut into calls, the bits are the same.
    let mut again = Session::new(&model, settings.driver(), ids.len()).unwrap();
    let one_by_one: Vec<f32> = ids.iter().flat_map(|&id| again.feed(&[id], Logits::Last).unwrap().to_vec()).collect();
    assert_eq!(logits, one_by_one);
    Ok((logits, model.report().conversions.len()))
}

/// The largest distance of two rows of numbers, by the largest number.
fn distance(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / largest
}

#[test]
fn transformers_finds_the_same_logits() {
    for name in NAMES {
        let (ids, expected) = oracle(name);
        let (found, conversions) = logits(&data(name), None, &ids).unwrap();
        let distance = distance(&found, &expected);
        assert!(distance < NEAR, "{name}: {distance}");
        assert_eq!(conversions, 0);
    }
}

/// A copy of a tiny checkpoint with another configuration.
fn changed(name: &str, change: impl Fn(&mut Map<String, Value>)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(data(name).join("model.safetensors"), folder.path().join("model.safetensors")).unwrap();
    let mut config = json_of(&data(name).join("config.json")).as_object().unwrap().clone();
    change(&mut config);
    std::fs::write(folder.path().join("config.json"), Value::Object(config).to_string()).unwrap();
    folder
}

#[test]
fn older_configurations_say_the_same_by_other_keys() {
    let llama3 = changed("llama3", |config| {
        let mut parameters = config.remove("rope_parameters").unwrap();
        config.insert("rope_theta".into(), parameters["rope_theta"].take());
        parameters["type"] = parameters["rope_type"].take();
        config.insert("rope_scaling".into(), parameters);
    });
    let gemma3 = changed("gemma3", |config| {
        config.remove("rope_parameters");
        config.remove("layer_types");
        config.insert("sliding_window_pattern".into(), json!(6));
        config.insert("rope_local_base_freq".into(), json!(10000.0));
        // Without `rope_theta` it is 1e6.
    });
    for (name, folder) in [("llama3", llama3), ("gemma3", gemma3)] {
        let (ids, _) = oracle(name);
        let bits = |folder: &Path| logits(folder, None, &ids).unwrap();
        assert_eq!(bits(folder.path()), bits(&data(name)), "{name}");
    }
}

#[test]
fn every_key_counts() {
    // Each of these, said otherwise, gives other logits: none is left unread.
    let changes: [(&str, &str, Value); 8] = [
        ("llama", "rms_norm_eps", json!(0.1)),
        ("llama", "rope_parameters", json!({ "rope_theta": 500.0, "rope_type": "default" })),
        ("llama", "rope_parameters", json!({ "rope_theta": 1e4, "rope_type": "linear", "factor": 2.0 })),
        ("llama3", "rope_parameters", json!({ "rope_theta": 1e4, "rope_type": "default" })),
        ("gemma3", "query_pre_attn_scalar", json!(64)),
        ("gemma3", "sliding_window", json!(3)),
        ("gemma3", "rope_parameters", json!({ "full_attention": { "rope_theta": 1e4 }, "sliding_attention": {} })),
        ("gemma3", "rope_parameters", json!({ "sliding_attention": { "rope_theta": 1e6 } })),
    ];
    for (name, key, value) in changes {
        let (ids, expected) = oracle(name);
        let folder = changed(name, |config| drop(config.insert(key.into(), value.clone())));
        let (found, _) = logits(folder.path(), None, &ids).unwrap();
        assert!(distance(&found, &expected) > 3.0 * NEAR, "{name} {key} {value}");
    }
}

#[test]
fn what_cannot_be_run_is_refused() {
    let error = |name: &str, key: &str, value: Value| {
        let folder = changed(name, |config| match &value {
            Value::Null => drop(config.remove(key)),
            value => drop(config.insert(key.into(), value.clone())),
        });
        let error = logits(folder.path(), None, &[1]).unwrap_err().to_string();
        format!("{name} {key} {value}: {error}")
    };
    let lines = [
        error("llama", "model_type", json!("mamba")),
        error("llama", "model_type", Value::Null),
        error("llama", "hidden_size", json!(0)),
        error("llama", "hidden_size", json!(65)),
        error("llama", "hidden_size", json!("64")),
        error("llama", "num_attention_heads", json!(3)),
        error("llama", "num_key_value_heads", json!(3)),
        error("llama", "head_dim", json!(7)),
        error("llama", "head_dim", json!(32)),
        error("llama", "num_hidden_layers", json!(3)),
        error("llama", "num_hidden_layers", json!(1)),
        error("llama", "num_hidden_layers", json!(u64::MAX)),
        error("llama", "vocab_size", json!(65)),
        error("llama", "rms_norm_eps", json!(-1.0)),
        error("llama", "hidden_act", json!("relu")),
        error("llama", "attention_bias", json!(true)),
        error("llama", "mlp_bias", json!(true)),
        error("llama", "sliding_window", json!(4)),
        error("llama", "tie_word_embeddings", json!(false)),
        error("llama", "rope_parameters", json!([])),
        error("llama", "rope_parameters", json!({ "rope_type": "yarn", "factor": 2.0 })),
        error("llama", "rope_parameters", json!({ "rope_type": "linear" })),
        error("llama3", "rope_parameters", json!({ "rope_type": "llama3", "factor": 8.0 })),
        error("llama", "quantization_config", json!({ "quant_method": "gptq", "bits": 8 })),
        error("qwen2", "layer_types", json!(["full_attention", "sliding_attention"])),
        error("qwen2", "model_type", json!("llama")),
        error("gemma3", "hidden_activation", json!("gelu")),
        error("gemma3", "layer_types", json!(["full_attention"])),
        error("gemma3", "final_logit_softcapping", json!(30.0)),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

/// The same model with its matrices as a recipe makes them, and the same with the floats that these stand for.
fn quantized(name: &str, recipe: &Recipe) -> (tempfile::TempDir, tempfile::TempDir) {
    let bytes = std::fs::read(data(name).join("model.safetensors")).unwrap();
    let model = SafeTensors::deserialize(&bytes).unwrap();
    let (mut packed, mut floats) = (Vec::new(), Vec::new());
    for (name, view) in model.tensors() {
        let (&[n, k], false) = (view.shape(), name.contains("embed_tokens")) else {
            packed.push((name.clone(), view.dtype(), view.shape().to_vec(), view.data().to_vec()));
            floats.push((name, view.dtype(), view.shape().to_vec(), view.data().to_vec()));
            continue;
        };
        let weights: Vec<f32> =
            view.data().as_chunks().0.iter().map(|&bytes| half::bf16::from_le_bytes(bytes).to_f32()).collect();
        let groups = recipe.groups(k);
        let mut scales = Scales { scales: vec![0.0; n * groups], zeros: vec![0.0; n * groups] };
        let (mut codes, mut decoded) = (vec![0; n * k], Vec::new());
        for (r, row) in weights.chunks_exact(k).enumerate() {
            let of_row = r * groups..(r + 1) * groups;
            recipe.scales(row, &mut scales.scales[of_row.clone()], &mut scales.zeros[of_row.clone()]).unwrap();
            let (s, z) = (&scales.scales[of_row.clone()], &scales.zeros[of_row]);
            let codes = &mut codes[r * k..][..k];
            recipe.codes(row, s, z, codes);
            decoded.extend(codes.iter().enumerate().map(|(i, &code)| {
                let (scale, zero) = (s[i * groups / k], z[i * groups / k]);
                if recipe.method() == Method::CpuInt4 {
                    (f32::from(code) - 8.0) * scale + zero
                } else {
                    (f32::from(code) - zero) * scale
                }
            }));
        }
        let prefix = name.strip_suffix(".weight").unwrap();
        for part in recipe.parts((n, k)).unwrap() {
            let bytes = recipe.bytes(part.name, (n, k), &scales, |all| all.copy_from_slice(&codes)).unwrap();
            packed.push((format!("{prefix}.{}", part.name), part.dtype, part.shape, bytes));
        }
        floats.push((name, Dtype::F32, vec![n, k], decoded.iter().flat_map(|w| w.to_le_bytes()).collect()));
    }
    let config = json_of(&data(name).join("config.json"));
    let folder = |tensors: &[(String, Dtype, Vec<usize>, Vec<u8>)], quantization: Option<Map<String, Value>>| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config.clone();
        if let Some(quantization) = quantization {
            config["quantization_config"] = Value::Object(quantization);
        }
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let views = tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).unwrap()));
        safetensors::serialize_to_file(views, None, &folder.path().join("model.safetensors")).unwrap();
        folder
    };
    (folder(&packed, Some(recipe.config())), folder(&floats, None))
}

#[test]
fn paths_find_what_floats_of_the_same_weights_find() {
    for name in ["llama3", "qwen2"] {
        let (ids, _) = oracle(name);
        for (method, paths) in [
            (Method::CpuInt4, &[PathKind::W4A16][..]),
            (Method::Gptq(ZeroPoints::LessOne), &[PathKind::W4A16, PathKind::W4A8, PathKind::Fallback]),
            (Method::Awq, &[PathKind::W4A16, PathKind::W4A8, PathKind::Fallback]),
            (Method::W4A8, &[PathKind::W4A8]),
            (Method::Int4, &[PathKind::Int4, PathKind::W4A8]),
        ] {
            let recipe = Recipe::new(method, 32, false).unwrap();
            let (packed, floats) = quantized(name, &recipe);
            let (expected, _) = logits(floats.path(), None, &ids).unwrap();
            for &path in paths {
                let (found, conversions) = logits(packed.path(), Some(Policy::Named(path)), &ids).unwrap();
                let in_place = method == Method::W4A8;
                assert_eq!(conversions, if in_place { 0 } else { 15 }, "{name} {method:?} {path}");
                // Scales rounded to bf16 are off by 2^-9 at most, activations rounded to int8 by 1/254.
                let most = match (path, method) {
                    (PathKind::W4A16, Method::CpuInt4) => NEAR,
                    (PathKind::W4A16 | PathKind::Fallback, _) => 0.02,
                    (PathKind::W4A8 | PathKind::Int4, _) => 0.06,
                };
                let distance = distance(&found, &expected);
                assert!(distance < most, "{name} {method:?} {path}: {distance}");
            }
        }
    }
}

#[test]
fn floats_can_be_quantized_as_they_are_loaded() {
    let (ids, expected) = oracle("llama");
    // The tied head is quantized with the rest.
    let (found, conversions) = logits(&data("llama"), Some(Policy::Named(PathKind::Int4)), &ids).unwrap();
    assert_eq!(conversions, 15);
    assert!((0.01..0.5).contains(&distance(&found, &expected)), "{}", distance(&found, &expected));
    for path in [PathKind::W4A16, PathKind::W4A8, PathKind::Fallback] {
        // Rows of 96 are no multiple of 64, the group where none is said.
        let error = logits(&data("llama"), Some(Policy::Named(path)), &ids).unwrap_err().to_string();
        assert!(error.ends_with("there are matrices of a shape that it has no form for"), "{error}");
    }
}

#[test]
fn a_quantized_checkpoint_needs_a_path_and_warns_of_a_head_of_floats() {
    let recipe = Recipe::new(Method::Awq, 32, false).unwrap();
    let (packed, _) = quantized("llama", &recipe);
    let error = logits(packed.path(), None, &[1]).unwrap_err().to_string();
    assert!(error.contains("4-bit path, and none was given"), "{error}");

    let files = CheckpointFiles::open(packed.path(), |path| Source::map(path)).unwrap();
    let checkpoint = files.parse().unwrap();
    let selection = select_path(&checkpoint, &probe(), Policy::Fidelity).unwrap();
    assert_eq!((selection.path.kind(), selection.fit), (PathKind::W4A16, Fit::Rounded));
    let released = std::cell::RefCell::new(Vec::new());
    let model = Model::from_checkpoint(&checkpoint, Some(selection.path), |tensor| {
        released.borrow_mut().push(tensor.name().to_owned());
    })
    .unwrap();
    let report = model.report();
    assert_eq!(report.warnings, ["model.embed_tokens: the head is not quantized: its 0.0 MB are read for every token"]);
    assert_eq!(report.conversions.len(), 14);
    // Three tensors of each weight.
    assert_eq!(released.into_inner().len(), 3 * 14);
    assert_eq!(report.kept_bytes, 64 * 64 * 2);
    let converted: usize = report.conversions.iter().map(|conversion| conversion.bytes).sum();
    assert_eq!(report.converted_bytes, converted);
    assert!(report.conversions.iter().all(|conversion| conversion.fit == Fit::Rounded && conversion.copy.is_none()));
    assert_eq!(Config::from_checkpoint(&checkpoint).unwrap(), *model.config());
}

#[test]
fn a_bias_that_is_left_over_is_refused_unless_it_is_zero() {
    let bytes = std::fs::read(data("llama").join("model.safetensors")).unwrap();
    let model = SafeTensors::deserialize(&bytes).unwrap();
    let with_bias = |bias: [f32; 64]| {
        let folder = changed("llama", |_| ());
        let bias: Vec<u8> = bias.iter().flat_map(|x| x.to_le_bytes()).collect();
        let name = "model.layers.1.self_attn.o_proj.bias".to_owned();
        let added = (name, TensorView::new(Dtype::F32, vec![64], &bias).unwrap());
        let tensors = model.tensors().into_iter().chain([added]);
        safetensors::serialize_to_file(tensors, None, &folder.path().join("model.safetensors")).unwrap();
        logits(folder.path(), None, &[1]).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with_bias([0.0; 64]), Ok(()));
    let mut bias = [0.0; 64];
    bias[63] = 1e-9;
    let error = with_bias(bias).unwrap_err();
    assert!(error.starts_with("tensor \"model.layers.1.self_attn.o_proj.bias\" has no place"), "{error}");
}

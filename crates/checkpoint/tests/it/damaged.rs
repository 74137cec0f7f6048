//! Damaged checkpoints: each answered by an error that names what is wrong.

use keepq_checkpoint::{CheckpointFiles, Method, Recipe, ZeroPoints};
use keepq_gguf::Source;
use keepq_tinygemm::w4a16::Layout;
use safetensors::Dtype;
use serde_json::{Value, json};

use crate::folder::{Folder, Given, config, make, weights};

const SHAPE: (usize, usize) = (32, 64);

fn made(method: Method) -> (Value, Vec<Given>) {
    let recipe = Recipe::new(method, 32, true).unwrap();
    (config(&recipe), make(&recipe, "w", SHAPE, &weights(SHAPE.0, SHAPE.1)).tensors)
}

/// What reading and converting says, without the folder's own name.
fn outcome(folder: &Folder) -> String {
    let result = (|| {
        let files = CheckpointFiles::open(folder.path(), |path| Source::read(path))?;
        let checkpoint = files.parse()?;
        let linear = checkpoint.linear("w", SHAPE)?;
        linear.to_w4a16(Layout::Avx2, 64).map(|_| ())?;
        linear.to_w4a8(64).map(|_| ())?;
        linear.to_wna16(64).map(|_| ())?;
        linear.to_int4().map(|_| ())
    })();
    match result {
        Ok(()) => "accepted".into(),
        Err(error) => error.to_string().replace(&folder.path().display().to_string(), "FOLDER"),
    }
}

#[test]
fn damaged_tensors() {
    let mut lines = Vec::new();
    let mut say = |what: &str, config: &Value, tensors: &[Given]| {
        lines.push(format!("{what}: {}", outcome(&Folder::new(config, tensors))));
    };
    let methods = [Method::Gptq(ZeroPoints::LessOne), Method::Awq, Method::CpuInt4, Method::W4A8, Method::Int4];
    for method in methods {
        let (config, tensors) = made(method);
        say(&format!("{} whole", method.name()), &config, &tensors);
        for (i, tensor) in tensors.iter().enumerate() {
            let part = tensor.0.trim_start_matches("w.");
            let named = |what: &str| format!("{} {part} {what}", method.name());
            let mut missing = tensors.clone();
            missing.remove(i);
            say(&named("missing"), &config, &missing);
            let mut other = tensors.clone();
            let elements = other[i].2.iter().product::<usize>();
            (other[i].1, other[i].3) = (Dtype::F64, vec![0; 8 * elements]);
            say(&named("of another type"), &config, &other);
            let mut turned = tensors.clone();
            turned[i].2 = vec![elements];
            say(&named("flat"), &config, &turned);
        }
        let mut poisoned = tensors.clone();
        let scales = poisoned.iter_mut().find(|tensor| tensor.0.contains("scale")).unwrap();
        let at = scales.3.len() / 2;
        scales.3[at..].fill(0xff);
        say(&format!("{} scales of NaN", method.name()), &config, &poisoned);
    }
    let (config, mut tensors) = made(Method::W4A8);
    let records = tensors.iter_mut().find(|tensor| tensor.0.ends_with("weight_packed")).unwrap();
    records.3[0] ^= 1;
    say("w4a8 a code changed", &config, &tensors);
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn damaged_configurations() {
    let (_, tensors) = made(Method::Gptq(ZeroPoints::LessOne));
    let mut lines = Vec::new();
    for quantization in [
        json!(7),
        json!({}),
        json!({ "quant_method": "gptq", "bits": 3 }),
        json!({ "quant_method": "gptq", "bits": "4" }),
        json!({ "quant_method": "gptq", "group_size": 0 }),
        json!({ "quant_method": "gptq", "group_size": 1e300 }),
        json!({ "quant_method": "gptq", "group_size": 48 }),
        json!({ "quant_method": "gptq", "group_size": 16 }),
        json!({ "quant_method": "gptq", "checkpoint_format": "gptq_v9" }),
        json!({ "quant_method": "gptq", "sym": "yes" }),
        json!({ "quant_method": "awq", "version": "gemv" }),
        json!({ "quant_method": "awq", "w_bit": 8 }),
        json!({ "quant_method": "cpu_int4", "dequant_threshold": -1 }),
        json!({ "quant_method": "cpu_int4", "direct_dequant": 1 }),
        json!({ "quant_method": "fp8" }),
        json!({ "quant_method": null }),
    ] {
        let folder = Folder::new(&json!({ "quantization_config": quantization }), &tensors);
        lines.push(format!("{quantization}: {}", outcome(&folder)));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn damaged_files() {
    let (config, tensors) = made(Method::Gptq(ZeroPoints::LessOne));
    let mut lines = Vec::new();
    let mut say = |what: &str, change: &dyn Fn(&Folder)| {
        let folder = Folder::new(&config, &tensors);
        change(&folder);
        lines.push(format!("{what}: {}", outcome(&folder)));
    };
    let model = |folder: &Folder| folder.path().join("model.safetensors");
    let write = |folder: &Folder, file: &str, bytes: &[u8]| std::fs::write(folder.path().join(file), bytes).unwrap();
    let index = |folder: &Folder, map: Value| {
        std::fs::rename(model(folder), folder.path().join("one.safetensors")).unwrap();
        write(folder, "model.safetensors.index.json", json!({ "weight_map": map }).to_string().as_bytes());
    };
    let all: Value = tensors.iter().map(|tensor| (tensor.0.clone(), json!("one.safetensors"))).collect();

    say("no config", &|folder| std::fs::remove_file(folder.path().join("config.json")).unwrap());
    say("no model", &|folder| std::fs::remove_file(model(folder)).unwrap());
    say("empty", &|folder| write(folder, "model.safetensors", b""));
    say("a page", &|folder| write(folder, "model.safetensors", b"<!DOCTYPE html><html><body>404</body></html>"));
    say("a pointer", &|folder| {
        write(folder, "model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    });
    say("an archive", &|folder| write(folder, "model.safetensors", b"PK\x03\x04\x14\0\0\0\x08\x08"));
    say("a header of 2^63", &|folder| write(folder, "model.safetensors", &(1_u64 << 63).to_le_bytes()));
    say("a header beyond the end", &|folder| write(folder, "model.safetensors", &[99, 0, 0, 0, 0, 0, 0, 0, b'{']));
    say("cut off", &|folder| {
        let bytes = std::fs::read(model(folder)).unwrap();
        write(folder, "model.safetensors", &bytes[..bytes.len() - 1]);
    });
    say("bytes behind the end", &|folder| {
        let mut bytes = std::fs::read(model(folder)).unwrap();
        bytes.push(0);
        write(folder, "model.safetensors", &bytes);
    });
    say("a folder in its place", &|folder| {
        std::fs::remove_file(model(folder)).unwrap();
        std::fs::create_dir(model(folder)).unwrap();
    });
    say("config no JSON", &|folder| write(folder, "config.json", b"{,}"));
    say("config an array", &|folder| write(folder, "config.json", b"[]"));
    let nested = format!("{{\"a\": {}", "[".repeat(100_000));
    say("config nested", &|folder| write(folder, "config.json", nested.as_bytes()));
    say("an index", &|folder| index(folder, all.clone()));
    say("an index out of the folder", &|folder| index(folder, json!({ "w.scales": "../one.safetensors" })));
    say("an index to the root", &|folder| index(folder, json!({ "w.scales": "/etc/passwd" })));
    say("an index of numbers", &|folder| index(folder, json!({ "w.scales": 3 })));
    say("an index of nothing", &|folder| index(folder, json!(null)));
    say("an index of a tensor that is not there", &|folder| {
        let mut map = all.clone();
        map["w.more"] = json!("one.safetensors");
        index(folder, map);
    });
    say("an index without one that is there", &|folder| {
        let mut map = all.clone();
        map.as_object_mut().unwrap().remove("w.scales");
        index(folder, map);
    });
    say("an index of a file that is not there", &|folder| {
        let mut map = all.clone();
        map["w.scales"] = json!("two.safetensors");
        index(folder, map);
    });
    insta::assert_snapshot!(lines.join("\n"));
}

/// A safetensors file with this header and no data.
fn header(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

#[test]
fn texts_of_a_file_stay_on_one_short_line() {
    let (config, tensors) = made(Method::Gptq(ZeroPoints::LessOne));
    let mut lines = Vec::new();
    let mut say = |what: &str, change: &dyn Fn(&Folder)| {
        let folder = Folder::new(&config, &tensors);
        change(&folder);
        lines.push(format!("{what}: {}", outcome(&folder)));
    };
    let write = |folder: &Folder, file: &str, text: &str| std::fs::write(folder.path().join(file), text).unwrap();
    let model = |folder: &Folder, text: &str| {
        std::fs::write(folder.path().join("model.safetensors"), header(text)).unwrap();
    };
    // Clears a terminal, turns the direction of text, goes on for long.
    let odd = format!("\n\u{1b}[2J\u{9b}\u{202e}{}", "x".repeat(100_000));
    let text = json!(odd);

    say("a type", &|folder| {
        model(folder, &format!(r#"{{"w.scales":{{"dtype":{text},"shape":[],"data_offsets":[0,0]}}}}"#));
    });
    say("a key of the header", &|folder| model(folder, &format!(r#"{{"w.scales":{{{text}:0}}}}"#)));
    say("a tensor twice", &|folder| {
        let tensor = r#""w.g_idx":{"dtype":"I32","shape":[0],"data_offsets":[0,0]}"#;
        model(folder, &format!("{{{tensor},{tensor}}}"));
    });
    say("a tensor", &|folder| {
        model(folder, &format!(r#"{{{text}:{{"dtype":"F32","shape":[1],"data_offsets":[0,0]}}}}"#))
    });
    say("a shape", &|folder| {
        let shape = json!(vec![1; 1000]);
        let mut file = header(&format!(r#"{{"w.qweight":{{"dtype":"I32","shape":{shape},"data_offsets":[0,4]}}}}"#));
        file.extend([0; 4]);
        std::fs::write(folder.path().join("model.safetensors"), file).unwrap();
    });
    say("a value of the configuration", &|folder| {
        write(folder, "config.json", &json!({ "quantization_config": { "quant_method": odd } }).to_string());
    });
    say("a configuration that is none", &|folder| write(folder, "config.json", &text.to_string()));
    say("a name in an index", &|folder| {
        std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
        write(folder, "model.safetensors.index.json", &json!({ "weight_map": { "w.scales": odd } }).to_string());
    });
    say("a tensor of an index", &|folder| {
        std::fs::rename(folder.path().join("model.safetensors"), folder.path().join("one.safetensors")).unwrap();
        let map = json!({ "weight_map": { odd.as_str(): "one.safetensors" } });
        write(folder, "model.safetensors.index.json", &map.to_string());
    });
    for line in &lines {
        assert!(
            !line.contains(|letter: char| letter.is_control() || letter == '\u{202e}') && line.len() < 1000,
            "{line}"
        );
    }
    insta::assert_snapshot!(lines.join("\n"));
}

//! Checkpoints: made by `quantize`, run by `generate` and `bench`, refused in one line where they are damaged.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::{names_in, printed, refusal, smollm2, synthetic, temporary_folder, xtask};

fn quantize(from: &Path, ty: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = xtask(["quantize", "--type", ty]);
    command.arg("--from").arg(from).arg("--out").arg(out).args(more);
    command
}

fn generate(model: &Path, more: &[&str]) -> Command {
    let mut command = xtask(["generate", "--prompt", "The weights stay", "--tokens", "12", "--threads", "1"]);
    command.arg("--model").arg(model).args(more);
    command
}

fn ids(model: &Path, more: &[&str]) -> Vec<u64> {
    let json: Value = serde_json::from_str(&printed(generate(model, more).arg("--json"))).expect("JSON");
    json["ids"].as_array().expect("ids").iter().map(|id| id.as_u64().expect("an id")).collect()
}

/// A tiny model of floats that transformers wrote.
fn tiny() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/decoder/tests/data/checkpoints/llama3")
}

/// The synthetic model keeps its choices apart, so that four bits in groups do not change the first of them.
#[test]
fn every_form_is_made_and_says_what_the_file_says() {
    let dir = temporary_folder();
    let first = |model: &Path, more: &[&str]| ids(model, more)[..4].to_vec();
    let expected = first(synthetic(), &[]);
    for (ty, paths) in [
        ("cpu_int4", &["w4a16"][..]),
        ("gptq", &["w4a16", "w4a8", "fallback"]),
        ("awq", &["w4a16", "w4a8", "fallback"]),
        ("w4a8", &["w4a8"]),
    ] {
        let out = dir.path().join(ty);
        let report: Value =
            serde_json::from_str(&printed(&mut quantize(synthetic(), ty, &out, &["--group", "32", "--json"])))
                .expect("JSON");
        assert_eq!((&report["type"], &report["group"], &report["head"]), (&ty.into(), &32.into(), &true.into()));
        assert_eq!(report["warnings"], serde_json::json!([]));
        let mut names = names_in(&out);
        names.sort();
        assert_eq!(names, ["config.json", "model.safetensors", "vocab.gguf"]);
        for path in paths {
            assert_eq!(first(&out, &["--path", path]), expected, "{ty} by {path}");
        }
        assert_eq!(first(&out, &[]), expected, "{ty} by itself");
    }
    let mut left = names_in(dir.path());
    left.sort();
    assert_eq!(left, ["awq", "cpu_int4", "gptq", "w4a8"]);

    // One scale a row is not as near.
    let out = dir.path().join("int4");
    printed(&mut quantize(synthetic(), "int4", &out, &["--group", "32"]));
    assert_eq!(ids(&out, &["--path", "int4"]).len(), 12);
}

#[test]
fn lines_say_which_path_runs_and_why() {
    let dir = temporary_folder();
    let out = dir.path().join("gptq");
    printed(&mut quantize(synthetic(), "gptq", &out, &["--group", "32", "--asymmetric"]));
    let lines = |path: &str| {
        let output = generate(&out, &["--path", path]).env("KEEPQ_TIER", "portable").output().expect("it starts");
        String::from_utf8(output.stderr).expect("text")
    };
    let said = lines("auto");
    assert!(
        said.contains("int8 activations are the fastest; weights as stored") && said.contains(" converted"),
        "{said}"
    );
    let said = lines("fidelity");
    assert!(
        said.contains("path w4a16")
            && said.contains("bf16 activations lose the least; codes as stored, scales rounded"),
        "{said}"
    );
    let said = lines("int4");
    assert!(said.contains("without the gates of speed and quality on record; weights are quantized again"), "{said}");
}

#[test]
fn a_head_of_floats_is_warned_of() {
    let dir = temporary_folder();
    let out = dir.path().join("w4a8");
    let output = quantize(synthetic(), "w4a8", &out, &["--group", "32", "--keep-head"]).output().expect("it starts");
    assert!(output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(
        said,
        "warning: the head stays bf16: 0.3 MB that are read for every token, 0.1 MB if it were quantized\n"
    );
    let said = String::from_utf8(generate(&out, &[]).output().expect("it starts").stderr).expect("text");
    assert!(
        said.contains("warning: model.embed_tokens: the head is not quantized: its 0.3 MB are read for every token"),
        "{said}"
    );
}

#[test]
fn a_checkpoint_of_floats_is_a_source() {
    let dir = temporary_folder();
    let (source, out) = (dir.path().join("tiny"), dir.path().join("out"));
    fs::create_dir(&source).expect("a folder");
    for file in ["config.json", "model.safetensors"] {
        fs::copy(tiny().join(file), source.join(file)).expect("a copy");
    }
    let line = refusal(&mut quantize(&source, "awq", &out, &["--group", "32"]));
    assert!(line.contains("vocab.gguf is missing"), "{line}");
    fs::copy(synthetic(), source.join("vocab.gguf")).expect("a copy");
    printed(&mut quantize(&source, "awq", &out, &["--group", "32"]));
    let config: Value = serde_json::from_slice(&fs::read(out.join("config.json")).expect("a file")).expect("JSON");
    assert_eq!(config["quantization_config"]["quant_method"], "awq");
    // What the source says of the model is said again.
    assert_eq!((&config["hidden_size"], &config["rope_parameters"]["factor"]), (&64.into(), &8.0.into()));

    let line = refusal(&mut quantize(&out, "gptq", &dir.path().join("again"), &["--group", "32"]));
    assert!(line.ends_with("its weights are quantized already, as awq"), "{line}");
}

#[test]
fn what_cannot_be_made_leaves_nothing() {
    let dir = temporary_folder();
    let out = dir.path().join("out");
    // 288 is a multiple of 32 alone.
    let line = refusal(&mut quantize(synthetic(), "cpu_int4", &out, &[]));
    assert!(line.contains("self_attn.o_proj.weight\": cpu_int4: rows of 288 codes in groups of 64"), "{line}");
    let line = refusal(&mut quantize(synthetic(), "gptq", &out, &["--group", "48"]));
    assert!(line.contains("none of 32, 64, 128, 256"), "{line}");
    let line = refusal(&mut quantize(synthetic(), "Q8_0", &out, &["--asymmetric"]));
    assert_eq!(line, "--group, --asymmetric, --calibrate, --keep-head and --keep-embedding are for checkpoints");
    let line = refusal(&mut quantize(synthetic(), "gptq", &dir.path().join("no").join("out"), &["--group", "32"]));
    assert!(line.contains("cannot write in the folder "), "{line}");
    assert!(names_in(dir.path()).is_empty());

    fs::write(&out, "in the way").expect("a file");
    let line = refusal(&mut quantize(synthetic(), "gptq", &out, &["--group", "32"]));
    assert!(line.ends_with("out is in the way"), "{line}");
    assert_eq!(fs::read(&out).expect("a file"), b"in the way");
}

#[test]
fn damaged_checkpoints_are_refused_in_one_line() {
    let dir = temporary_folder();
    let whole = dir.path().join("whole");
    printed(&mut quantize(synthetic(), "gptq", &whole, &["--group", "32"]));
    let damaged = |change: &dyn Fn(&Path)| {
        let folder = dir.path().join("damaged");
        let _absent = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        for file in ["config.json", "model.safetensors", "vocab.gguf"] {
            fs::copy(whole.join(file), folder.join(file)).expect("a copy");
        }
        change(&folder);
        let line = refusal(&mut generate(&folder, &[]));
        line.replace(&folder.display().to_string(), "FOLDER")
    };
    let replaced = |file: &'static str, from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let path = folder.join(file);
            let text = fs::read_to_string(&path).expect("text");
            assert!(text.contains(from), "{text}");
            fs::write(path, text.replace(from, to)).expect("a file");
        }
    };
    let lines = [
        damaged(&|folder| fs::remove_file(folder.join("config.json")).expect("a file")),
        damaged(&|folder| fs::remove_file(folder.join("model.safetensors")).expect("a file")),
        damaged(&|folder| fs::remove_file(folder.join("vocab.gguf")).expect("a file")),
        damaged(&|folder| fs::write(folder.join("vocab.gguf"), "version https://git-lfs").expect("a file")),
        damaged(&|folder| {
            let file = fs::OpenOptions::new().write(true).open(folder.join("model.safetensors")).expect("a file");
            file.set_len(file.metadata().expect("a file").len() - 4096).expect("a shorter file");
        }),
        damaged(&|folder| fs::write(folder.join("model.safetensors"), "version https://git-lfs").expect("a file")),
        damaged(&|folder| fs::write(folder.join("model.safetensors"), [0xff; 64]).expect("a file")),
        // The first scale of a matrix becomes a NaN.
        damaged(&|folder| {
            let path = folder.join("model.safetensors");
            let mut bytes = fs::read(&path).expect("a file");
            let header = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
            let json: Value = serde_json::from_slice(&bytes[8..header]).expect("JSON");
            let scales = &json["model.layers.3.mlp.up_proj.scales"]["data_offsets"][0];
            let at = header + scales.as_u64().expect("a place") as usize;
            bytes[at..at + 2].fill(0xff);
            fs::write(path, bytes).expect("a file");
        }),
        damaged(&|folder| {
            fs::rename(folder.join("model.safetensors"), folder.join("one.safetensors")).expect("a file");
            let index = r#"{"weight_map": {"lm_head.scales": "../one.safetensors"}}"#;
            fs::write(folder.join("model.safetensors.index.json"), index).expect("a file");
        }),
        damaged(&replaced("config.json", "\"bits\": 4", "\"bits\": 3")),
        damaged(&replaced("config.json", "\"group_size\": 32", "\"group_size\": 64")),
        damaged(&replaced("config.json", "\"num_hidden_layers\": 8", "\"num_hidden_layers\": 9")),
        damaged(&replaced("config.json", "\"llama\"", "\"mamba\"")),
        damaged(&replaced("config.json", "{", "")),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn paths_take_turns_in_a_bench() {
    let mut command =
        xtask(["bench", "--path", "w4a16", "--path", "auto", "--reps=1", "--prompt-len=8", "--gen-len=2", "--json"]);
    let printed = printed(&mut command);
    let rows: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let arms: Vec<_> = rows.iter().map(|row| row["arm"].as_str().expect("a name")).collect();
    assert_eq!(arms, ["w4a16", "auto"]);

    let line = refusal(&mut xtask(["bench", "--path", "w4a16", "--arm", "after"]));
    assert_eq!(line, "--arm is for GGUF files, --path for checkpoints");
    let mut of_file = xtask(["bench", "--path", "w4a16", "--model"]);
    assert!(refusal(of_file.arg(synthetic())).ends_with("--path is for checkpoints, which are folders"));
    let line = refusal(generate(synthetic(), &["--path", "w4a8"]).arg("--json"));
    assert!(line.contains("is one of checkpoints, which are folders: `quantize` makes one of this file"), "{line}");
    let line = refusal(&mut xtask(["bench", "--kernels", "--path", "auto"]));
    assert_eq!(line, "--path auto: kernels are those of a path, auto chooses one for a checkpoint");
}

/// The forms of a real model, beside its file.
#[test]
fn smollm2_in_every_form() {
    let Some(model) = smollm2() else { return };
    let dir = temporary_folder();
    let text = |model: &Path| {
        let mut command = xtask(["generate", "--prompt", "The capital of France is", "--tokens", "4"]);
        printed(command.arg("--model").arg(model))
    };
    assert!(text(&model).starts_with(" Paris"));
    for ty in ["cpu_int4", "gptq", "awq", "w4a8"] {
        let out = dir.path().join(ty);
        printed(&mut quantize(&model, ty, &out, &["--group", "32"]));
        assert!(text(&out).starts_with(" Paris"), "{ty}: {}", text(&out));
        fs::remove_dir_all(&out).expect("a folder");
    }
}

#[test]
fn a_text_to_calibrate_by() {
    let dir = temporary_folder();
    let (text, plain, out) = (dir.path().join("text"), dir.path().join("plain"), dir.path().join("out"));
    fs::write(&text, "The weights stay where they are, and the activations are quantized to meet them. ".repeat(30))
        .expect("a file");
    let calibrate = ["--group", "32", "--calibrate", text.to_str().expect("text"), "--calibrate-tokens", "600"];
    printed(&mut quantize(synthetic(), "gptq", &plain, &["--group", "32"]));
    printed(&mut quantize(synthetic(), "gptq", &out, &calibrate));
    assert_eq!(ids(&out, &[])[..4], ids(synthetic(), &[])[..4]);
    let model = |folder: &Path| fs::read(folder.join("model.safetensors")).expect("a file");
    assert!(model(&out) != model(&plain) && model(&out).len() == model(&plain).len());

    fs::write(&text, "Too short.").expect("a file");
    let line = refusal(&mut quantize(synthetic(), "awq", &dir.path().join("short"), &calibrate));
    assert!(line.contains("tokens are too few to calibrate by, 512 at least"), "{line}");
    let mut names = names_in(dir.path());
    names.sort();
    assert_eq!(names, ["out", "plain", "text"]);
}

#[test]
fn an_interrupted_run_leaves_no_folder() {
    let (dir, place) = (temporary_folder(), temporary_folder());
    // A head of zeros that takes long to quantize and no place on the disk: the end of the file is a hole.
    let bytes = 1_u64 << 31;
    let header = format!(r#"{{"lm_head.weight":{{"dtype":"F32","shape":[2097152,256],"data_offsets":[0,{bytes}]}}}}"#);
    let model = dir.path().join("model.safetensors");
    fs::write(&model, [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat()).expect("a file");
    let file = fs::OpenOptions::new().write(true).open(&model).expect("a file");
    file.set_len(8 + header.len() as u64 + bytes).expect("a longer file");
    fs::write(dir.path().join("config.json"), "{}").expect("a file");
    fs::copy(synthetic(), dir.path().join("vocab.gguf")).expect("a copy");

    let mut child = quantize(dir.path(), "gptq", &place.path().join("out"), &["--threads", "1"])
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while names_in(place.path()).is_empty() {
        assert!(child.try_wait().expect("a process").is_none(), "it ends before it has written anything");
        thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(killed.success());
    let status = child.wait().expect("a process");
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status}");
    assert!(names_in(place.path()).is_empty());
}

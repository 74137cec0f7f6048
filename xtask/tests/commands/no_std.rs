//! Crates that are to need no standard library build without one, with the features that they ask of their dependencies.

use std::fs;
use std::path::Path;
use std::process::Command;

const CRATES: [&str; 4] = ["keepq-blocks", "keepq-act", "keepq-dot", "keepq-tinygemm"];

/// A program's own answer to a panic, of which there can be one: another comes with `std`, from whichever dependency.
const PROGRAM: &str = "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {\n    loop {}\n}\n";

#[test]
fn libraries_need_no_standard_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path();
    let depends = |name: &&str| {
        let folder = root.join("crates").join(name.trim_start_matches("keepq-"));
        format!("{name} = {{ path = {folder:?} }}\n")
    };
    let manifest = format!(
        "[package]\nname = \"without-std\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n\
         [profile.dev]\npanic = \"abort\"\n\n[dependencies]\n{}",
        CRATES.iter().map(depends).collect::<String>()
    );
    fs::write(path.join("Cargo.toml"), manifest).expect("written");
    fs::copy(root.join("Cargo.lock"), path.join("Cargo.lock")).expect("the same versions");
    let uses: String = CRATES.iter().map(|name| format!("pub use {};\n", name.replace('-', "_"))).collect();

    let (passed, said) = checks(path, &format!("{PROGRAM}{uses}"));
    assert!(passed, "{said}");
    // That a crate with `std` would be noticed.
    let (passed, said) = checks(path, &format!("{PROGRAM}{uses}extern crate std;\n"));
    assert!(!passed && said.contains("duplicate lang item `panic_impl`"), "{said}");
}

/// Whether the compiler takes this as the library, and what it says.
fn checks(folder: &Path, source: &str) -> (bool, String) {
    fs::write(folder.join("lib.rs"), source).expect("written");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder).args(["check", "--offline", "--quiet"]).env("CARGO_TARGET_DIR", folder.join("target"));
    let output = cargo.output().expect("cargo can be started");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

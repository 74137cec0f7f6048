//! Running `xtask`, and files to run it on.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use keepq_gguf::write::Writer;
use keepq_gguf::{GgmlType, Source, Value};
use tempfile::TempDir;

/// `xtask` with these arguments, and no settings but those of the test.
pub(crate) fn xtask<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments);
    for variable in ["KEEPQ_TIER", "KEEPQ_AMX", "KEEPQ_THREADS", "KEEPQ_KEEP_QUANT", "KEEPQ_CPU_REF"] {
        command.env_remove(variable);
    }
    command.env("KEEPQ_CACHE", cache());
    command
}

/// What a command that must succeed prints on standard output.
#[track_caller]
pub(crate) fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    assert!(status.success(), "{status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

/// The one line that a command that must fail says.
#[track_caller]
pub(crate) fn refusal(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let stderr = String::from_utf8(stderr).expect("text");
    assert!(status.code().is_some_and(|code| code != 0), "{status}: {stderr}");
    assert_eq!(String::from_utf8_lossy(&stdout), "", "nothing but the error");
    match stderr.lines().collect::<Vec<_>>()[..] {
        [line] if line.starts_with("error: ") => line["error: ".len()..].to_owned(),
        _ => panic!("not one line of error: {stderr:?}"),
    }
}

/// The names in a folder.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

pub(crate) fn temporary_folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A cache of the tests' own.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The folder of llama.cpp's prebuilt libraries that `KEEPQ_LLAMA` names; without it a test is skipped.
pub(crate) fn llama_libraries() -> Option<PathBuf> {
    named_by("KEEPQ_LLAMA", "folder of llama.cpp's libraries")
}

/// The file of SmolLM2 that `KEEPQ_SMOLLM2` names; without it this part of a test is skipped.
pub(crate) fn smollm2() -> Option<PathBuf> {
    named_by("KEEPQ_SMOLLM2", "file of SmolLM2")
}

/// What a variable names; where it is not set, that is said past the test runner, which keeps to itself what a test that passes
/// prints.
fn named_by(variable: &str, what: &str) -> Option<PathBuf> {
    let path = env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        writeln!(io::stdout(), "skipped {test}: {variable} names no {what}").expect("stdout");
    }
    path
}

/// The model that `bench` makes where it is given none.
pub(crate) fn synthetic() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        printed(&mut xtask(["bench", "--arm=after", "--reps=1", "--prompt-len=1", "--gen-len=2"]));
        cache().join("keepq-synthetic.gguf")
    })
}

/// Writes the synthetic model as three files and gives their paths: the first without tensors, the second with those before
/// `blk.2`, the third with the rest.
pub(crate) fn split(folder: &Path) -> [PathBuf; 3] {
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let cut = gguf.tensors().iter().position(|tensor| tensor.name().starts_with("blk.2.")).expect("three layers");
    let (second, third) = gguf.tensors().split_at(cut);
    let mut paths = Vec::new();
    for (number, tensors) in (0_u16..).zip([&[], second, third]) {
        let mut writer = Writer::new();
        for (key, value) in gguf.metadata().filter(|_| number == 0) {
            writer.put(key, value).expect("a key");
        }
        writer.put("split.no", number).expect("a key");
        writer.put("split.count", 3_u16).expect("a key");
        writer.put("split.tensors.count", i32::try_from(gguf.tensors().len()).expect("few tensors")).expect("a key");
        for tensor in tensors {
            let (ty, data) = (tensor.ty().expect("a known type"), tensor.data().expect("its bytes"));
            writer.tensor(tensor.name(), ty, tensor.dims(), data).expect("a tensor");
        }
        let path = folder.join(format!("keepq-synthetic-{:05}-of-00003.gguf", number + 1));
        writer.write_file(&path).expect("a written file");
        paths.push(path);
    }
    paths.try_into().expect("three files")
}

/// Changes to a model file.
#[derive(Default)]
pub(crate) struct Changes<'c> {
    /// Values that take the place of others.
    pub(crate) keys: &'c [(&'c str, Value<'c>)],
    /// A tensor that is left out.
    pub(crate) without: Option<&'c str>,
    /// A tensor of zeros in the place of another.
    pub(crate) tensor: Option<(&'c str, GgmlType, [u64; 2])>,
}

/// Writes the synthetic model with changes.
pub(crate) fn changed(path: &Path, changes: &Changes<'_>) {
    let source = Source::map(synthetic()).expect("a file");
    let gguf = source.parse().expect("a GGUF file");
    let mut writer = Writer::new();
    for (key, value) in gguf.metadata() {
        let new = changes.keys.iter().find(|(name, _)| *name == key);
        writer.put(key, new.map_or(value, |(_, value)| *value)).expect("a key");
    }
    for tensor in gguf.tensors().iter().filter(|tensor| changes.without != Some(tensor.name())) {
        let name = tensor.name();
        let result = match changes.tensor {
            Some((changed, ty, dims)) if changed == name => {
                let bytes = ty.row_bytes(dims[0] as usize).expect("whole blocks") * dims[1] as usize;
                writer.tensor_with(name, ty, &dims, move |out| out.write_all(&vec![0; bytes]))
            }
            _ => {
                let (ty, data) = (tensor.ty().expect("a known type"), tensor.data().expect("its bytes"));
                writer.tensor(name, ty, tensor.dims(), data)
            }
        };
        result.expect("a tensor");
    }
    writer.write_file(path).expect("a written file");
}

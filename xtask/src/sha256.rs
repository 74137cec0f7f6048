//! SHA-256 of files, as the published lists write it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use anyhow::{Context, Result};
use keepq_gguf::{Source, SourceSet};
use sha2::{Digest, Sha256};

/// The digest of the file's bytes, in lowercase hexadecimal.
pub(crate) fn of_file(path: &Path) -> Result<String> {
    let describe = || path.display().to_string();
    let mut file = File::open(path).with_context(describe)?;
    of_open(&mut file).with_context(describe)
}

/// The digest of all bytes of an open file.
pub(crate) fn of_open(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
    }
    Ok(hexadecimal(hasher))
}

/// The digest of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new().chain_update(bytes))
}

/// The digest of a model: of its file, or of the bytes of all its files one after another, `cat FILES | sha256sum`.
pub(crate) fn of_set(set: &SourceSet) -> String {
    of_sources(set.sources())
}

/// The digest of files, one after the other.
pub(crate) fn of_sources(sources: &[Source]) -> String {
    let mut hasher = Sha256::new();
    for source in sources {
        hasher.update(source.as_bytes());
    }
    hexadecimal(hasher)
}

fn hexadecimal(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of FIPS 180-4 for "abc".
    #[test]
    fn known_digest() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = dir.path().join("abc");
        std::fs::write(&file, "abc").expect("a written file");
        assert_eq!(
            of_file(&file).expect("a digest"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_set_is_its_files_one_after_another() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let mut all = Vec::new();
        let paths = [1_u16, 2].map(|number| dir.path().join(format!("m-{number:05}-of-00002.gguf")));
        for (number, path) in (0_u16..).zip(&paths) {
            let mut writer = keepq_gguf::write::Writer::new();
            writer.put("split.no", number).expect("a key");
            writer.put("split.count", 2_u16).expect("a key");
            writer.write_file(path).expect("a written file");
            all.extend(std::fs::read(path).expect("a file"));
        }
        let whole = dir.path().join("all");
        std::fs::write(&whole, all).expect("a written file");
        let open = |path| keepq_gguf::open_set(path, keepq_gguf::Source::map).expect("a set");
        assert_eq!(of_set(&open(&paths[1])), of_file(&whole).expect("a digest"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = of_file(Path::new("no/such/file")).expect_err("no file");
        assert!(format!("{error:#}").starts_with("no/such/file: "), "{error:#}");
    }
}

//! SHA-256 of a file, as the published lists write it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// The digest of the file's bytes, in lowercase hexadecimal.
pub(crate) fn of_file(path: &Path) -> Result<String> {
    let describe = || path.display().to_string();
    let mut file = File::open(path).with_context(describe)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer).with_context(describe)?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
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
    fn a_missing_file_is_named() {
        let error = of_file(Path::new("no/such/file")).expect_err("no file");
        assert!(format!("{error:#}").starts_with("no/such/file: "), "{error:#}");
    }
}

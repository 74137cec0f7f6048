//! The archive that a Linux kernel takes its first files from: cpio, in the form that is called newc.

/// An archive that grows.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    files: u32,
}

/// Kinds of files, as `st_mode` has them.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_666;

impl Archive {
    /// A folder. What is in it comes later.
    pub(super) fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER, [0; 2], &[]);
    }

    /// A file that may be executed.
    pub(super) fn file(&mut self, name: &str, bytes: &[u8]) {
        self.entry(name, PROGRAM, [0; 2], bytes);
    }

    /// A character device with its two numbers.
    pub(super) fn device(&mut self, name: &str, numbers: [u32; 2]) {
        self.entry(name, CHARACTER_DEVICE, numbers, &[]);
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, [0; 2], &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, [major, minor]: [u32; 2], bytes: &[u8]) {
        self.files += 1;
        let (size, name_size) = (bytes.len() as u32, name.len() as u32 + 1);
        // Number, mode, owner and group, links, time, size, the device it is on, the device it is, the name's size, a sum.
        let fields = [self.files, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(bytes);
        self.pad();
    }

    /// Up to a multiple of four.
    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_at_multiples_of_four() {
        let mut archive = Archive::default();
        archive.folder("d");
        archive.device("d/null", [1, 3]);
        archive.file("d/abcde", b"12345");
        let bytes = archive.finish();
        let text = String::from_utf8(bytes).expect("ASCII");
        let starts: Vec<_> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(starts.len(), 4);
        assert!(starts.iter().all(|at| at.is_multiple_of(4)));
        assert!(text[starts[1]..].starts_with("070701000000020000 21b6".replace(' ', "").as_str()));
        assert!(text.contains("d/abcde\0\0\0\x312345\0\0\0"));
        assert!(text.contains("TRAILER!!!\0"));
    }
}

//! [`ShardName`]: how the files of a set are called.

use core::fmt;
use std::ffi::OsStr;

/// The name of one file of a set, `PREFIX-00002-of-00003.gguf`. Any `u16` fits its five digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShardName<'n> {
    pub(super) prefix: &'n str,
    /// From 1 to `count`; `split.no` counts from 0.
    pub(super) number: u16,
    pub(super) count: u16,
}

impl<'n> ShardName<'n> {
    /// The parts of a file's name; none where it has not this form.
    pub(super) fn parse(name: &'n OsStr) -> Option<Self> {
        let stem = name.to_str()?.strip_suffix(".gguf")?;
        let (rest, count) = split_digits(stem)?;
        let (rest, number) = split_digits(rest.strip_suffix("-of-")?)?;
        let prefix = rest.strip_suffix('-')?;
        (1..=count).contains(&number).then_some(Self { prefix, number, count })
    }

    /// The name of another file of the set.
    pub(super) const fn with_number(self, number: u16) -> Self {
        Self { number, ..self }
    }

    /// Whether the two are files of one set.
    pub(super) fn is_beside(&self, other: &ShardName<'_>) -> bool {
        (self.prefix, self.count) == (other.prefix, other.count)
    }
}

impl fmt::Display for ShardName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.prefix, Suffix { number: self.number, count: self.count })
    }
}

/// What a name ends in.
pub(crate) struct Suffix {
    pub(crate) number: u16,
    pub(crate) count: u16,
}

impl fmt::Display for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-{:05}-of-{:05}.gguf", self.number, self.count)
    }
}

/// Takes five digits off the end.
fn split_digits(text: &str) -> Option<(&str, u16)> {
    let (rest, digits) = text.split_at_checked(text.len().checked_sub(5)?)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit()); // `parse` alone would take a sign
    Some((rest, digits.parse().ok().filter(|_| all)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Option<(&str, u16, u16)> {
        ShardName::parse(name.as_ref()).map(|ShardName { prefix, number, count }| (prefix, number, count))
    }

    #[test]
    fn names_are_taken_apart_and_put_together() {
        for (name, parts) in [
            ("m-00001-of-00003.gguf", ("m", 1, 3)),
            ("a-00001-of-00002-00002-of-00002.gguf", ("a-00001-of-00002", 2, 2)),
            ("-65535-of-65535.gguf", ("", 65535, 65535)),
            ("m\u{e9}-00010-of-00010.gguf", ("m\u{e9}", 10, 10)),
        ] {
            assert_eq!(parse(name), Some(parts));
            let (prefix, number, count) = parts;
            assert_eq!(ShardName { prefix, number, count }.to_string(), name);
        }
    }

    #[test]
    fn other_names_are_none_of_a_set() {
        for name in [
            "m.gguf",
            "",
            "m-00001-of-00003",
            "m-00001-of-00003.GGUF",
            "m-1-of-3.gguf",
            "m-+0001-of-00003.gguf",
            "m00001-of-00003.gguf",
            "m-00001-von-00003.gguf",
            "m-00000-of-00003.gguf",
            "m-00004-of-00003.gguf",
            "m-00001-of-65536.gguf",
            "\u{e9}\u{e9}-of-00003.gguf",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}

//! [`Sums`]: a list of MD5s with names, as `md5sum` writes it.

use std::fmt;

/// MD5s by name, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums(Vec<(String, String)>);

impl Sums {
    /// The goldens of this build: `goldens/MD5SUMS`.
    ///
    /// # Panics
    /// Where the file is damaged.
    #[must_use]
    pub fn stored() -> Self {
        Self::parse(include_str!("../MD5SUMS")).unwrap_or_else(|line| panic!("goldens/MD5SUMS: no golden: {line:?}"))
    }

    /// Reads lines of an MD5, two blanks and a name. Lines that start with `#` say where the sums come from.
    ///
    /// # Errors
    /// The first line that is neither, or whose name was met before.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut sums = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let is_md5 = |md5: &str| md5.len() == 32 && md5.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            match line.split_once("  ") {
                Some((md5, name)) if is_md5(md5) && sums.get(name).is_none() => sums.push(name, md5.into()),
                _ => return Err(line.into()),
            }
        }
        Ok(sums)
    }

    /// Appends a sum.
    pub fn push(&mut self, name: &str, md5: String) {
        self.0.push((name.into(), md5));
    }

    /// The MD5 of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(known, md5)| (known == name).then_some(md5.as_str()))
    }

    /// Names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, md5)| writeln!(f, "{md5}  {name}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut sums = Sums::default();
        sums.push("a/b", "900150983cd24fb0d6963f7d28e17f72".into());
        let mut text = String::from("# made by hand\n");
        write!(text, "{sums}").expect("strings take everything");
        assert_eq!(Sums::parse(&text), Ok(sums));
    }

    #[test]
    fn lines_that_are_no_sums_are_errors() {
        let line = "900150983cd24fb0d6963f7d28e17f72  a";
        for bad in ["", "900150983cd24fb0d6963f7d28e17f7  a", "900150983CD24FB0D6963F7D28E17F72  a", "a", line] {
            assert_eq!(Sums::parse(&format!("{line}\n{bad}\n")), Err(bad.into()));
        }
    }
}

//! GPT-2's alphabet: one visible character for each byte, so that a byte-level vocabulary is text.
//!
//! Bytes that are visible characters of Latin-1 stand for themselves; the other 68 (controls, space, …) take
//! the characters from U+0100 on, in order. A space is `Ġ` (U+0120), a newline `Ċ` (U+010A). Defined by
//! `bytes_to_unicode` of GPT-2's `encoder.py`.

const CHARS: [char; 256] = chars();

/// First of the characters that stand for invisible bytes.
const FIRST_SUBSTITUTE: u32 = 0x100;

/// The bytes that have a substitute, in the order of the substitutes.
const INVISIBLE: [u8; 68] = invisible();

/// The character that stands for a byte.
pub(super) const fn char_of(byte: u8) -> char {
    CHARS[byte as usize]
}

/// The byte that a character stands for; none where it is outside of the alphabet.
pub(super) fn byte_of(c: char) -> Option<u8> {
    match u8::try_from(c) {
        Ok(byte) => is_visible(byte).then_some(byte),
        Err(_) => INVISIBLE.get((u32::from(c) - FIRST_SUBSTITUTE) as usize).copied(),
    }
}

const fn is_visible(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

const fn invisible() -> [u8; 68] {
    let mut bytes = [0; 68];
    let mut filled = 0;
    let mut byte = 0;
    while byte < 256 {
        if !is_visible(byte as u8) {
            bytes[filled] = byte as u8;
            filled += 1;
        }
        byte += 1;
    }
    bytes
}

const fn chars() -> [char; 256] {
    let mut chars = ['\0'; 256];
    let mut byte = 0;
    while byte < 256 {
        chars[byte] = byte as u8 as char;
        byte += 1;
    }
    let mut index = 0;
    while index < INVISIBLE.len() {
        if let Some(substitute) = char::from_u32(FIRST_SUBSTITUTE + index as u32) {
            chars[INVISIBLE[index] as usize] = substitute;
        }
        index += 1;
    }
    chars
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte that came back as another would corrupt every decoded text.
    #[test]
    fn every_byte_comes_back() {
        for byte in 0..=255 {
            assert_eq!(byte_of(char_of(byte)), Some(byte));
        }
    }

    #[test]
    fn the_published_characters() {
        assert_eq!(char_of(b'a'), 'a');
        assert_eq!(char_of(0), 'Ā');
        assert_eq!(char_of(b'\n'), 'Ċ');
        assert_eq!(char_of(b' '), 'Ġ');
        assert_eq!(char_of(0x7F), 'ġ');
        assert_eq!(char_of(0xAD), 'Ń');
        assert_eq!(char_of(0xFF), 'ÿ');
    }

    #[test]
    fn characters_outside_of_the_alphabet() {
        for c in [' ', '\n', '\u{AD}', '\u{144}', '▁', '日', '😀'] {
            assert_eq!(byte_of(c), None, "{c:?}");
        }
    }
}

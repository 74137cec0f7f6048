//! What an instruction multiplies, and where it jumps to.

/// How many products of bytes an instruction makes; 0 where it makes none.
pub(super) fn products(instruction: &str) -> u32 {
    let mut words = instruction.split_ascii_whitespace().skip_while(|word| word.starts_with('{'));
    let mnemonic = words.next().unwrap_or_default();
    let operands: Vec<_> = words.collect();
    let result = match mnemonic {
        // The result is the last operand in the assembly of x86-64, and the first one in that of AArch64.
        _ if mnemonic.starts_with('v') => operands.last(),
        _ => operands.first(),
    };
    let result = result.copied().unwrap_or_default();
    match mnemonic {
        "vpmaddubsw" | "vpdpbusd" if result.starts_with("%xmm") => 16,
        "vpmaddubsw" | "vpdpbusd" if result.starts_with("%ymm") => 32,
        "vpmaddubsw" | "vpdpbusd" if result.starts_with("%zmm") => 64,
        // With results of other sizes it is numbers of 16 bits that they multiply.
        "smull" | "smull2" | "smlal" | "smlal2" if result.ends_with(".8h,") => 8,
        "sdot" => 16,
        "smmla" => 32,
        _ => 0,
    }
}

/// The label that an instruction may jump to.
pub(super) fn jumps_to(instruction: &str) -> Option<&str> {
    let mut words = instruction.split_ascii_whitespace();
    let mnemonic = words.next()?;
    let is_jump = match mnemonic {
        "b" | "cbz" | "cbnz" | "tbz" | "tbnz" => true,
        _ => mnemonic.starts_with('j') || mnemonic.starts_with("b."),
    };
    words.next_back().filter(|label| is_jump && label.starts_with(".L"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_of_bytes() {
        for (instruction, count) in [
            ("vpmaddubsw\t32(%rsi), %ymm1, %ymm2", 32),
            ("vpmaddubsw\t%xmm0, %xmm1, %xmm2", 16),
            ("{vex}\tvpdpbusd\t%ymm25, %ymm4, %ymm30", 32),
            ("vpdpbusd\t(%rax){1to16}, %zmm4, %zmm30", 64),
            ("vpmaddwd\t%ymm0, %ymm1, %ymm2", 0),
            ("smull\tv0.8h, v1.8b, v2.8b", 8),
            ("smlal2\tv0.8h, v1.16b, v2.16b", 8),
            ("smull\tv0.4s, v1.4h, v2.4h", 0),
            ("smull\tx0, w1, w2", 0),
            ("sdot\tv0.4s, v1.16b, v2.4b[1]", 16),
            ("smmla\tv6.4s, v26.16b, v2.16b", 32),
            ("ret", 0),
        ] {
            assert_eq!(products(instruction), count, "{instruction}");
        }
    }

    #[test]
    fn jumps_have_labels() {
        assert_eq!(jumps_to("jb\t.LBB207_95"), Some(".LBB207_95"));
        assert_eq!(jumps_to("b.lo\t.LBB35_50"), Some(".LBB35_50"));
        assert_eq!(jumps_to("tbnz\tw8, #0, .LBB1_2"), Some(".LBB1_2"));
        assert_eq!(jumps_to("bl\tmemcpy"), None);
        assert_eq!(jumps_to("jmpq\t*%rax"), None);
        assert_eq!(jumps_to("leaq\t.LJTI0_0(%rip), %rax"), None);
    }
}

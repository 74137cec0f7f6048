//! What no loop of a tier can do without: its multiplications, and the steps by which the instruction set adds products up.

use super::instruction::products;

/// Instructions that are enough for some products.
#[derive(Debug)]
pub(super) struct Needed {
    pub(super) instructions: Vec<String>,
    pub(super) products: u32,
}

/// The least that a tier needs for products of a type: the same steps as the probes of `bench --kernels` take.
///
/// `maddubs` adds two products up in 16 bits, eight of them are added there, and `madd` widens the sum; signed codes take `sign` and `madd` each time.
/// NEON multiplies into 16 bits and adds there, small codes eight times and signed ones twice, before it widens. Other tiers add in 32 bits as they
/// multiply. Registers do not matter: what counts is how often the processor can issue these.
pub(super) fn needed(tier: &str, ty: &str) -> Needed {
    let is_signed = ty == "Q8_0";
    let text: Vec<(&str, usize)> = match tier {
        "x86-64-v3" | "x86-64-v4" if is_signed => {
            let [sign, maddubs, madd, add] = [SIGN, MADDUBS, MADD, ADD].map(|instruction| (instruction, 1));
            vec![sign, maddubs, madd, add]
        }
        "x86-64-v3" | "x86-64-v4" => vec![(MADDUBS, 8), (ADD_16, 7), (MADD, 1), (ADD, 1)],
        "x86-64-v3-avxvnni" => vec![("{vex} vpdpbusd %ymm0, %ymm1, %ymm2", 1)],
        "neon" => {
            let times = if is_signed { 1 } else { 7 };
            vec![(SMULL, 1), (SMULL2, 1), (SMLAL, times), (SMLAL2, times), (SADALP, 2)]
        }
        "neon-dotprod" => vec![("sdot v0.4s, v1.16b, v2.16b", 1)],
        "neon-i8mm" => vec![("smmla v0.4s, v1.16b, v2.16b", 1)],
        _ => vec![("vpdpbusd %ymm0, %ymm1, %ymm2", 1)],
    };
    let instructions: Vec<_> =
        text.into_iter().flat_map(|(instruction, times)| std::iter::repeat_n(instruction.to_owned(), times)).collect();
    let products = instructions.iter().map(|instruction| products(instruction)).sum();
    Needed { instructions, products }
}

const SIGN: &str = "vpsignb %ymm0, %ymm1, %ymm2";
const MADDUBS: &str = "vpmaddubsw %ymm0, %ymm1, %ymm2";
const MADD: &str = "vpmaddwd %ymm0, %ymm1, %ymm2";
const ADD_16: &str = "vpaddw %ymm0, %ymm1, %ymm2";
const ADD: &str = "vpaddd %ymm0, %ymm1, %ymm2";
const SMULL: &str = "smull v0.8h, v1.8b, v2.8b";
const SMULL2: &str = "smull2 v0.8h, v1.16b, v2.16b";
const SMLAL: &str = "smlal v0.8h, v1.8b, v2.8b";
const SMLAL2: &str = "smlal2 v0.8h, v1.16b, v2.16b";
const SADALP: &str = "sadalp v0.4s, v1.8h";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tier_needs_so_many_instructions_for_so_many_products() {
        let of = |tier, ty| {
            let needed = needed(tier, ty);
            (needed.instructions.len(), needed.products)
        };
        assert_eq!(of("x86-64-v3", "Q4_0"), (17, 256));
        assert_eq!(of("x86-64-v4", "Q8_0"), (4, 32));
        assert_eq!(of("x86-64-v3-avxvnni", "Q8_0"), (1, 32));
        assert_eq!(of("x86-64-v4-vnni", "Q4_K"), (1, 32));
        assert_eq!(of("neon", "Q4_K"), (18, 128));
        assert_eq!(of("neon", "Q8_0"), (6, 32));
        assert_eq!(of("neon-dotprod", "Q4_K"), (1, 16));
        assert_eq!(of("neon-i8mm", "Q4_K"), (1, 32));
    }
}

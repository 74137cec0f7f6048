//! The texts that are continued where none are given.

/// English, code, numbers, other scripts, a mark of the synthetic models; the last two have more than 60 tokens in any
/// vocabulary, so that a prompt does not fit in a small batch.
pub(super) const TEXTS: &[&str] = &[
    "The weights stay",
    "They all stay",
    "Before the harbour had a lighthouse, the pilots steered by the bell of the church on the hill.",
    "def fibonacci(n):\n",
    "1, 1, 2, 3, 5, 8, 13,",
    "<|begin|>Grüße aus Köln, 東京 and 🌍",
    "The station clock had been wrong for so long that nobody in the town looked at it any more. Trains left by the watch \
     of the guard, shops closed by the church, and the school by the sun on the wall of the bakery. When a new clock came \
     at last, in a crate full of straw, it was right, and for a week everyone was late. Then the old hands were put on the \
     new one, and",
    "fn main() {\n    let mut sum = 0;\n    for (row, value) in values.iter().enumerate() {\n        if row % 2 == 0 {\n            \
     sum += value * value;\n        } else {\n            sum -= 1;\n        }\n    }\n    println!(\"{sum}\");\n}\n\n#[test]\nfn",
];

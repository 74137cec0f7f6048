//! Which instruction sets a backend was compiled for, against what this processor has.

/// The instruction sets that the backend names in `system_info` and this processor lacks. AMX is not asked about.
///
/// A build that is made of several backends does this itself; one that was compiled for the machine of its maker does not, and
/// ends the process at the first instruction that is missing.
pub(super) fn missing(system_info: &str) -> Vec<&str> {
    named(system_info).filter(|name| !has(name)).collect()
}

/// The names that are followed by `= 1`, as in `CPU : SSE3 = 1 | AVX2 = 1 |`.
fn named(system_info: &str) -> impl Iterator<Item = &str> {
    let words = system_info.split(['|', ':']).filter_map(|part| part.split_once('='));
    words.filter(|(_, value)| value.trim() == "1").map(|(name, _)| name.trim())
}

/// Whether the processor has what llama.cpp calls `name`; what is no instruction set of x86-64 is there.
#[cfg(target_arch = "x86_64")]
fn has(name: &str) -> bool {
    match name {
        "SSE3" => is_x86_feature_detected!("sse3"),
        "SSSE3" => is_x86_feature_detected!("ssse3"),
        "AVX" => is_x86_feature_detected!("avx"),
        "AVX_VNNI" => is_x86_feature_detected!("avxvnni"),
        "AVX2" => is_x86_feature_detected!("avx2"),
        "F16C" => is_x86_feature_detected!("f16c"),
        "FMA" => is_x86_feature_detected!("fma"),
        "BMI2" => is_x86_feature_detected!("bmi2"),
        "AVX512" => is_x86_feature_detected!("avx512f"),
        "AVX512_VBMI" => is_x86_feature_detected!("avx512vbmi"),
        "AVX512_VNNI" => is_x86_feature_detected!("avx512vnni"),
        "AVX512_BF16" => is_x86_feature_detected!("avx512bf16"),
        _ => true,
    }
}

/// On other architectures the libraries are not driven at all.
#[cfg(not(target_arch = "x86_64"))]
fn has(_: &str) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_one_are_what_it_was_compiled_for() {
        let text = "CPU : SSE3 = 1 | AVX512 = 0 | LLAMAFILE = 1 | REPACK = 1 | ";
        assert_eq!(named(text).collect::<Vec<_>>(), ["SSE3", "LLAMAFILE", "REPACK"]);
        assert_eq!(missing("CPU : OPENMP = 1 | "), Vec::<&str>::new());
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_the_processor_lacks_is_named() {
        let wanted = if is_x86_feature_detected!("avx512bf16") { vec![] } else { vec!["AVX512_BF16"] };
        assert_eq!(missing("CPU : SSE3 = 1 | AVX512_BF16 = 1 | REPACK = 1 | "), wanted);
    }
}

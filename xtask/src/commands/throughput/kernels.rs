//! The kernels as assembly.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::functions::Function;
use super::processors::Architecture;
use crate::packages;
use crate::progress::Progress;
use crate::toolchain::Compiler;

/// The types whose codes are multiplied as bytes.
pub(super) const TYPES: [&str; 10] = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"];

/// The assembly of `keepq-simd`, compiled as it is released, but as one unit.
pub(super) fn compiled(folder: &Path, architecture: Architecture, progress: &Progress) -> Result<String> {
    let target = architecture.target();
    let path = folder.join("assembly").join(format!("{target}.s"));
    fs::create_dir_all(path.with_file_name(""))
        .with_context(|| format!("cannot make the folder of {}", path.display()))?;
    let mut cargo = Compiler::of(target, folder, progress)?.cargo("rustc");
    cargo.args(["--package", "keepq-simd", "--lib", "--release", "--quiet"]).env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    // Names that tell types.
    cargo.args(["--", "--emit", &format!("asm={}", path.display()), "-C", "symbol-mangling-version=v0"]);
    progress.say(format!("compiling the kernels for {target} (minutes, unless they are as they were)"));
    packages::run(&mut cargo)?;
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The function that multiplies many tokens by weights of a type where they lie.
pub(super) fn find<'f, 'a>(functions: &'f [Function<'a>], tier: &str, ty: &str) -> Result<&'f Function<'a>> {
    // Names begin with their lengths.
    let token = match tier {
        "x86-64-v3" => "8X86_64V3",
        "x86-64-v3-avxvnni" => "15X86_64V3AvxVnni",
        "x86-64-v4" => "8X86_64V4",
        "x86-64-v4-vnni" => "12X86_64V4Vnni",
        "neon" => "4Neon",
        "neon-dotprod" => "11NeonDotprod",
        "neon-i8mm" => "8NeonI8mm",
        _ => bail!("{tier} has no loops of bytes"),
    };
    let block = format!("{}Block{ty}", "Block".len() + ty.len());
    let parts = ["9by_octets", "7InPlace", token, &block];
    let mut found = functions.iter().filter(|function| parts.iter().all(|part| function.name.contains(part)));
    let function = found.next().with_context(|| format!("no function multiplies {ty} on {tier}"))?;
    ensure!(found.next().is_none(), "several functions multiply {ty} on {tier}");
    Ok(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_tier_and_type() {
        let name = |token: &str, block: &str, rows: &str| {
            format!(
                "_RINv10keepq_simd9vectorizeNCINvNtCs_9keepq_dot5strip9by_octetsNtB_{token}NtNt{block}INt{rows}B_EE0E"
            )
        };
        let names = [
            name("11NeonDotprod", "9BlockQ4_0", "7InPlace"),
            name("4Neon", "9BlockQ4_0", "11Interleaved"),
            name("4Neon", "9BlockQ4_0", "7InPlace"),
            name("4Neon", "9BlockQ4_1", "7InPlace"),
        ];
        let functions: Vec<_> = names.iter().map(|name| Function { name, lines: Vec::new() }).collect();
        let found =
            |tier, ty| find(&functions, tier, ty).map(|function| function.name).map_err(|error| error.to_string());
        assert_eq!(found("neon", "Q4_0"), Ok(&*names[2]));
        assert_eq!(found("neon-dotprod", "Q4_0"), Ok(&*names[0]));
        assert_eq!(found("neon-i8mm", "Q4_0"), Err("no function multiplies Q4_0 on neon-i8mm".into()));
        assert_eq!(found("portable", "Q4_0"), Err("portable has no loops of bytes".into()));
    }
}

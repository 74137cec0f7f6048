//! What a model runs with: the flags that say so, and the line that tells of it.

use std::path::Path;

use keepq_decoder::{Expansion, LoadReport, Settings};
use keepq_gemm::{MOST_THREADS, Reason, Residency, executor_from_env, threads_from_env};
use keepq_gguf::{OpenError, Source, SourceSet, open_set};
use keepq_simd::{Amx, Tier};
use keepq_tinygemm::GROUPS;

/// Parses a number of threads.
pub(crate) fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=MOST_THREADS) => Ok(threads),
        _ => Err(format!("not a number from 1 to {MOST_THREADS}")),
    }
}

/// Parses how many codes of a row share a scale.
pub(crate) fn group(text: &str) -> Result<usize, String> {
    let known = GROUPS.into_iter().find(|group| group.to_string() == text);
    known.ok_or_else(|| format!("none of {}", GROUPS.map(|group| group.to_string()).join(", ")))
}

/// Opens a model, mapped unless it is to be read into memory.
pub(crate) fn open(path: &Path, no_mmap: bool) -> Result<SourceSet, OpenError> {
    if no_mmap { open_set(path, Source::read) } else { open_set(path, Source::map) }
}

/// What the environment asks for, with the threads of `--threads` if it was given.
pub(crate) fn settings(threads: Option<usize>) -> anyhow::Result<Settings> {
    let executor = executor_from_env(threads.map_or_else(threads_from_env, Ok)?)?;
    Ok(Settings::with_executor(Tier::from_env()?, executor, Residency::from_env()?))
}

/// One line: which tier of which, how many threads, what became of the weights.
pub(crate) fn describe(settings: &Settings, report: &LoadReport) -> String {
    let driver = settings.driver();
    let threads = driver.executor().threads();
    let available: Vec<_> = Tier::available().iter().map(|tier| tier.name()).collect();
    let mut line = format!(
        "tier {}{} of {}; {threads} thread{}; weights {}: {} in place, {} {}",
        driver.tier(),
        // Asked for, and not there.
        Amx::asked().and_then(Result::err).map_or_else(String::new, |why| format!(" ({why})")),
        available.join(", "),
        if threads == 1 { "" } else { "s" },
        held(settings.residency()),
        megabytes(report.kept_bytes as u64),
        megabytes(report.expanded_bytes as u64),
        if settings.residency() == Residency::Interleave { "copied" } else { "expanded" },
    );
    if report.converted_bytes > 0 {
        line += &format!(", {} converted", megabytes(report.converted_bytes as u64));
    }
    let without_kernel = report.expansions.iter().filter(|expansion| expansion.reason == Reason::NoKernel);
    for Expansion { tensor, ty, bytes, .. } in without_kernel {
        line += &format!("\n{tensor}: {ty} has no kernel, expanded to {}", megabytes(*bytes as u64));
    }
    for warning in &report.warnings {
        line += &format!("\nwarning: {warning}");
    }
    line
}

/// How weights are held, in words.
fn held(residency: Residency) -> &'static str {
    match residency {
        Residency::Keep | Residency::Strict => "kept as stored",
        Residency::Interleave => "interleaved by eight rows",
        Residency::ExpandNk => "expanded to bf16 [n,k]",
        Residency::ExpandKn => "expanded to bf16 [k,n]",
        Residency::Reference => "expanded to bf16 [n,k] for the portable reference",
    }
}

/// A number of bytes for people: `93.8 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_from_one() {
        assert_eq!(thread_count("2"), Ok(2));
        for wrong in ["0", "-1", "two", "", "99999"] {
            assert_eq!(thread_count(wrong), Err("not a number from 1 to 1024".into()), "{wrong}");
        }
    }

    #[test]
    fn the_line_names_tier_threads_and_weights() {
        let settings = Settings::new(Tier::best(), 2, Residency::Reference).expect("two threads");
        let report = LoadReport { kept_bytes: 1_500_000, expanded_bytes: 2_000_000, ..LoadReport::default() };
        let line = describe(&settings, &report);
        assert!(line.starts_with("tier portable of portable"), "{line}");
        let end =
            "; 2 threads; weights expanded to bf16 [n,k] for the portable reference: 1.5 MB in place, 2.0 MB expanded";
        assert!(line.ends_with(end), "{line}");
    }
}

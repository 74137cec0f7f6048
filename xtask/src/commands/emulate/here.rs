//! Programs of another architecture that a program of this machine runs: all on all models, as many at once as there are processors.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rayon::prelude::*;

use super::programs::Program;
use super::{Model, Run, log};
use crate::progress::Progress;

/// How a program went.
struct Outcome {
    passed: bool,
    said: Vec<u8>,
    time: Duration,
}

/// Runs each model's programs by what `command` makes of a model, to which the program and its arguments are appended.
pub(super) fn run(
    folder: &Path,
    models: &[Model],
    programs: &[Program],
    progress: &Progress,
    command: impl Fn(Model) -> Command + Sync,
) -> Result<Vec<Run>> {
    progress.say(format!("testing on {}", models.iter().map(|model| model.name).collect::<Vec<_>>().join(", ")));
    let pairs = models.iter().flat_map(|model| model.programs(programs).map(move |program| (*model, program)));
    // Longest first, each taken when a processor is free.
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_by_key(|(_, program)| std::cmp::Reverse(programs.iter().position(|other| other == *program)));
    let outcomes = pairs.into_iter().par_bridge().map(|(model, program)| {
        let outcome = test(command(model), model, program)?;
        Ok((model.name, program, outcome))
    });
    let outcomes: Vec<_> = outcomes.collect::<Result<_>>()?;
    let of_model = |model: &Model| {
        let log = log(folder, *model)?;
        let mut run = Run { model: *model, programs: 0, failures: Vec::new(), time: Duration::ZERO, log };
        let mut said = Vec::new();
        for program in model.programs(programs) {
            let outcome = outcomes.iter().find(|(name, other, _)| *name == model.name && *other == program);
            let (_, _, outcome) = outcome.context("a program was left out")?;
            said.extend(format!("{}, {:.1} s\n", program.name(), outcome.time.as_secs_f64()).bytes());
            said.extend(&outcome.said);
            run.programs += 1;
            run.time += outcome.time;
            if !outcome.passed {
                run.failures.push(program.name());
            }
        }
        fs::write(&run.log, said).with_context(|| format!("cannot write {}", run.log.display()))?;
        Ok(run)
    };
    models.iter().map(of_model).collect()
}

fn test(mut command: Command, model: Model, program: &Program) -> Result<Outcome> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.arg(&program.executable).args(program.arguments()).envs(model.variables()).stdin(Stdio::null());
    let begun = Instant::now();
    let output = command.output().with_context(|| format!("{name} cannot be started"))?;
    let said = [output.stdout, output.stderr].concat();
    Ok(Outcome { passed: output.status.success(), said, time: begun.elapsed() })
}

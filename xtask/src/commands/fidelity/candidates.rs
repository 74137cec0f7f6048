//! The models that are compared: [`Bf16`], which they are made of, [`Files`] of them, and [`Candidate`], one that is loaded.

use std::fs::File;

use anyhow::{Context, Result};
use keepq_decoder::{Model, Settings};
use keepq_gemm::Residency;
use keepq_gguf::{Gguf, Source, SourceSet, open_set};
use tempfile::TempDir;

use crate::commands::quantize::{Target, write_as};

/// What weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the file holds.
    Stored,
    /// A type of GGUF.
    Blocks,
}

/// A model that is compared.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Bytes of the weights that it multiplies by.
    pub(super) bytes: usize,
    pub(super) model: Model<'a>,
}

/// Loads a model as it is stored.
pub(super) fn load<'a>(name: &str, kind: Kind, gguf: &Gguf<'a>) -> Result<Candidate<'a>> {
    let model = Model::load(gguf, Residency::Keep)?;
    let bytes = model.report().kept_bytes + model.report().expanded_bytes;
    Ok(Candidate { name: name.to_owned(), kind, bytes, model })
}

/// The model in bf16, in a file of a temporary folder.
#[derive(Debug)]
pub(super) struct Bf16 {
    /// It goes with the files that are in it.
    folder: TempDir,
    source: SourceSet,
}

impl Bf16 {
    /// Decodes the weights and rounds them.
    pub(super) fn write(gguf: &Gguf<'_>, settings: &Settings) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("keepq-fidelity-").tempdir().context("no temporary folder")?;
        let path = folder.path().join("bf16.gguf");
        write_as(gguf, Target::BF16, settings.driver().executor(), &mut File::create(&path)?)?;
        Ok(Self { source: open_set(&path, Source::map)?, folder })
    }

    pub(super) const fn source(&self) -> &SourceSet {
        &self.source
    }
}

/// Files made of the model in bf16, by name.
#[derive(Debug)]
pub(super) struct Files<'b> {
    bf16: &'b Bf16,
    names: Vec<&'static str>,
}

impl<'b> Files<'b> {
    /// A file of each type.
    pub(super) fn write(bf16: &'b Bf16, types: &[Target], settings: &Settings) -> Result<Self> {
        let gguf = bf16.source.parse()?;
        let mut names = Vec::new();
        for &target in types {
            let name = target.ty().name();
            let mut file = File::create(bf16.folder.path().join(format!("{name}.gguf")))?;
            write_as(&gguf, target, settings.driver().executor(), &mut file).context(name)?;
            names.push(name);
        }
        Ok(Self { bf16, names })
    }

    /// All of them, mapped.
    pub(super) fn open(&self) -> Result<Vec<(String, SourceSet)>> {
        let open = |&name: &&'static str| {
            let path = self.bf16.folder.path().join(format!("{name}.gguf"));
            Ok((name.to_owned(), open_set(&path, Source::map)?))
        };
        self.names.iter().map(open).collect()
    }
}

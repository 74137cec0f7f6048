//! The models that are compared: [`Form`]s, [`Files`] of them, and [`Candidate`], one that is loaded.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use keepq_checkpoint::{Method, Recipe, ZeroPoints};
use keepq_decoder::{Model, Settings};
use keepq_gemm::Residency;
use keepq_gguf::Gguf;
use keepq_tinygemm::select::{PathKind, Policy};
use tempfile::TempDir;

use crate::commands::quantize::checkpoint::{Calibration, How, KeptFloats, write_folder};
use crate::commands::quantize::{Target, write_as};
use crate::interrupt::RemovedOnInterrupt;
use crate::model_files::{Contents, Held, ModelFiles};

/// What weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the file holds.
    Stored,
    /// A type of GGUF.
    Blocks,
    /// Of a 4-bit path.
    FourBit,
}

/// Groups of the 4-bit paths that are compared, where rows are whole ones.
const GROUPS: [usize; 3] = [32, 64, 128];

/// The usual one of them.
const GROUP: usize = 64;

/// How a candidate is made of the model in bf16.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Blocks(Target),
    FourBit { name: String, recipe: Recipe, kept: KeptFloats, path: PathKind, calibrated: bool },
}

impl Form {
    /// The forms of a path, for rows of these lengths.
    pub(super) fn of_path(path: PathKind, rows: &[u64]) -> Result<Vec<Self>> {
        let quantized = KeptFloats::default();
        let bf16_head = KeptFloats { head: true, ..quantized };
        let groups = GROUPS.into_iter().filter(|&group| rows.iter().all(|k| k.is_multiple_of(group as u64)));
        let form = |name: String, method, group, asymmetric, kept| -> Result<Self> {
            let recipe = Recipe::new(method, group, asymmetric).context("no such form")?;
            Ok(Self::FourBit { name, recipe, kept, path, calibrated: false })
        };
        match path {
            PathKind::W4A16 => groups
                .flat_map(|group| [(group, quantized, ""), (group, bf16_head, ", bf16 head")])
                .filter(|&(group, kept, _)| group == GROUP || !kept.head)
                .map(|(group, kept, head)| {
                    form(format!("w4a16 group {group}{head}"), Method::CpuInt4, group, false, kept)
                })
                .collect(),
            PathKind::W4A8 => groups
                .flat_map(|group| [(group, false, "symmetric"), (group, true, "asymmetric")])
                .map(|(group, asymmetric, zeros)| {
                    form(format!("w4a8 group {group} {zeros}"), Method::W4A8, group, asymmetric, quantized)
                })
                .collect(),
            PathKind::Int4 => Ok(vec![form("int4".to_owned(), Method::Int4, GROUP, false, quantized)?]),
            PathKind::Fallback => {
                let method = Method::Gptq(ZeroPoints::LessOne);
                groups.map(|group| form(format!("fallback group {group}"), method, group, false, quantized)).collect()
            }
        }
    }

    /// The same with errors made good by the calibration text, where it is of the usual group and all its weights are quantized.
    pub(super) fn calibrated(&self) -> Option<Self> {
        let Self::FourBit { name, recipe, kept, path, calibrated: false } = self else { return None };
        let usual = matches!(path, PathKind::W4A16 | PathKind::W4A8) && recipe.group() == GROUP && !kept.head;
        let name = format!("{name}, calibrated");
        usual.then_some(Self::FourBit { name, recipe: *recipe, kept: *kept, path: *path, calibrated: true })
    }

    /// The name of its row.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Blocks(target) => target.ty().name(),
            Self::FourBit { name, .. } => name,
        }
    }

    const fn kind(&self) -> Kind {
        match self {
            Self::Blocks(_) => Kind::Blocks,
            Self::FourBit { .. } => Kind::FourBit,
        }
    }

    const fn policy(&self) -> Option<Policy> {
        match self {
            Self::Blocks(_) => None,
            Self::FourBit { path, .. } => Some(Policy::Named(*path)),
        }
    }
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

impl<'a> Candidate<'a> {
    /// A model as it is stored.
    pub(super) fn load(name: &str, contents: &Contents<'a>) -> Result<Self> {
        Self::held(name, Kind::Stored, contents, None)
    }

    /// A model that was made in a form.
    pub(super) fn of(form: &Form, contents: &Contents<'a>) -> Result<Self> {
        Self::held(form.name(), form.kind(), contents, form.policy())
    }

    fn held(name: &str, kind: Kind, contents: &Contents<'a>, policy: Option<Policy>) -> Result<Self> {
        let (model, _) = contents.load(Held { residency: Residency::Keep, policy }).with_context(|| name.to_owned())?;
        let report = model.report();
        let bytes = report.kept_bytes + report.expanded_bytes + report.converted_bytes;
        Ok(Self { name: name.to_owned(), kind, bytes, model })
    }
}

/// A temporary folder of models.
#[derive(Debug)]
pub(super) struct Files {
    folder: TempDir,
    _interrupt: RemovedOnInterrupt,
    pool: rayon::ThreadPool,
}

impl Files {
    /// None yet.
    pub(super) fn new(settings: &Settings) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("keepq-fidelity-").tempdir().context("no temporary folder")?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.driver().executor().threads()).build()?;
        Ok(Self { _interrupt: RemovedOnInterrupt::new(folder.path()), folder, pool })
    }

    /// Decodes the weights of a model and rounds them to bf16.
    pub(super) fn write_bf16(&self, gguf: &Gguf<'_>, settings: &Settings) -> Result<ModelFiles> {
        let path = self.path("bf16.gguf");
        write_as(gguf, Target::BF16, settings.driver().executor(), &mut File::create(&path)?)?;
        ModelFiles::open(&path, false)
    }

    /// Makes a model of one in bf16; `calibration` is of that.
    pub(super) fn write(
        &self,
        form: &Form,
        bf16: &Contents<'_>,
        calibration: Option<&Calibration>,
        settings: &Settings,
    ) -> Result<ModelFiles> {
        let path = self.path(form.name());
        match form {
            Form::Blocks(target) => {
                let mut file = File::create(&path)?;
                write_as(bf16.vocabulary(), *target, settings.driver().executor(), &mut file)?;
            }
            Form::FourBit { recipe, kept, calibrated, .. } => {
                let calibration = calibration.filter(|_| *calibrated);
                let how = How { recipe: *recipe, kept: *kept, calibration };
                write_folder(bf16, how, &path, &self.pool).with_context(|| form.name().to_owned())?;
            }
        }
        ModelFiles::open(&path, false)
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::join(self.folder.path(), name)
    }
}

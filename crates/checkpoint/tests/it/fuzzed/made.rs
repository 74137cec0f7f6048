//! [`MadeCheckpoint`]: a folder of a checkpoint, legal but for what a fuzzer changes.

use std::fs;
use std::path::Path;

use arbitrary::Arbitrary;
use keepq_checkpoint::{
    CONFIG_FILE, CheckpointError, CheckpointFiles, INDEX_FILE, MODEL_FILE, Method, Recipe, ZeroPoints,
};
use keepq_gguf::Source;
use keepq_tinygemm::w4a16::Layout;
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::json;

/// A folder with one weight.
#[derive(Arbitrary, Debug)]
pub(crate) struct MadeCheckpoint<'b> {
    form: Form,
    asymmetric: bool,
    /// Eighths of the rows, and of the columns.
    n: u8,
    k: u8,
    group: u8,
    /// Another shape than the one that is asked for.
    asked: Option<(u8, u8)>,
    /// What stands in the place of the configuration.
    config: Option<&'b str>,
    /// A key of the part about quantization, and its value.
    key: Option<(Key, Option<i16>)>,
    /// The weight's bytes, repeated as often as it takes.
    fill: &'b [u8],
    changes: Vec<Change>,
    indexed: bool,
    /// Bytes of the file that are changed at last.
    damage: Vec<(u16, u8)>,
    /// Bytes that the file ends after.
    cut: Option<u16>,
}

#[derive(Arbitrary, Debug)]
enum Form {
    GptqLessOne,
    Gptq,
    Awq,
    CpuInt4,
    W4A8,
    Int4,
}

#[derive(Arbitrary, Debug)]
enum Key {
    Bits,
    GroupSize,
    Method,
    Version,
    Format,
}

/// Something else than a part of the weight should be.
#[derive(Arbitrary, Debug)]
enum Change {
    Missing(u8),
    Flat(u8),
    Type(u8, bool),
    Rows(u8, u8),
    Groups(Vec<i8>),
}

impl Form {
    fn method(&self) -> Method {
        match self {
            Self::GptqLessOne => Method::Gptq(ZeroPoints::LessOne),
            Self::Gptq => Method::Gptq(ZeroPoints::AsTheyAre),
            Self::Awq => Method::Awq,
            Self::CpuInt4 => Method::CpuInt4,
            Self::W4A8 => Method::W4A8,
            Self::Int4 => Method::Int4,
        }
    }
}

/// A tensor to be written.
struct Given {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
}

impl MadeCheckpoint<'_> {
    /// Rows, columns.
    fn shape(&self) -> (usize, usize) {
        (8 * (1 + usize::from(self.n) % 9), 8 * (1 + usize::from(self.k) % 25))
    }

    fn recipe(&self) -> Recipe {
        let group = [8, 16, 32, 64, 128][usize::from(self.group) % 5];
        Recipe::new(self.form.method(), group, self.asymmetric).expect("a method that quantizes")
    }

    fn config(&self) -> String {
        let mut config = self.recipe().config();
        if let Some((key, value)) = &self.key {
            let key = match key {
                Key::Bits => "bits",
                Key::GroupSize => "group_size",
                Key::Method => "quant_method",
                Key::Version => "version",
                Key::Format => "checkpoint_format",
            };
            config.insert(key.into(), json!(value));
        }
        self.config.map_or_else(|| json!({ "quantization_config": config }).to_string(), str::to_owned)
    }

    /// The tensors of the weight as they should be, then changed; none where the form has no such shape.
    fn tensors(&self) -> Option<Vec<Given>> {
        let parts = self.recipe().parts(self.shape()).ok()?;
        let given = |(name, dtype, shape): (&str, _, _)| Given { name: format!("w.{name}"), dtype, shape };
        let mut tensors: Vec<_> = parts.into_iter().map(|part| given((part.name, part.dtype, part.shape))).collect();
        for change in &self.changes {
            let count = tensors.len().max(1);
            let place = |index: &u8| usize::from(*index) % count;
            match change {
                Change::Missing(index) if !tensors.is_empty() => drop(tensors.remove(place(index))),
                Change::Missing(_) => {}
                Change::Flat(index) => {
                    tensors.get_mut(place(index)).into_iter().for_each(|t| t.shape = vec![t.shape.iter().product()]);
                }
                Change::Type(index, wide) => {
                    let dtype = if *wide { Dtype::F64 } else { Dtype::U8 };
                    tensors.get_mut(place(index)).into_iter().for_each(|t| t.dtype = dtype);
                }
                Change::Rows(index, rows) => {
                    tensors.get_mut(place(index)).into_iter().for_each(|t| t.shape[0] = usize::from(*rows));
                }
                Change::Groups(groups) => {
                    // In the place of the form's own: a writer of the format panics at a name that is there twice.
                    tensors.retain(|tensor| tensor.name != "w.g_idx");
                    tensors.push(Given { name: "w.g_idx".into(), dtype: Dtype::I32, shape: vec![groups.len()] });
                }
            }
        }
        Some(tensors)
    }

    /// Writes the folder; `None` where there is nothing to write.
    fn write(&self, folder: &Path) -> Option<()> {
        fs::write(folder.join(CONFIG_FILE), self.config()).expect("a written file");
        let tensors = self.tensors()?;
        let mut fill = self.fill.iter().copied().cycle().chain(std::iter::repeat(0));
        let datas: Vec<Vec<u8>> = tensors
            .iter()
            .map(|t| {
                let bytes = t.shape.iter().product::<usize>() * t.dtype.bitsize() / 8;
                fill.by_ref().take(bytes).collect()
            })
            .collect();
        let views: Vec<_> = tensors
            .iter()
            .zip(&datas)
            .map(|(t, data)| (&t.name, TensorView::new(t.dtype, t.shape.clone(), data).expect("as many bytes")))
            .collect();
        let mut bytes = safetensors::serialize(views, None).ok()?;
        for (at, byte) in &self.damage {
            let at = usize::from(*at) % bytes.len();
            bytes[at] ^= byte;
        }
        if let Some(cut) = self.cut {
            bytes.truncate(cut.into());
        }
        let name = if self.indexed { "model-00001-of-00001.safetensors" } else { MODEL_FILE };
        if self.indexed {
            let map: serde_json::Map<_, _> = tensors.iter().map(|t| (t.name.clone(), json!(name))).collect();
            fs::write(folder.join(INDEX_FILE), json!({ "weight_map": map }).to_string()).expect("a written file");
        }
        fs::write(folder.join(name), bytes).expect("a written file");
        Some(())
    }

    /// An error of one line, or a weight that is read row by row, and converted for every path or refused.
    pub(crate) fn check(&self) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        if self.write(folder.path()).is_none() {
            return;
        }
        if let Err(error) = self.read(folder.path()) {
            let text = error.to_string();
            assert!(!text.chars().any(char::is_control), "{text}");
        }
    }

    fn read(&self, folder: &Path) -> Result<(), CheckpointError> {
        let files = CheckpointFiles::open(folder, |path| Source::read(path))?;
        let checkpoint = files.parse()?;
        let shape = self.asked.map_or(self.shape(), |(n, k)| (n.into(), k.into()));
        let names: Vec<String> = checkpoint.names().map(str::to_owned).collect();
        for name in names {
            let tensor = checkpoint.require(&name)?;
            if let Ok(floats) = tensor.floats() {
                assert_eq!(floats.len(), tensor.shape().iter().product::<usize>());
            }
        }
        let linear = checkpoint.linear("w", shape)?;
        assert_eq!((linear.n(), linear.k()), shape);
        let mut row = vec![0.0; shape.1];
        (0..shape.0).for_each(|n| linear.decode_row(n, &mut row));
        let group = linear.group().unwrap_or(64);
        for layout in Layout::ALL {
            linear.to_w4a16(layout, group).map_or_else(|error| one_line(&error), drop);
        }
        linear.to_w4a8(group).map_or_else(|error| one_line(&error), drop);
        linear.to_wna16(group).map_or_else(|error| one_line(&error), drop);
        linear.to_int4().map_or_else(|error| one_line(&error), drop);
        Ok(())
    }
}

fn one_line(error: &CheckpointError) {
    let text = error.to_string();
    assert!(!text.chars().any(char::is_control), "{text}");
}

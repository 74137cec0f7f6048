//! A folder with a checkpoint, made for a test.

use std::path::Path;

use keepq_checkpoint::{CheckpointError, CheckpointFiles, MODEL_FILE, Part, Recipe, Scales};
use keepq_gguf::Source;
use safetensors::{Dtype, tensor::TensorView};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A tensor of a test: name, type, shape and bytes.
#[derive(Clone, Debug)]
pub(crate) struct Given(pub String, pub Dtype, pub Vec<usize>, pub Vec<u8>);

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(config: &Value, tensors: &[Given]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        let new = Self(folder);
        new.write(MODEL_FILE, tensors);
        new
    }

    pub(crate) fn write(&self, file: &str, tensors: &[Given]) {
        let views = tensors.iter().map(|Given(name, dtype, shape, bytes)| {
            (name.clone(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        });
        safetensors::serialize_to_file(views, None, &self.path().join(file)).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn open(&self) -> Result<CheckpointFiles, CheckpointError> {
        CheckpointFiles::open(self.path(), |path| Source::map(path))
    }
}

/// What a recipe makes of a weight, and its configuration.
pub(crate) struct Made {
    pub scales: Scales,
    pub codes: Vec<u8>,
    pub tensors: Vec<Given>,
}

pub(crate) fn make(recipe: &Recipe, name: &str, (n, k): (usize, usize), weights: &[f32]) -> Made {
    let groups = recipe.groups(k);
    let mut scales = Scales { scales: vec![0.0; n * groups], zeros: vec![0.0; n * groups] };
    let mut codes = vec![0; n * k];
    for (r, row) in weights.chunks_exact(k).enumerate() {
        let of_row = r * groups..(r + 1) * groups;
        let (found, zeros) = (&mut scales.scales[of_row.clone()], &mut scales.zeros[of_row.clone()]);
        recipe.scales(row, found, zeros).unwrap();
        let Scales { scales, zeros } = &scales;
        recipe.codes(row, &scales[of_row.clone()], &zeros[of_row], &mut codes[r * k..][..k]);
    }
    let part = |part: Part| {
        let bytes = recipe.bytes(part.name, (n, k), &scales, |all| all.copy_from_slice(&codes)).unwrap();
        Given(format!("{name}.{}", part.name), part.dtype, part.shape, bytes)
    };
    let tensors = recipe.parts((n, k)).unwrap().into_iter().map(part).collect();
    Made { scales, codes, tensors }
}

pub(crate) fn config(recipe: &Recipe) -> Value {
    json!({ "quantization_config": recipe.config() })
}

/// Weights of about the size that models have, each row and group with a size and a middle of its own.
pub(crate) fn weights(n: usize, k: usize) -> Vec<f32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n * k)
        .map(|i| {
            let (row, group) = (i / k, i % k / 32);
            let (size, middle) = (0.02 + 0.01 * (row % 7) as f32, 0.01 * (group % 5) as f32 - 0.02);
            size * random() + middle
        })
        .collect()
}

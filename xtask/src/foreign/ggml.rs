//! ggml, function by function: what its reference code writes, and what two of its builds multiply.
//!
//! Bytes come from the `*_ref` functions of `libggml-base` only: a CPU build's own quantizers round otherwise. Dots
//! come from the CPU builds that the stored goldens name, of which several live side by side in one process.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use keepq_blocks::GgmlType;
use keepq_goldens::foreign::{TypeRow, VARIANTS};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW, Symbol};

use super::llama::open;

/// The opened libraries.
pub(crate) struct Ggml {
    base: &'static Library,
    cpus: Vec<(&'static str, &'static Library)>,
    version: String,
}

type Init = unsafe extern "C" fn();
type Score = unsafe extern "C" fn() -> c_int;
type Text = unsafe extern "C" fn() -> *const c_char;
type TypeName = unsafe extern "C" fn(c_int) -> *const c_char;
type BlockLen = unsafe extern "C" fn(c_int) -> i64;
type BlockBytes = unsafe extern "C" fn(c_int) -> usize;
/// n elements to a row of blocks.
type Quantize = unsafe extern "C" fn(*const f32, *mut c_void, i64);
/// A row of blocks to n elements.
type Dequantize = unsafe extern "C" fn(*const c_void, *mut f32, i64);
/// n, result, its stride, weights, their stride, activations, their stride, rows at once.
type VecDot = unsafe extern "C" fn(c_int, *mut f32, usize, *const c_void, usize, *const c_void, usize, c_int);

/// Ids in the table of the versions that have Q2_0, the last type in it.
const TYPE_COUNT: c_int = 43;

impl Ggml {
    /// Opens `libggml-base.so` and the CPU builds in `dir`.
    ///
    /// # Errors
    /// A library or a function that is missing, a processor that cannot run a build, a table of types that is not ours.
    pub(crate) fn load(dir: &Path) -> Result<Self> {
        ensure!(dir.is_dir(), "{}: no folder with ggml's libraries", dir.display());
        // With global symbols: the CPU builds resolve theirs in it.
        let base = open(&dir.join("libggml-base.so"), RTLD_NOW | RTLD_GLOBAL)?;
        let mut cpus = Vec::new();
        for variant in VARIANTS {
            let path = dir.join(format!("libggml-cpu-{variant}.so"));
            let library = open(&path, RTLD_NOW | RTLD_LOCAL)?;
            // SAFETY: `int ggml_backend_score(void)`, which is compiled for any processor.
            let score =
                unsafe { symbol::<Score>(library, "ggml_backend_score").context(path.display().to_string())?() };
            ensure!(score > 0, "{}: this processor lacks instructions that it needs", path.display());
            // SAFETY: `void ggml_cpu_init(void)`; the processor has what the build needs, as its score says.
            unsafe { symbol::<Init>(library, "ggml_cpu_init").context(path.display().to_string())?() };
            cpus.push((variant, library));
        }
        // SAFETY: `const char * ggml_version(void)` and `ggml_commit` return static C strings.
        let [version, commit] =
            unsafe { [text(symbol::<Text>(base, "ggml_version")?()), text(symbol::<Text>(base, "ggml_commit")?())] };
        let ggml = Self { base, cpus, version: format!("ggml {version} ({commit})") };
        ggml.check_geometry()?;
        Ok(ggml)
    }

    /// Which version it is.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The table of types, removed ones included.
    pub(crate) fn types(&self) -> Result<Vec<TypeRow>> {
        (0..TYPE_COUNT).map(|id| self.type_row(id)).collect()
    }

    /// What `quantize_row_<ty>_ref` (for floats the conversion of a row) writes for `x`, whole blocks.
    pub(crate) fn encode(&self, ty: GgmlType, x: &[f32]) -> Result<Vec<u8>> {
        let name = match ty {
            GgmlType::F16 => "ggml_fp32_to_fp16_row".to_owned(),
            GgmlType::BF16 => "ggml_fp32_to_bf16_row_ref".to_owned(),
            _ => format!("quantize_row_{}_ref", self.type_row(ty.id() as c_int)?.name),
        };
        let size = ty.row_bytes(x.len()).with_context(|| format!("{ty}: {} elements are no whole blocks", x.len()))?;
        // Zeros, as some of its functions leave parts of a block as they find them.
        let mut words = vec![0_u64; size.div_ceil(8)];
        // SAFETY: all three have this signature. They read `x.len()` floats and write a row of as many elements, whose
        // bytes are `size` by the library's own geometry (checked in `load`); `words` has as many, aligned for any block.
        unsafe { symbol::<Quantize>(self.base, &name)?(x.as_ptr(), words.as_mut_ptr().cast(), x.len() as i64) };
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.truncate(size);
        Ok(bytes)
    }

    /// What `dequantize_row_<ty>` (for floats the conversion of a row) writes for `bytes`, blocks of `elements` elements.
    pub(crate) fn decode(&self, ty: GgmlType, bytes: &[u8], elements: usize) -> Result<Vec<f32>> {
        let name = match ty {
            GgmlType::F16 => "ggml_fp16_to_fp32_row".to_owned(),
            GgmlType::BF16 => "ggml_bf16_to_fp32_row".to_owned(),
            _ => format!("dequantize_row_{}", self.type_row(ty.id() as c_int)?.name),
        };
        ensure!(ty.row_bytes(elements) == Some(bytes.len()), "{ty}: {elements} elements are not {} bytes", bytes.len());
        let bytes = aligned(bytes);
        let mut x = vec![0.0_f32; elements];
        // SAFETY: all three have this signature. They read a row of `elements` elements, whose bytes are all of `bytes`
        // (just checked, by a geometry that is the library's), and write as many floats.
        unsafe { symbol::<Dequantize>(self.base, &name)?(bytes.as_ptr().cast(), x.as_mut_ptr(), elements as i64) };
        Ok(x)
    }

    /// The dot of a row of `ty` and a token, quantized as ggml does for this type, by one build.
    pub(crate) fn dot(&self, variant: &str, ty: GgmlType, row: &[u8], token: &[f32]) -> Result<f32> {
        let Some((_, library)) = self.cpus.iter().find(|(known, _)| *known == variant) else {
            bail!("no build {variant} is loaded")
        };
        let activations = activations(ty)?;
        let met = match activations {
            GgmlType::F32 => token.iter().flat_map(|v| v.to_le_bytes()).collect(),
            _ => self.encode(activations, token)?,
        };
        let ggml_name = |ty: GgmlType| Ok::<_, anyhow::Error>(self.type_row(ty.id() as c_int)?.name);
        let name = match activations == ty && ty.block_len() == 1 {
            true => format!("ggml_vec_dot_{}", ggml_name(ty)?),
            false => format!("ggml_vec_dot_{}_{}", ggml_name(ty)?, ggml_name(activations)?),
        };
        ensure!(ty.row_bytes(token.len()) == Some(row.len()), "{ty}: {} elements in {} bytes", token.len(), row.len());
        let (row, met) = (aligned(row), aligned(&met));
        let mut dot = 0.0_f32;
        // SAFETY: the functions have this signature. With one row at once the strides are not used. They read
        // `token.len()` elements of either, which are all of `row` (just checked) and of `met` (made by `encode`), and
        // write one float. The build's tables are filled and the processor can run it (`load`).
        unsafe {
            let vec_dot = symbol::<VecDot>(library, &name)?;
            vec_dot(token.len().try_into()?, &raw mut dot, 0, row.as_ptr().cast(), 0, met.as_ptr().cast(), 0, 1);
        }
        Ok(dot)
    }

    fn type_row(&self, id: c_int) -> Result<TypeRow> {
        ensure!((0..TYPE_COUNT).contains(&id), "type id {id} is not in ggml's table");
        // SAFETY: `const char * ggml_type_name(enum ggml_type)` and its two neighbours read a table of TYPE_COUNT
        // entries at `id`, which is within it: `load` found Q2_0's quantizer, so that the table has its last row.
        unsafe {
            Ok(TypeRow {
                id: id.try_into()?,
                name: text(symbol::<TypeName>(self.base, "ggml_type_name")?(id)),
                elements: symbol::<BlockLen>(self.base, "ggml_blck_size")?(id).try_into()?,
                bytes: symbol::<BlockBytes>(self.base, "ggml_type_size")?(id),
            })
        }
    }

    /// Buffers are sized by our geometry, so that it has to be the library's.
    fn check_geometry(&self) -> Result<()> {
        // SAFETY: the symbol is not called.
        unsafe { symbol::<Quantize>(self.base, "quantize_row_q2_0_ref") }
            .context("libggml-base.so: older than ggml 0.23, whose table of types is needed")?;
        for ty in GgmlType::ALL {
            let TypeRow { name, elements, bytes, .. } = self.type_row(ty.id() as c_int)?;
            ensure!(
                (elements, bytes) == (ty.block_len(), ty.block_bytes()) && name.eq_ignore_ascii_case(ty.name()),
                "{ty}: blocks of {} elements in {} bytes, but ggml's {name} has {elements} in {bytes}",
                ty.block_len(),
                ty.block_bytes()
            );
        }
        Ok(())
    }
}

/// What ggml multiplies weights of this type by.
fn activations(ty: GgmlType) -> Result<GgmlType> {
    Ok(match ty {
        GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => ty,
        GgmlType::Q4_0 | GgmlType::Q5_0 | GgmlType::Q8_0 => GgmlType::Q8_0,
        GgmlType::Q4_1 | GgmlType::Q5_1 => GgmlType::Q8_1,
        GgmlType::Q2_K | GgmlType::Q3_K | GgmlType::Q4_K | GgmlType::Q5_K | GgmlType::Q6_K => GgmlType::Q8_K,
        _ => bail!("{ty}: its dots are not compared"),
    })
}

/// A copy of `bytes`, aligned for any of ggml's blocks, which have 4 at most; zeros at the end.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// The function of this name.
///
/// # Safety
/// `F` is the function's type. The library stays open, as those of [`open`] do.
unsafe fn symbol<F>(library: &'static Library, name: &str) -> Result<Symbol<F>> {
    // SAFETY: the caller vouches for the type.
    unsafe { library.get(name) }.map_err(|_| anyhow::anyhow!("the library has no function {name}"))
}

/// A copy of a C string.
///
/// # Safety
/// `pointer` is one.
unsafe fn text(pointer: *const c_char) -> String {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(dir: &Path) -> String {
        format!("{:#}", Ggml::load(dir).err().expect("nothing to load"))
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(error(Path::new("no/such/folder")), "no/such/folder: no folder with ggml's libraries");
        let dir = tempfile::tempdir().expect("a temporary folder");
        let library = dir.path().join("libggml-base.so");
        let error = error(dir.path());
        assert!(error.starts_with(&format!("cannot open {}", library.display())), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }

    #[test]
    fn copies_for_c_hold_every_byte() {
        let bytes: Vec<u8> = (1..=19).collect();
        let words = aligned(&bytes);
        let back: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        assert_eq!(back[..19], bytes);
        assert_eq!(back[19..], [0; 5]);
    }
}

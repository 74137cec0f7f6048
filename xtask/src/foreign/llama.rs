//! llama.cpp, driven through its own prebuilt shared libraries.
//!
//! [`Llama`] is the opened libraries with one CPU backend, [`Model`] a loaded file, [`Context`] a KV
//! cache with the threads that fill it. Each borrows the one before, so none can outlive what it
//! needs. Token ids are `u32` here and checked against the vocabulary before they reach the library,
//! which ends the process on some wrong arguments instead of returning an error.
//!
//! ```text
//! let llama = Llama::load(dir, &Cpu::Variant("haswell".into()))?;
//! let model = llama.model(file, &ModelOptions { mmap: true, repack: false })?;
//! let ids = model.tokenize("The capital of France is", true, true)?;
//! let mut context = model.context(&ContextOptions { n_ctx: 64, n_batch: 64, n_threads: 1 })?;
//! context.decode(&ids, ids.len() - 1..ids.len())?;
//! let logits: &[f32] = context.logits(ids.len() - 1)?;
//! ```

mod abi;
mod files;
mod ik;
mod instructions;
mod log;
mod mul_mat;
mod quantize;
mod threads;

use std::ffi::{CStr, CString, c_char, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};

use abi::{Batch, ContextParams, GgmlFunctions, LlamaFunctions, ModelParams};
pub(crate) use files::Cpu;
use files::Files;
pub(crate) use ik::{IkLlama, IkMulMat};
pub(crate) use mul_mat::{MulMat, Operands};
use threads::Threads;

/// llama.cpp's libraries with one CPU backend. At most one a process: its registries are globals.
pub(crate) struct Llama {
    ggml_library: &'static Library,
    ggml: GgmlFunctions,
    functions: LlamaFunctions,
    model_defaults: ModelParams,
    context_defaults: ContextParams,
}

/// How a model's weights are kept.
pub(crate) struct ModelOptions {
    /// Map the file instead of reading it.
    pub(crate) mmap: bool,
    /// Let the backend copy weights to layouts of its own (llama.cpp's default).
    pub(crate) repack: bool,
}

/// The size of a [`Context`].
pub(crate) struct ContextOptions {
    /// Positions of the KV cache; llama.cpp rounds up.
    pub(crate) n_ctx: u32,
    /// The most tokens of one [`Context::decode`]; llama.cpp caps it at its `n_ctx`.
    pub(crate) n_batch: u32,
    /// Threads, for single tokens and for batches.
    pub(crate) n_threads: u32,
}

impl Llama {
    /// Opens the libraries in `dir` and loads the backend `cpu`.
    ///
    /// # Errors
    ///
    /// A missing library, a processor without what the backend needs, parameters of another layout,
    /// or a second call in one process.
    pub(crate) fn load(dir: &Path, cpu: &Cpu) -> Result<Self> {
        static LOADED: AtomicBool = AtomicBool::new(false);
        let files = Files::locate(dir, cpu)?;
        ensure!(!LOADED.swap(true, Ordering::Relaxed), "llama.cpp's libraries can be loaded once a process");

        // libggml-base comes first and with global symbols: the backends resolve theirs in it.
        open(&files.base, RTLD_NOW | RTLD_GLOBAL)?;
        let ggml_library = open(&files.ggml, RTLD_NOW | RTLD_LOCAL)?;
        let llama = open(&files.llama, RTLD_NOW | RTLD_LOCAL)?;
        // SAFETY: `open` never closes a library, and the signatures are those of the headers of
        // llama.cpp 0.4 and 0.5. Between releases it is the structs that change; they are checked next.
        let (ggml, functions) = unsafe { (GgmlFunctions::resolve(ggml_library), LlamaFunctions::resolve(llama)) };
        let ggml = ggml.with_context(|| files.ggml.display().to_string())?;
        let functions = functions.with_context(|| files.llama.display().to_string())?;

        // SAFETY: both functions return the struct's defaults by value.
        let (model_defaults, context_defaults) = unsafe {
            (
                ModelParams::defaults(functions.llama_model_default_params),
                ContextParams::defaults(functions.llama_context_default_params),
            )
        };
        let another =
            |name| format!("{}: {name} has another layout than in llama.cpp 0.4 and 0.5", files.llama.display());
        let model_defaults = model_defaults.with_context(|| another("llama_model_params"))?;
        let context_defaults = context_defaults.with_context(|| another("llama_context_params"))?;

        // SAFETY: the callback is a function of this program and needs no pointer.
        unsafe { (functions.llama_log_set)(log::keep_errors, ptr::null_mut()) };
        load_backend(&ggml, dir, files.cpu.as_deref())?;
        // SAFETY: called once a process, after the backend: without one it would search for its own.
        unsafe { (functions.llama_backend_init)() };
        let llama = Self { ggml_library, ggml, functions, model_defaults, context_defaults };
        let system_info = llama.system_info();
        let missing = instructions::missing(&system_info);
        ensure!(missing.is_empty(), "{}: this processor lacks {}", dir.display(), missing.join(", "));
        Ok(llama)
    }

    /// llama.cpp's version, such as `0.4.0-dev`.
    pub(crate) fn version(&self) -> String {
        // SAFETY: returns a static C string.
        unsafe { text((self.functions.llama_version)()) }
    }

    /// The instruction sets that the loaded backend was compiled for, in llama.cpp's words.
    pub(crate) fn system_info(&self) -> String {
        // SAFETY: returns a static C string, rewritten by the next call only; it is copied here.
        unsafe { text((self.functions.llama_print_system_info)()) }
    }

    /// The file of the loaded backend; none where the system does not tell.
    pub(crate) fn backend(&self) -> Option<PathBuf> {
        files::opened_backend()
    }

    /// Loads a GGUF file.
    pub(crate) fn model(&self, file: &Path, options: &ModelOptions) -> Result<Model<'_>> {
        // llama.cpp's own message for a missing file is long and does not say so.
        std::fs::File::open(file).with_context(|| file.display().to_string())?;
        let path = c_path(file)?;
        let params = ModelParams {
            load_mode: if options.mmap { abi::LOAD_MODE_MMAP } else { abi::LOAD_MODE_NONE },
            use_extra_bufts: options.repack.into(),
            ..self.model_defaults
        };
        // SAFETY: the path is a C string, and `params` has the library's layout (checked in `load`).
        let model = unsafe { (self.functions.llama_model_load_from_file)(path.as_ptr(), params) };
        let Some(handle) = NonNull::new(model) else {
            bail!("{}: llama.cpp cannot load it: {}", file.display(), log::take_errors("no reason given"));
        };
        // SAFETY: the model is alive, and its vocabulary lives as long.
        let (vocab, n_tokens) = unsafe {
            let vocab = (self.functions.llama_model_get_vocab)(handle.as_ptr());
            (vocab, (self.functions.llama_vocab_n_tokens)(vocab))
        };
        let model = Model { llama: self, handle, vocab, vocab_size: n_tokens.try_into()? };
        ensure!(model.vocab_size > 0, "{}: it has no vocabulary", file.display());
        Ok(model)
    }
}

/// Loads one backend by its file, or the best of the folder.
fn load_backend(ggml: &GgmlFunctions, dir: &Path, cpu: Option<&Path>) -> Result<()> {
    let Some(file) = cpu else {
        let dir_path = c_path(dir)?;
        // SAFETY: the path is a C string; a build with its backends linked in has them registered.
        let count = unsafe {
            if (ggml.ggml_backend_reg_count)() == 0 {
                (ggml.ggml_backend_load_all_from_path)(dir_path.as_ptr());
            }
            (ggml.ggml_backend_reg_count)()
        };
        ensure!(count > 0, "{}: {}", dir.display(), log::take_errors("no backend for this processor"));
        return Ok(());
    };
    let path = c_path(file)?;
    // SAFETY: the path is a C string, and the file belongs to the libraries already open.
    let backend = unsafe { (ggml.ggml_backend_load)(path.as_ptr()) };
    ensure!(
        !backend.is_null(),
        "{}: {}",
        file.display(),
        log::take_errors("this processor lacks instructions that it needs")
    );
    Ok(())
}

/// A loaded model and its vocabulary.
pub(crate) struct Model<'a> {
    llama: &'a Llama,
    handle: NonNull<c_void>,
    vocab: *const c_void,
    vocab_size: usize,
}

impl Model<'_> {
    /// The number of token ids, and of logits of a position.
    pub(crate) fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// The ids of `text`. `add_special` adds what the file asks for at the ends (such as BOS);
    /// `parse_special` reads markers such as `<|im_start|>` as their one id.
    pub(crate) fn tokenize(&self, text: &str, add_special: bool, parse_special: bool) -> Result<Vec<u32>> {
        // No tokenizer makes more ids than bytes, apart from the ends' and one for a leading space.
        let mut ids = vec![0_i32; text.len() + 8];
        let (length, room) = (i32::try_from(text.len())?, i32::try_from(ids.len())?);
        // SAFETY: the vocabulary is the model's; text and ids have the lengths given.
        let count = unsafe {
            (self.llama.functions.llama_tokenize)(
                self.vocab,
                text.as_ptr().cast(),
                length,
                ids.as_mut_ptr(),
                room,
                add_special,
                parse_special,
            )
        };
        let count =
            usize::try_from(count).with_context(|| format!("llama.cpp needs room for {} ids", -i64::from(count)))?;
        Ok(ids[..count].iter().map(|id| id.cast_unsigned()).collect())
    }

    /// The bytes of one id, special tokens as their names. They need not be whole characters.
    pub(crate) fn piece(&self, id: u32) -> Result<Vec<u8>> {
        let id = self.checked(id)?;
        let mut bytes = vec![0_u8; 256];
        loop {
            let room = i32::try_from(bytes.len())?;
            // SAFETY: the vocabulary is the model's, the id is one of its, the room is as given.
            let count = unsafe {
                (self.llama.functions.llama_token_to_piece)(self.vocab, id, bytes.as_mut_ptr().cast(), room, 0, true)
            };
            // A negative count says how much room is needed.
            bytes.resize(count.unsigned_abs() as usize, 0);
            if count >= 0 {
                return Ok(bytes);
            }
        }
    }

    /// Whether the id ends a generation.
    pub(crate) fn is_eog(&self, id: u32) -> Result<bool> {
        let id = self.checked(id)?;
        // SAFETY: the vocabulary is the model's and the id is one of its.
        Ok(unsafe { (self.llama.functions.llama_vocab_is_eog)(self.vocab, id) })
    }

    /// An empty context; everything but its size is llama.cpp's default.
    pub(crate) fn context(&self, options: &ContextOptions) -> Result<Context<'_>> {
        let n_threads = i32::try_from(options.n_threads)?;
        ensure!(n_threads > 0, "a context needs a thread");
        ensure!(options.n_ctx > 0 && options.n_batch > 0, "a context needs positions and a batch");
        let params = ContextParams {
            n_ctx: options.n_ctx,
            n_batch: options.n_batch,
            n_threads,
            n_threads_batch: n_threads,
            ..self.llama.context_defaults
        };
        let functions = &self.llama.functions;
        let threads = Threads::new(&self.llama.ggml, n_threads)?;
        // SAFETY: the model is alive, and `params` has the library's layout (checked in `load`).
        let context = unsafe { (functions.llama_init_from_model)(self.handle.as_ptr(), params) };
        let Some(handle) = NonNull::new(context) else {
            bail!("llama.cpp cannot make a context: {}", log::take_errors("no reason given"));
        };
        // SAFETY: the context is alive.
        let n_batch = unsafe { (functions.llama_n_batch)(handle.as_ptr()) };
        // SAFETY: the context is alive; it owns the threads below, and is freed before them.
        unsafe { (functions.llama_attach_threadpool)(handle.as_ptr(), threads.as_ptr(), threads.as_ptr()) };
        Ok(Context {
            model: self,
            handle,
            _threads: threads,
            n_batch: n_batch as usize,
            outputs: 0..0,
            ids: Vec::new(),
            wanted: Vec::new(),
        })
    }

    /// The id as llama.cpp has it, if it is in the vocabulary.
    fn checked(&self, id: u32) -> Result<i32> {
        let size = self.vocab_size;
        ensure!((id as usize) < size, "the id {id} is outside the vocabulary of {size}");
        Ok(id.cast_signed())
    }
}

impl Drop for Model<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is owned, and every context borrows this model, so none is left.
        unsafe { (self.llama.functions.llama_model_free)(self.handle.as_ptr()) }
    }
}

/// A KV cache of one sequence, and the logits of the last [`decode`](Self::decode).
pub(crate) struct Context<'a> {
    model: &'a Model<'a>,
    handle: NonNull<c_void>,
    /// What the handle computes with, so it is dropped after it.
    _threads: Threads,
    n_batch: usize,
    /// Indices into the last batch that have logits.
    outputs: Range<usize>,
    /// The batch as llama.cpp takes it, kept so that steps do not allocate.
    ids: Vec<i32>,
    wanted: Vec<i8>,
}

impl Context<'_> {
    /// Runs `ids` through the model after those already in the context, and computes logits for the
    /// indices `outputs` of this batch. Returns when all is computed, so that it can be timed.
    pub(crate) fn decode(&mut self, ids: &[u32], outputs: Range<usize>) -> Result<()> {
        let n_batch = self.n_batch;
        ensure!(!ids.is_empty(), "a batch needs an id");
        ensure!(ids.len() <= n_batch, "a batch of {} is larger than {n_batch}", ids.len());
        ensure!(
            outputs.start <= outputs.end && outputs.end <= ids.len(),
            "logits {outputs:?} of a batch of {}",
            ids.len()
        );
        self.outputs = 0..0;
        self.ids.clear();
        for &id in ids {
            self.ids.push(self.model.checked(id)?);
        }
        self.wanted.clear();
        self.wanted.resize(ids.len(), 0);
        self.wanted[outputs.clone()].fill(1);

        let batch = Batch {
            n_tokens: ids.len().try_into()?,
            token: self.ids.as_ptr(),
            embd: ptr::null(),
            pos: ptr::null(),
            n_seq_id: ptr::null(),
            seq_id: ptr::null(),
            logits: self.wanted.as_ptr(),
        };
        let functions = &self.model.llama.functions;
        // SAFETY: the context is alive; the batch's arrays have `n_tokens` elements, are only read,
        // and outlive the call; the ids are in the vocabulary and no more than `n_batch`.
        let status = unsafe {
            let status = (functions.llama_decode)(self.handle.as_ptr(), batch);
            (functions.llama_synchronize)(self.handle.as_ptr());
            status
        };
        match status {
            0 => self.outputs = outputs,
            1 => bail!("the context has no room for {} more ids", ids.len()),
            code => bail!("llama.cpp cannot decode: {}", log::take_errors(&format!("llama_decode returned {code}"))),
        }
        Ok(())
    }

    /// The logits after index `index` of the last batch: one a token id of the vocabulary.
    pub(crate) fn logits(&self, index: usize) -> Result<&[f32]> {
        ensure!(self.outputs.contains(&index), "index {index} of the last batch has no logits");
        // SAFETY: the context is alive and has logits for that index. The first call after a decode
        // may reorder the rows, when none is borrowed yet.
        let logits =
            unsafe { (self.model.llama.functions.llama_get_logits_ith)(self.handle.as_ptr(), index.try_into()?) };
        ensure!(!logits.is_null(), "{}", log::take_errors("llama.cpp has no logits"));
        // SAFETY: llama.cpp keeps one row of `vocab_size` floats a wanted index, until the next
        // decode; that takes `&mut self`, so the borrow ends before.
        Ok(unsafe { std::slice::from_raw_parts(logits, self.model.vocab_size) })
    }

    /// Forgets everything decoded.
    pub(crate) fn clear(&mut self) {
        self.outputs = 0..0;
        let functions = &self.model.llama.functions;
        // SAFETY: the context is alive; a model without a memory has a null one, which is skipped.
        unsafe {
            let memory = (functions.llama_get_memory)(self.handle.as_ptr());
            if !memory.is_null() {
                (functions.llama_memory_clear)(memory, true);
            }
        }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is owned, and the model it belongs to is still borrowed.
        unsafe { (self.model.llama.functions.llama_free)(self.handle.as_ptr()) }
    }
}

/// Opens a library for the rest of the process: ggml keeps registries, threads and callbacks that
/// must not lose their code.
pub(super) fn open(path: &Path, flags: std::ffi::c_int) -> Result<&'static Library> {
    // SAFETY: the initialisers of llama.cpp's libraries only fill tables of their own.
    let library =
        unsafe { Library::open(Some(path), flags) }.with_context(|| format!("cannot open {}", path.display()))?;
    Ok(Box::leak(Box::new(library)))
}

/// A path for a C function.
fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).with_context(|| format!("{}: a path with a zero byte", path.display()))
}

/// A copy of a C string.
///
/// # Safety
///
/// The pointer must be to a C string.
unsafe fn text(pointer: *const c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finding the files comes first, so a wrong folder does not use up the process's one load.
    #[test]
    fn a_folder_without_libraries_can_be_reported_again_and_again() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for _ in 0..2 {
            let error = Llama::load(dir.path(), &Cpu::Best).err().expect("an empty folder");
            assert!(error.to_string().contains("has no libggml-base.so"), "{error:#}");
        }
    }
}

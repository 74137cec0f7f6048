//! What libllama's C interface looks like in memory, and the proof that the opened library agrees.
//!
//! The layouts are those of llama.cpp's releases 0.4 and 0.5. They change between releases without
//! a change of symbol names, so no struct is passed to the library before its `defaults` ([`ModelParams::defaults`],
//! [`ContextParams::defaults`], [`QuantizeParams::defaults`]) has found every field where it is expected.

use std::ffi::{c_char, c_int, c_void};

use anyhow::{Context, Result, ensure};
use libloading::os::unix::Library;

/// `enum llama_load_mode`: read the file into memory.
pub(super) const LOAD_MODE_NONE: c_int = 0;
/// `enum llama_load_mode`: map the file.
pub(super) const LOAD_MODE_MMAP: c_int = 1;

/// `enum ggml_log_level`: an error.
pub(super) const LOG_LEVEL_ERROR: c_int = 4;

/// `enum ggml_backend_dev_type`: a CPU with the system's memory.
pub(super) const DEVICE_TYPE_CPU: c_int = 0;

/// `ggml_log_callback`: level, text, the pointer given at registration.
pub(super) type LogCallback = unsafe extern "C" fn(c_int, *const c_char, *mut c_void);

/// A function that returns a large struct, as x86-64's System V convention has it: the caller passes
/// the address to write to as a hidden first argument and gets it back.
type ReturnsStruct = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// Declares a table of C functions, each field named as the symbol, and how to fill it.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident {
        $(fn $name:ident($($argument:ty),*) $(-> $result:ty)?;)*
    }) => {
        $(#[$doc])*
        pub(super) struct $table {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks every function up in `library`.
            ///
            /// # Safety
            ///
            /// The library must stay open as long as the table is used, and its functions must have
            /// the declared signatures.
            pub(super) unsafe fn resolve(library: &Library) -> Result<Self> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the caller vouches for the signature and for the library's life.
                        let symbol = unsafe { library.get(stringify!($name)) };
                        *symbol.with_context(|| format!("it has no function {}", stringify!($name)))?
                    },)*
                })
            }
        }
    };
}

functions! {
    /// What is used of libggml and libggml-base: the registry of computing backends, and threads.
    GgmlFunctions {
        fn ggml_backend_load(*const c_char) -> *mut c_void;
        fn ggml_backend_load_all_from_path(*const c_char);
        fn ggml_backend_reg_count() -> usize;
        fn ggml_backend_reg_get_proc_address(*const c_void, *const c_char) -> *mut c_void;
        fn ggml_backend_dev_by_type(c_int) -> *const c_void;
        fn ggml_backend_dev_backend_reg(*const c_void) -> *const c_void;
        fn ggml_threadpool_params_init(*mut c_void, c_int);
    }
}

functions! {
    /// What is used of libggml-base to compute one graph. Tensors, contexts, graphs, buffers and their types are pointers whose
    /// structs are never looked into.
    GraphFunctions {
        fn ggml_tensor_overhead() -> usize;
        fn ggml_graph_overhead_custom(usize, bool) -> usize;
        fn ggml_init(InitParams) -> *mut c_void;
        fn ggml_free(*mut c_void);
        fn ggml_new_tensor_2d(*mut c_void, c_int, i64, i64) -> *mut c_void;
        fn ggml_nbytes(*const c_void) -> usize;
        fn ggml_mul_mat(*mut c_void, *mut c_void, *mut c_void) -> *mut c_void;
        fn ggml_new_graph_custom(*mut c_void, usize, bool) -> *mut c_void;
        fn ggml_build_forward_expand(*mut c_void, *mut c_void);
        fn ggml_backend_dev_init(*const c_void, *const c_char) -> *mut c_void;
        fn ggml_backend_free(*mut c_void);
        fn ggml_backend_dev_buffer_type(*const c_void) -> *mut c_void;
        fn ggml_backend_dev_supports_op(*const c_void, *const c_void) -> bool;
        fn ggml_backend_buft_name(*mut c_void) -> *const c_char;
        fn ggml_backend_alloc_ctx_tensors_from_buft(*mut c_void, *mut c_void) -> *mut c_void;
        fn ggml_backend_buffer_free(*mut c_void);
        fn ggml_backend_tensor_set(*mut c_void, *const c_void, usize, usize);
        fn ggml_backend_tensor_get(*const c_void, *mut c_void, usize, usize);
        fn ggml_backend_graph_compute(*mut c_void, *mut c_void) -> c_int;
    }
}

functions! {
    /// What is used of the libggml of ik_llama.cpp, which left llama.cpp before there were devices, and has weights of other layouts as
    /// types of their own.
    IkFunctions {
        fn ggml_tensor_overhead() -> usize;
        fn ggml_graph_overhead_custom(usize, bool) -> usize;
        fn ggml_init(InitParams) -> *mut c_void;
        fn ggml_free(*mut c_void);
        fn ggml_new_tensor_2d(*mut c_void, c_int, i64, i64) -> *mut c_void;
        fn ggml_nbytes(*const c_void) -> usize;
        fn ggml_mul_mat(*mut c_void, *mut c_void, *mut c_void) -> *mut c_void;
        fn ggml_new_graph_custom(*mut c_void, usize, bool) -> *mut c_void;
        fn ggml_build_forward_expand(*mut c_void, *mut c_void);
        fn ggml_backend_cpu_init() -> *mut c_void;
        fn ggml_backend_cpu_set_n_threads(*mut c_void, c_int);
        fn ggml_backend_cpu_buffer_type() -> *mut c_void;
        fn ggml_backend_free(*mut c_void);
        fn ggml_backend_alloc_ctx_tensors_from_buft(*mut c_void, *mut c_void) -> *mut c_void;
        fn ggml_backend_buffer_free(*mut c_void);
        fn ggml_backend_tensor_set(*mut c_void, *const c_void, usize, usize);
        fn ggml_backend_tensor_get(*const c_void, *mut c_void, usize, usize);
        fn ggml_backend_graph_compute(*mut c_void, *mut c_void) -> c_int;
        fn ggml_type_name(c_int) -> *const c_char;
        fn ggml_cpu_has_avx2() -> c_int;
        fn ggml_cpu_has_avx512() -> c_int;
        fn iqk_repack_tensor(*mut c_void);
    }
}

/// `struct ggml_init_params`: a context that holds tensors' descriptions, and not their data where `no_alloc` is 1.
#[repr(C)]
pub(super) struct InitParams {
    pub(super) mem_size: usize,
    pub(super) mem_buffer: *mut c_void,
    pub(super) no_alloc: u8,
}

functions! {
    /// What is used of libllama.
    LlamaFunctions {
        fn llama_version() -> *const c_char;
        fn llama_print_system_info() -> *const c_char;
        fn llama_log_set(LogCallback, *mut c_void);
        fn llama_backend_init();
        fn llama_model_default_params(*mut c_void) -> *mut c_void;
        fn llama_context_default_params(*mut c_void) -> *mut c_void;
        fn llama_model_load_from_file(*const c_char, ModelParams) -> *mut c_void;
        fn llama_model_free(*mut c_void);
        fn llama_model_quantize_default_params(*mut c_void) -> *mut c_void;
        fn llama_model_quantize(*const c_char, *const c_char, *const QuantizeParams) -> u32;
        fn llama_model_get_vocab(*const c_void) -> *const c_void;
        fn llama_vocab_n_tokens(*const c_void) -> i32;
        fn llama_vocab_is_eog(*const c_void, i32) -> bool;
        fn llama_tokenize(*const c_void, *const c_char, i32, *mut i32, i32, bool, bool) -> i32;
        fn llama_token_to_piece(*const c_void, i32, *mut c_char, i32, i32, bool) -> i32;
        fn llama_init_from_model(*mut c_void, ContextParams) -> *mut c_void;
        fn llama_free(*mut c_void);
        fn llama_attach_threadpool(*mut c_void, *mut c_void, *mut c_void);
        fn llama_n_batch(*const c_void) -> u32;
        fn llama_get_memory(*const c_void) -> *mut c_void;
        fn llama_memory_clear(*mut c_void, bool);
        fn llama_decode(*mut c_void, Batch) -> i32;
        fn llama_synchronize(*mut c_void);
        fn llama_get_logits_ith(*mut c_void, i32) -> *mut f32;
    }
}

/// Declares a `repr(C)` struct together with the value that each field has by default.
///
/// C's enums are `c_int` here, its booleans `u8`, and all its pointers `*const c_void`, so that
/// every pattern of bits is a value: what a library of another layout writes can be read and
/// reported.
macro_rules! params {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }

        impl $name {
            /// The library's own defaults, each checked against the known one.
            ///
            /// # Errors
            ///
            /// Names the first field that holds something else, or the struct's size.
            ///
            /// # Safety
            ///
            /// `function` must be the library's function that returns this struct's defaults.
            pub(super) unsafe fn defaults(function: ReturnsStruct) -> Result<Self> {
                // SAFETY: the caller vouches for the function; the fields are numbers and raw
                // pointers, so any bytes are a valid value.
                let found: Self = unsafe { returned_struct(function)? };
                $(ensure!(
                    found.$field == $default,
                    "the default of {} is {:?}, not {:?}",
                    stringify!($field), found.$field, $default
                );)*
                Ok(found)
            }
        }
    };
}

const NULL: *const c_void = std::ptr::null();

params! {
    /// `struct llama_model_params`.
    ModelParams {
        devices: *const c_void = NULL,
        tensor_buft_overrides: *const c_void = NULL,
        n_gpu_layers: i32 = -1,
        split_mode: c_int = 1,
        load_mode: c_int = -1,
        lazy_mode: c_int = 1,
        main_gpu: i32 = 0,
        tensor_split: *const c_void = NULL,
        progress_callback: *const c_void = NULL,
        progress_callback_user_data: *const c_void = NULL,
        kv_overrides: *const c_void = NULL,
        vocab_only: u8 = 0,
        check_tensors: u8 = 0,
        use_extra_bufts: u8 = 1,
        no_host: u8 = 0,
        no_alloc: u8 = 0,
        load_mtp: u8 = 0,
    }
}

params! {
    /// `struct llama_context_params`.
    ContextParams {
        n_ctx: u32 = 512,
        n_batch: u32 = 2048,
        n_ubatch: u32 = 512,
        n_seq_max: u32 = 1,
        n_rs_seq: u32 = 0,
        n_outputs_max: u32 = 0,
        n_outputs_max_per_seq: u32 = 1,
        n_threads: i32 = 4,
        n_threads_batch: i32 = 4,
        ctx_type: c_int = 0,
        rope_scaling_type: c_int = -1,
        pooling_type: c_int = -1,
        attention_type: c_int = -1,
        flash_attn_type: c_int = -1,
        rope_freq_base: f32 = 0.0,
        rope_freq_scale: f32 = 0.0,
        yarn_ext_factor: f32 = -1.0,
        yarn_attn_factor: f32 = -1.0,
        yarn_beta_fast: f32 = -1.0,
        yarn_beta_slow: f32 = -1.0,
        yarn_orig_ctx: u32 = 0,
        defrag_thold: f32 = -1.0,
        cb_eval: *const c_void = NULL,
        cb_eval_user_data: *const c_void = NULL,
        type_k: c_int = 1,
        type_v: c_int = 1,
        abort_callback: *const c_void = NULL,
        abort_callback_data: *const c_void = NULL,
        embeddings: u8 = 0,
        offload_kqv: u8 = 1,
        no_perf: u8 = 1,
        op_offload: u8 = 1,
        swa_full: u8 = 1,
        kv_unified: u8 = 0,
        samplers: *const c_void = NULL,
        n_samplers: usize = 0,
        ctx_other: *const c_void = NULL,
    }
}

params! {
    /// `struct llama_model_quantize_params`.
    QuantizeParams {
        nthread: i32 = 0,
        ftype: c_int = 7,
        output_tensor_type: c_int = 43,
        token_embedding_type: c_int = 43,
        allow_requantize: u8 = 0,
        quantize_output_tensor: u8 = 1,
        only_copy: u8 = 0,
        pure: u8 = 0,
        keep_split: u8 = 0,
        dry_run: u8 = 0,
        imatrix: *const c_void = NULL,
        kv_overrides: *const c_void = NULL,
        tt_overrides: *const c_void = NULL,
        prune_layers: *const c_void = NULL,
        max_buf_size: usize = 8 << 30,
    }
}

/// `struct llama_batch`. Null `pos`, `n_seq_id` and `seq_id` mean the next positions of sequence 0.
#[repr(C)]
pub(super) struct Batch {
    pub(super) n_tokens: i32,
    pub(super) token: *const i32,
    pub(super) embd: *const f32,
    pub(super) pos: *const i32,
    pub(super) n_seq_id: *const i32,
    pub(super) seq_id: *const *const i32,
    pub(super) logits: *const i8,
}

/// Room for a struct of unknown size, filled beforehand with [`POISON`].
#[repr(C, align(16))]
pub(super) struct Room([u8; 1024]);

impl Room {
    pub(super) fn new() -> Self {
        Self([POISON; 1024])
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// A byte that is no default of any field.
const POISON: u8 = 0xA5;

/// Calls `function` and reads what it wrote as a `T`, which must reach exactly as far.
///
/// # Safety
///
/// `function` must return a struct of at most 1024 bytes, and any bytes must be a valid `T`.
unsafe fn returned_struct<T: Copy>(function: ReturnsStruct) -> Result<T> {
    ensure!(cfg!(all(target_arch = "x86_64", unix)), "llama.cpp's libraries can be driven on x86-64 Unix only");
    let size = size_of::<T>();
    let mut room = Room::new();
    // SAFETY: the check above makes `ReturnsStruct` the true convention for a struct that is larger
    // than two registers, and the room is writable, aligned and larger than any struct of libllama.
    unsafe { function(room.as_mut_ptr()) };
    ensure!(room.0[size..].iter().all(|&byte| byte == POISON), "it is larger than the {size} bytes known");
    // SAFETY: `room` is initialised, aligned for any scalar, larger than a `T` (the slice above
    // would have panicked), and the caller vouches that any bytes are a valid `T`.
    Ok(unsafe { (&raw const room).cast::<T>().read() })
}

// The stand-ins below return their structs as x86-64 does.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Sizes counted by hand from the declarations.
    #[test]
    fn sizes_are_those_of_the_c_structs() {
        assert_eq!(size_of::<ModelParams>(), 80);
        assert_eq!(size_of::<ContextParams>(), 160);
        assert_eq!(size_of::<QuantizeParams>(), 64);
        assert_eq!(size_of::<Batch>(), 56);
    }

    /// A stand-in for a library: writes the first eight fields of a model's parameters correctly.
    unsafe extern "C" fn older_layout(room: *mut c_void) -> *mut c_void {
        // SAFETY: the room holds 1024 bytes, aligned to 16.
        unsafe {
            room.cast::<[*const c_void; 10]>().write([NULL; 10]);
            room.cast::<i32>().add(4).write(-1);
            room.cast::<i32>().add(5).write(1);
        }
        room
    }

    /// A stand-in for a library whose struct has grown.
    unsafe extern "C" fn larger_struct(room: *mut c_void) -> *mut c_void {
        // SAFETY: the room holds 1024 bytes.
        unsafe { room.cast::<[u8; 81]>().write([0; 81]) };
        room
    }

    #[test]
    fn another_layout_is_an_error_that_names_the_field() {
        // SAFETY: the stand-ins write at most 81 bytes.
        let (older, larger) = unsafe { (ModelParams::defaults(older_layout), ModelParams::defaults(larger_struct)) };
        assert_eq!(
            older.err().map(|error| error.to_string()).as_deref(),
            Some("the default of load_mode is 0, not -1")
        );
        assert_eq!(
            larger.err().map(|error| error.to_string()).as_deref(),
            Some("it is larger than the 80 bytes known")
        );
    }
}

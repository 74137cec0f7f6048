//! [`IkLlama`]: the libggml of ik_llama.cpp, a fork of llama.cpp with kernels of its own, for single multiplications.
//!
//! The fork has no devices and no registry of functions, one library in place of three, and OpenMP's threads. What `-rtr` of its
//! programs does when a model is loaded, laying weights out anew where there is a type of interleaved rows, is a function.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use anyhow::{Context as _, Result, bail, ensure};
use libloading::os::unix::{RTLD_LOCAL, RTLD_NOW};

use super::abi::{IkFunctions, InitParams};
use super::mul_mat::{F32, Owned, SLACK};
use super::{Operands, open, text};

/// The opened library.
pub(crate) struct IkLlama {
    file: PathBuf,
    functions: IkFunctions,
}

/// A graph and all that it needs.
pub(crate) struct IkMulMat<'l> {
    library: &'l IkLlama,
    graph: NonNull<c_void>,
    /// The last product, `y[m,n]`.
    output: NonNull<c_void>,
    outputs: usize,
    layout: String,
    backend: Owned,
    /// Buffers before the contexts that describe what lies in them.
    _memory: [Owned; 4],
}

impl IkLlama {
    /// Opens `libggml.so` of a folder.
    ///
    /// # Errors
    /// No such library; one that is not the fork's; a processor without what it was compiled for.
    pub(crate) fn load(dir: &Path) -> Result<Self> {
        let file = dir.join("libggml.so");
        let library = open(&file, RTLD_NOW | RTLD_LOCAL)?;
        // SAFETY: `open` never closes a library, and the signatures are those of the fork's ggml.h and ggml-backend.h, which have been
        // ggml's since it has backends; `iqk_repack_tensor` is declared in its iqk_quantize.h.
        let functions = unsafe { IkFunctions::resolve(library) }
            .with_context(|| format!("{}: not ik_llama.cpp", file.display()))?;
        let library = Self { file, functions };
        let [avx2, avx512] = library.instruction_sets();
        let lacks = |name| format!("{}: this processor lacks {name}", library.file.display());
        #[cfg(target_arch = "x86_64")]
        {
            ensure!(!avx2 || is_x86_feature_detected!("avx2"), lacks("AVX2"));
            ensure!(!avx512 || is_x86_feature_detected!("avx512f"), lacks("AVX-512"));
        }
        Ok(library)
    }

    /// The library's file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether it was compiled for AVX2, and for AVX-512.
    pub(crate) fn instruction_sets(&self) -> [bool; 2] {
        let IkFunctions { ggml_cpu_has_avx2, ggml_cpu_has_avx512, .. } = self.functions;
        // SAFETY: they return constants.
        unsafe { [ggml_cpu_has_avx2() != 0, ggml_cpu_has_avx512() != 0] }
    }

    /// Prepares a multiplication. With `repack` the weights are laid out anew: none where the fork has no such layout for this type and
    /// shape.
    ///
    /// # Errors
    /// Operands that are not of this shape; memory that is missing.
    pub(crate) fn mul_mat(&self, operands: &Operands<'_>, repack: bool) -> Result<Option<IkMulMat<'_>>> {
        let &Operands { ty, weights, x, copies, .. } = operands;
        let functions = &self.functions;
        let [n, k, m] = operands.checked_shape()?;
        let size = copies + 1;
        // SAFETY: as in `Llama::mul_mat`: contexts get as much memory as ggml says that what is put in them takes, handles are checked,
        // buffers are freed before their contexts, and data is set with the lengths that the tensors have.
        unsafe {
            let overhead = (functions.ggml_tensor_overhead)();
            let context = |bytes| {
                let params = InitParams { mem_size: bytes + SLACK, mem_buffer: ptr::null_mut(), no_alloc: 1 };
                Owned::new((functions.ggml_init)(params), functions.ggml_free, "a context")
            };
            let allocate = |tensors: &Owned| {
                let buffer_type = (functions.ggml_backend_cpu_buffer_type)();
                let buffer = (functions.ggml_backend_alloc_ctx_tensors_from_buft)(tensors.as_ptr(), buffer_type);
                Owned::new(buffer, functions.ggml_backend_buffer_free, "a buffer")
            };
            let backend = Owned::new((functions.ggml_backend_cpu_init)(), functions.ggml_backend_free, "a backend")?;
            let stored = context(overhead * copies)?;
            let id = ty.id().cast_signed();
            let tensors: Vec<_> =
                (0..copies).map(|_| (functions.ggml_new_tensor_2d)(stored.as_ptr(), id, k, n)).collect();
            ensure!(tensors.iter().all(|tensor| !tensor.is_null()), "ggml cannot describe the weights");
            ensure!((functions.ggml_nbytes)(tensors[0]) == weights.len(), "{ty}: of another size in {}", "ggml");
            let stored_buffer = allocate(&stored)?;
            for &tensor in &tensors {
                (functions.ggml_backend_tensor_set)(tensor, weights.as_ptr().cast(), 0, weights.len());
                if repack {
                    (functions.iqk_repack_tensor)(tensor);
                }
            }
            // The type is the first field of a tensor.
            let layout = *tensors[0].cast::<i32>();
            if repack && layout == id {
                return Ok(None);
            }
            let graph_bytes = (functions.ggml_graph_overhead_custom)(size, false);
            let computed = context(overhead * size + graph_bytes)?;
            let token = (functions.ggml_new_tensor_2d)(computed.as_ptr(), F32, k, m);
            ensure!(!token.is_null(), "ggml cannot describe the tokens");
            let mut products = Vec::with_capacity(copies);
            for tensor in tensors {
                let product = (functions.ggml_mul_mat)(computed.as_ptr(), tensor, token);
                products.push(NonNull::new(product).context("ggml cannot describe the product")?);
            }
            let computed_buffer = allocate(&computed)?;
            ensure!((functions.ggml_nbytes)(token) == size_of_val(x), "ggml's tokens are of another size");
            (functions.ggml_backend_tensor_set)(token, x.as_ptr().cast(), 0, size_of_val(x));
            let graph = (functions.ggml_new_graph_custom)(computed.as_ptr(), size, false);
            let graph = NonNull::new(graph).context("ggml cannot make a graph")?;
            for product in &products {
                (functions.ggml_build_forward_expand)(graph.as_ptr(), product.as_ptr());
            }
            let output = products[copies - 1];
            let outputs = operands.m * operands.n;
            let bytes = (functions.ggml_nbytes)(output.as_ptr());
            ensure!(bytes == outputs * size_of::<f32>(), "ggml's product has {bytes} bytes, not {outputs} floats");
            Ok(Some(IkMulMat {
                library: self,
                graph,
                output,
                outputs,
                layout: text((functions.ggml_type_name)(layout)),
                backend,
                _memory: [stored_buffer, computed_buffer, stored, computed],
            }))
        }
    }
}

impl IkMulMat<'_> {
    /// What the fork calls the layout of the weights, such as `q4_K_r4`.
    pub(crate) fn layout(&self) -> &str {
        &self.layout
    }

    /// Multiplies the tokens by every copy of the weights.
    pub(crate) fn compute(&mut self, threads: usize) -> Result<()> {
        let functions = &self.library.functions;
        // SAFETY: backend and graph are alive, and all of the graph's tensors have their data.
        let status = unsafe {
            (functions.ggml_backend_cpu_set_n_threads)(self.backend.as_ptr(), i32::try_from(threads)?);
            (functions.ggml_backend_graph_compute)(self.backend.as_ptr(), self.graph.as_ptr())
        };
        match status {
            0 => Ok(()),
            code => bail!("ggml cannot multiply: graph_compute returned {code}"),
        }
    }

    /// All of `y[m,n]`, as computed last.
    pub(crate) fn output(&self) -> Vec<f32> {
        let mut y = vec![0.0_f32; self.outputs];
        // SAFETY: the tensor lives in the buffers owned here and has `outputs` floats (checked when it was made).
        unsafe {
            let get = self.library.functions.ggml_backend_tensor_get;
            get(self.output.as_ptr(), y.as_mut_ptr().cast(), 0, size_of_val(&y[..]));
        }
        y
    }
}

//! [`MulMat`]: one multiplication of ggml's, computed as llama.cpp computes those of a model: a graph on the CPU backend, with the
//! weights in its plain buffers or in those of an extra type, which copy them to a layout of their own.

use std::ffi::c_void;
use std::mem;
use std::ptr::{self, NonNull};

use anyhow::{Context as _, Result, bail, ensure};
use keepq_blocks::GgmlType;

use super::abi::{GraphFunctions, InitParams};
use super::threads::{Threads, cpu_device, cpu_function};
use super::{Llama, log, text};

/// `x[m,k] · w[n,k]ᵀ`.
pub(crate) struct Operands<'a> {
    pub(crate) ty: GgmlType,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// n rows of blocks.
    pub(crate) weights: &'a [u8],
    pub(crate) m: usize,
    /// m rows of k.
    pub(crate) x: &'a [f32],
    /// How often the weights lie in memory. The graph multiplies by each copy in turn.
    pub(crate) copies: usize,
}

impl Operands<'_> {
    /// `n`, `k` and `m` as ggml has them.
    ///
    /// # Errors
    /// Weights or tokens that are not of this shape, or nothing to multiply.
    pub(super) fn checked_shape(&self) -> Result<[i64; 3]> {
        let &Self { ty, n, k, weights, m, x, copies } = self;
        ensure!(
            ty.row_bytes(k).and_then(|row| row.checked_mul(n)) == Some(weights.len()),
            "{ty}: {n} rows of {k} are not {} bytes",
            weights.len()
        );
        ensure!(m.checked_mul(k) == Some(x.len()), "{m} tokens of {k} are not {} elements", x.len());
        ensure!(n > 0 && k > 0 && m > 0 && copies > 0, "nothing to multiply");
        Ok([i64::try_from(n)?, i64::try_from(k)?, i64::try_from(m)?])
    }
}

/// A graph and all that it needs but threads.
pub(crate) struct MulMat<'l> {
    llama: &'l Llama,
    functions: GraphFunctions,
    graph: NonNull<c_void>,
    /// The last product, `y[m,n]`.
    output: NonNull<c_void>,
    outputs: usize,
    layout: String,
    backend: Owned,
    /// Buffers before the contexts that describe what lies in them.
    _memory: [Owned; 4],
}

/// The type id of f32.
pub(super) const F32: i32 = GgmlType::F32.id().cast_signed();

/// What graphs and contexts take beyond what ggml counts: alignment.
pub(super) const SLACK: usize = 4096;

impl Llama {
    /// Prepares a multiplication. With `repack` the weights are copied to a layout of the backend's own: none where it has no such
    /// layout for this type and shape.
    ///
    /// # Errors
    ///
    /// Operands that are not of this shape; functions or memory that are missing.
    pub(crate) fn mul_mat(&self, operands: &Operands<'_>, repack: bool) -> Result<Option<MulMat<'_>>> {
        operands.checked_shape()?;
        let device = cpu_device(&self.ggml)?;
        let buffer_types = if repack {
            self.extra_buffer_types(device)?
        } else {
            // SAFETY: the device is the CPU's; its buffer type is static.
            vec![unsafe { (self.graph_functions()?.ggml_backend_dev_buffer_type)(device.as_ptr()) }]
        };
        for buffer_type in buffer_types {
            if let Some(mul_mat) = self.mul_mat_in(operands, device, buffer_type)? {
                return Ok(Some(mul_mat));
            }
        }
        Ok(None)
    }

    fn graph_functions(&self) -> Result<GraphFunctions> {
        // SAFETY: the library stays open, and these functions have kept their signatures since ggml has devices.
        unsafe { GraphFunctions::resolve(self.ggml_library) }
    }

    /// The buffer types in which the CPU backend lays weights out anew.
    fn extra_buffer_types(&self, device: NonNull<c_void>) -> Result<Vec<*mut c_void>> {
        let address = cpu_function(&self.ggml, c"ggml_backend_dev_get_extra_bufts")?;
        let mut types = Vec::new();
        // SAFETY: the address is that of a function with this signature (`ggml_backend_dev_get_extra_bufts_t`), which returns a
        // static array whose last element is null, or null.
        unsafe {
            let list = mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*const c_void) -> *const *mut c_void>(
                address,
            )(device.as_ptr());
            while !list.is_null() && !(*list.add(types.len())).is_null() {
                types.push(*list.add(types.len()));
            }
        }
        Ok(types)
    }

    /// With the weights in buffers of this type; none where that type does not multiply such weights.
    fn mul_mat_in(
        &self,
        operands: &Operands<'_>,
        device: NonNull<c_void>,
        buffer_type: *mut c_void,
    ) -> Result<Option<MulMat<'_>>> {
        let &Operands { ty, weights, x, copies, .. } = operands;
        let functions = self.graph_functions()?;
        let [n, k, m] = operands.checked_shape()?;
        // Nodes are the products; leaves the weights and the tokens.
        let size = copies + 1;
        // SAFETY: contexts get as much memory as ggml says that the tensors and the graph put in them take; handles are checked
        // for null before they are used; buffers are asked for while their contexts live, and `Owned` frees them before. Data is
        // set after the tensors got their buffers, as many bytes as the tensor has (checked), which `weights` and `x` have.
        unsafe {
            let overhead = (functions.ggml_tensor_overhead)();
            let backend = Owned::new(
                (functions.ggml_backend_dev_init)(device.as_ptr(), ptr::null()),
                functions.ggml_backend_free,
                "a backend",
            )?;
            let stored = context(&functions, overhead * copies)?;
            let tensors: Vec<_> = (0..copies)
                .map(|_| (functions.ggml_new_tensor_2d)(stored.as_ptr(), ty.id().cast_signed(), k, n))
                .collect();
            ensure!(tensors.iter().all(|tensor| !tensor.is_null()), "ggml cannot describe the weights");
            let bytes = (functions.ggml_nbytes)(tensors[0]);
            ensure!(bytes == weights.len(), "{ty}: {n} rows of {k} are {bytes} bytes in ggml, not {}", weights.len());
            let stored_buffer = allocate(&functions, &stored, buffer_type)?;

            let graph_bytes = (functions.ggml_graph_overhead_custom)(size, false);
            let computed = context(&functions, overhead * size + graph_bytes)?;
            let token = (functions.ggml_new_tensor_2d)(computed.as_ptr(), F32, k, m);
            ensure!(!token.is_null(), "ggml cannot describe the tokens");
            let mut products = Vec::with_capacity(copies);
            for tensor in &tensors {
                let product = (functions.ggml_mul_mat)(computed.as_ptr(), *tensor, token);
                products.push(NonNull::new(product).context("ggml cannot describe the product")?);
            }
            if !(functions.ggml_backend_dev_supports_op)(device.as_ptr(), products[0].as_ptr()) {
                return Ok(None);
            }
            let plain = (functions.ggml_backend_dev_buffer_type)(device.as_ptr());
            let computed_buffer = allocate(&functions, &computed, plain)?;
            for tensor in tensors {
                (functions.ggml_backend_tensor_set)(tensor, weights.as_ptr().cast(), 0, weights.len());
            }
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
            Ok(Some(MulMat {
                llama: self,
                graph,
                output,
                outputs,
                layout: text((functions.ggml_backend_buft_name)(buffer_type)),
                backend,
                _memory: [stored_buffer, computed_buffer, stored, computed],
                functions,
            }))
        }
    }
}

impl<'l> MulMat<'l> {
    /// What ggml calls the place of the weights, such as `CPU_REPACK`.
    pub(crate) fn layout(&self) -> &str {
        &self.layout
    }

    /// Starts `n` threads that compute it.
    pub(crate) fn start(&mut self, n: usize) -> Result<Running<'_, 'l>> {
        Running::new(self, n)
    }

    /// The elements of `y[m,n]` from `first` on, as computed last.
    pub(crate) fn output(&self, first: usize, count: usize) -> Result<Vec<f32>> {
        ensure!(
            first.checked_add(count).is_some_and(|end| end <= self.outputs),
            "elements {first} and {count} more of {}",
            self.outputs
        );
        let mut y = vec![0.0_f32; count];
        let float = size_of::<f32>();
        // SAFETY: the tensor lives in the buffers owned here and has `outputs` floats, of which these are some (checked above).
        unsafe {
            let get = self.functions.ggml_backend_tensor_get;
            get(self.output.as_ptr(), y.as_mut_ptr().cast(), first * float, count * float);
        }
        Ok(y)
    }
}

/// A multiplication with threads that wait for it: while this lives they may spin.
pub(crate) struct Running<'r, 'l> {
    mul_mat: &'r mut MulMat<'l>,
    set_threads: SetThreads,
    _threads: Threads,
}

/// `ggml_backend_cpu_set_threadpool`.
type SetThreads = unsafe extern "C" fn(*mut c_void, *mut c_void);

impl<'r, 'l> Running<'r, 'l> {
    fn new(mul_mat: &'r mut MulMat<'l>, n: usize) -> Result<Self> {
        let n = i32::try_from(n)?;
        let ggml = &mul_mat.llama.ggml;
        let threads = Threads::new(ggml, n)?;
        let set_count = cpu_function(ggml, c"ggml_backend_set_n_threads")?;
        let set_threads = cpu_function(ggml, c"ggml_backend_cpu_set_threadpool")?;
        // SAFETY: the addresses are those of functions with these signatures in ggml-backend.h and ggml-cpu.h. The backend is a
        // CPU backend, alive; the pool is taken from it again (`drop`) before it is freed.
        let set_threads = unsafe {
            let set_threads = mem::transmute::<NonNull<c_void>, SetThreads>(set_threads);
            mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_void, i32)>(set_count)(
                mul_mat.backend.as_ptr(),
                n,
            );
            set_threads(mul_mat.backend.as_ptr(), threads.as_ptr());
            set_threads
        };
        Ok(Self { mul_mat, set_threads, _threads: threads })
    }

    /// Multiplies the tokens by every copy of the weights.
    pub(crate) fn compute(&mut self) -> Result<()> {
        let MulMat { functions, backend, graph, .. } = &*self.mul_mat;
        // SAFETY: backend and graph are alive, and all of the graph's tensors have their data.
        match unsafe { (functions.ggml_backend_graph_compute)(backend.as_ptr(), graph.as_ptr()) } {
            0 => Ok(()),
            code => bail!("ggml cannot multiply: {}", log::take_errors(&format!("graph_compute returned {code}"))),
        }
    }
}

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: as in `new`; the backend pauses the pool, which is freed after this.
        unsafe { (self.set_threads)(self.mul_mat.backend.as_ptr(), ptr::null_mut()) }
    }
}

/// Something of ggml's that is freed at the end.
pub(super) struct Owned {
    handle: NonNull<c_void>,
    free: unsafe extern "C" fn(*mut c_void),
}

impl Owned {
    /// # Safety
    ///
    /// `handle` is null or what `free` frees, and nobody else does.
    pub(super) unsafe fn new(handle: *mut c_void, free: unsafe extern "C" fn(*mut c_void), what: &str) -> Result<Self> {
        let handle = NonNull::new(handle)
            .with_context(|| format!("ggml cannot make {what}: {}", log::take_errors("no reason given")))?;
        Ok(Self { handle, free })
    }

    pub(super) fn as_ptr(&self) -> *mut c_void {
        self.handle.as_ptr()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: as `new` was promised.
        unsafe { (self.free)(self.handle.as_ptr()) }
    }
}

/// A context for descriptions of `bytes` bytes.
///
/// # Safety
///
/// The functions are ggml's.
unsafe fn context(functions: &GraphFunctions, bytes: usize) -> Result<Owned> {
    let params = InitParams { mem_size: bytes + SLACK, mem_buffer: ptr::null_mut(), no_alloc: 1 };
    // SAFETY: the caller's promise; ggml takes the memory itself where it is given none.
    unsafe { Owned::new((functions.ggml_init)(params), functions.ggml_free, "a context") }
}

/// Memory of a type for all tensors of a context.
///
/// # Safety
///
/// The functions are ggml's; the type is one of its buffer types.
unsafe fn allocate(functions: &GraphFunctions, tensors: &Owned, buffer_type: *mut c_void) -> Result<Owned> {
    // SAFETY: the caller's promise; the context is alive.
    unsafe {
        let buffer = (functions.ggml_backend_alloc_ctx_tensors_from_buft)(tensors.as_ptr(), buffer_type);
        Owned::new(buffer, functions.ggml_backend_buffer_free, "a buffer")
    }
}

//! Threads that stay from one graph to the next.
//!
//! Left to itself a build without OpenMP starts and ends threads for every graph, which is every token. llama.cpp's own
//! programs attach a pool instead, so whoever measures it must do the same.

use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::ptr::NonNull;

use anyhow::{Context as _, Result};

use super::abi::{DEVICE_TYPE_CPU, GgmlFunctions, Room};

/// A pool of threads; it must outlive the contexts it is attached to.
pub(super) struct Threads {
    handle: NonNull<c_void>,
    free: unsafe extern "C" fn(*mut c_void),
}

impl Threads {
    /// `n` threads, the caller's among them, with ggml's default way to wait for work.
    pub(super) fn new(ggml: &GgmlFunctions, n: c_int) -> Result<Self> {
        let (new, free) = (cpu_function(ggml, c"ggml_threadpool_new")?, cpu_function(ggml, c"ggml_threadpool_free")?);
        // SAFETY: the addresses are those of functions with these signatures in ggml-cpu.h, and a pointer to code has the
        // size of one to data where shared libraries are opened.
        let (new, free) = unsafe {
            (
                mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(new),
                mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_void)>(free),
            )
        };
        let mut params = Room::new();
        // SAFETY: the struct is 512 flags and a few numbers, so the room is larger; it is filled before it is read, and only
        // while these calls last.
        let handle = unsafe {
            (ggml.ggml_threadpool_params_init)(params.as_mut_ptr(), n);
            new(params.as_mut_ptr())
        };
        let handle = NonNull::new(handle).context("llama.cpp cannot start its threads")?;
        Ok(Self { handle, free })
    }

    pub(super) fn as_ptr(&self) -> *mut c_void {
        self.handle.as_ptr()
    }
}

/// The device of the CPU backend, which is static.
pub(super) fn cpu_device(ggml: &GgmlFunctions) -> Result<NonNull<c_void>> {
    // SAFETY: the registry is filled when a backend has been loaded.
    let device = unsafe { (ggml.ggml_backend_dev_by_type)(DEVICE_TYPE_CPU) };
    NonNull::new(device.cast_mut()).context("llama.cpp has no CPU backend")
}

/// The address of a function that the CPU backend tells by name.
pub(super) fn cpu_function(ggml: &GgmlFunctions, name: &CStr) -> Result<NonNull<c_void>> {
    let device = cpu_device(ggml)?;
    // SAFETY: the device and its registry are those of a loaded backend, the name a C string.
    let address = unsafe {
        let registry = (ggml.ggml_backend_dev_backend_reg)(device.as_ptr());
        (ggml.ggml_backend_reg_get_proc_address)(registry, name.as_ptr())
    };
    NonNull::new(address).with_context(|| format!("the CPU backend has no function {}", name.to_string_lossy()))
}

impl Drop for Threads {
    fn drop(&mut self) {
        // SAFETY: the handle is owned, and no context that it is attached to is left.
        unsafe { (self.free)(self.handle.as_ptr()) }
    }
}

//! llama.cpp's messages: kept quiet, and its errors kept for our own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use super::abi::LOG_LEVEL_ERROR;

/// The lines at level error since the last [`take_errors`].
static ERRORS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The callback to register with `llama_log_set`: drops everything but errors.
///
/// # Safety
///
/// `text` must be null or a C string.
pub(super) unsafe extern "C" fn keep_errors(level: c_int, text: *const c_char, _: *mut c_void) {
    if level != LOG_LEVEL_ERROR || text.is_null() {
        return;
    }
    // SAFETY: not null, and the caller vouches for a C string.
    let line = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let mut errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    errors.extend(line.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned));
}

/// What llama.cpp has complained of since the last call, in one line; `otherwise` if it was silent.
pub(super) fn take_errors(otherwise: &str) -> String {
    let errors = std::mem::take(&mut *ERRORS.lock().unwrap_or_else(PoisonError::into_inner));
    if errors.is_empty() { otherwise.to_owned() } else { errors.join("; ") }
}

//! [`Progress`]: what long work without a count says meanwhile.

use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// A spinner on standard error that says what is being done.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Result<Self> {
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")?;
        let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Ok(Self(bar))
    }

    pub(crate) fn say(&self, message: impl Into<String>) {
        self.0.set_message(message.into());
    }
}

//! [`Settings`]: which kernels run, on how many threads, and how weights are held.

use std::fmt;

use keepq_gemm::{
    Driver, Executor, ExecutorError, Residency, ResidencyError, default_executor, executor_from_env, threads_from_env,
};
use keepq_simd::{Tier, TierError};

/// Everything about a run that is not in the file.
pub struct Settings {
    tier: Tier,
    executor: Box<dyn Executor>,
    residency: Residency,
}

impl Settings {
    /// A tier, a number of threads (1 never starts a pool), and how weights are held.
    ///
    /// # Errors
    /// [`SettingsError::Executor`] where the threads cannot be had.
    pub fn new(tier: Tier, threads: usize, residency: Residency) -> Result<Self, SettingsError> {
        Ok(Self::with_executor(tier, default_executor(threads)?, residency))
    }

    /// [`new`](Self::new) with any executor.
    #[must_use]
    pub fn with_executor(tier: Tier, executor: Box<dyn Executor>, residency: Residency) -> Self {
        // The reference is portable throughout, not in its matrix products alone.
        let tier = if residency == Residency::Reference { Tier::PORTABLE } else { tier };
        Self { tier, executor, residency }
    }

    /// What the environment asks for: `KEEPQ_TIER`, `KEEPQ_AMX`, `KEEPQ_THREADS`, `KEEPQ_EXECUTOR`, `KEEPQ_KEEP_QUANT`, `KEEPQ_CPU_REF`.
    ///
    /// # Errors
    /// [`SettingsError`] naming the variable that cannot be followed.
    pub fn from_env() -> Result<Self, SettingsError> {
        let executor = executor_from_env(threads_from_env()?)?;
        Ok(Self::with_executor(Tier::from_env()?, executor, Residency::from_env()?))
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> Driver<'_> {
        Driver::new(self.tier, &*self.executor)
    }

    /// How weights are held.
    #[must_use]
    pub const fn residency(&self) -> Residency {
        self.residency
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("driver", &self.driver()).field("residency", &self.residency).finish()
    }
}

/// A setting that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsError {
    /// The tier.
    Tier(TierError),
    /// The threads.
    Executor(ExecutorError),
    /// How weights are held.
    Residency(ResidencyError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(error) => error.fmt(f),
            Self::Executor(error) => error.fmt(f),
            Self::Residency(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SettingsError {}

impl From<TierError> for SettingsError {
    fn from(error: TierError) -> Self {
        Self::Tier(error)
    }
}

impl From<ExecutorError> for SettingsError {
    fn from(error: ExecutorError) -> Self {
        Self::Executor(error)
    }
}

impl From<ResidencyError> for SettingsError {
    fn from(error: ResidencyError) -> Self {
        Self::Residency(error)
    }
}

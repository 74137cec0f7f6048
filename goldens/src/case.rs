//! [`Case`]: a golden with everything that is needed to make it again.

use std::fmt;

use keepq_gemm::{Executor, Rayon, Serial};
use keepq_simd::Tier;

use crate::Output;
use crate::foreign::ForeignInput;

/// A golden: a name, and two ways to come by the same bytes.
pub struct Case {
    name: String,
    golden: Box<dyn Golden>,
}

/// Who says what the golden of a case is: never the crates that it tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blessing {
    /// The naive implementation, whose result this is.
    Naive(Output),
    /// ggml, whose answer to [`Case::foreign`] is stored: bytes that a search finds, of which there is no naive
    /// implementation.
    Ggml,
}

/// What a family of cases implements.
pub(crate) trait Golden: Send + Sync {
    /// By the project's crates.
    fn run(&self, runner: &Runner) -> Output;

    /// By the naive implementation, or by ggml.
    fn bless(&self) -> Blessing;

    /// The same question, put to ggml; none where it has no such function, or C does not define its answer.
    fn foreign(&self) -> Option<ForeignInput<'_>> {
        None
    }
}

/// Who runs a case.
pub(crate) struct Runner {
    pub(crate) tier: Tier,
    pub(crate) executor: Box<dyn Executor>,
}

impl Case {
    pub(crate) fn new(name: String, golden: impl Golden + 'static) -> Self {
        Self { name, golden: Box::new(golden) }
    }

    /// The name: `family/type/what`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The result of the project's crates, on this tier and with so many threads.
    ///
    /// # Panics
    /// Where the crates refuse the case's inputs, or the threads cannot be started.
    #[must_use]
    pub fn run(&self, tier: Tier, threads: usize) -> Output {
        let executor: Box<dyn Executor> = match threads {
            1 => Box::new(Serial),
            _ => Box::new(Rayon::new(threads).expect("threads can be started")),
        };
        self.golden.run(&Runner { tier, executor })
    }

    /// The result of the naive implementation, which defines the golden; or that ggml does.
    #[must_use]
    pub fn bless(&self) -> Blessing {
        self.golden.bless()
    }

    /// The same question, put to ggml.
    #[must_use]
    pub fn foreign(&self) -> Option<ForeignInput<'_>> {
        self.golden.foreign()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("name", &self.name).finish_non_exhaustive()
    }
}

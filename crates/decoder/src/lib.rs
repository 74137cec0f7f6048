//! **Invariant: small and plain; no kernel of its own.**
//!
//! A decoder-only transformer on keepq: the first consumer of the other crates, and the example that authors of
//! inference engines read first. It runs the architectures of [`Architecture::ALL`], all by one forward pass. Nothing is
//! expanded or copied at load: a [`Model`] is borrowed views into the mapped file, and a [`Session`] adds a key-value cache
//! and some buffers.
//!
//! Read it in this order: [`Settings`] (who runs it), [`Architecture`] and [`Config`] (what is to be run), [`Model`] (what
//! the file holds), [`Session`] (one forward pass), [`generate`].
//!
//! ```no_run
//! use keepq_decoder::tokenizer::{Special, Tokenizer};
//! use keepq_decoder::{Model, Sampler, Session, Settings, generate};
//! use keepq_gguf::Source;
//!
//! let source = Source::map("model.gguf")?;
//! let gguf = source.parse()?;
//! let tokenizer = Tokenizer::from_gguf(&gguf)?;
//! let settings = Settings::from_env()?;
//! let model = Model::load(&gguf, settings.residency())?;
//!
//! let mut session = Session::new(&model, settings.driver(), 512)?;
//! let prompt = tokenizer.encode("The capital of France is", Special::Parse)?;
//! let ids = generate(&mut session, &mut Sampler::greedy(), &prompt, 32, |id| !tokenizer.is_end_of_generation(id))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod architecture;
mod buffers;
mod cache;
mod checkpoint;
mod config;
mod error;
mod generate;
mod keys;
mod layers;
mod model;
mod profile;
mod sampler;
mod session;
mod settings;
mod tensors;
pub mod tokenizer;
mod weights;

pub use architecture::{Activation, Architecture};
pub use checkpoint::{checkpoint_config, checkpoint_name, select_path};
pub use config::{Config, Experts, Local, Rope};
pub use error::{ModelError, SessionError};
pub use generate::generate;
pub use model::{Conversion, Expansion, LoadReport, Model};
pub use profile::Profile;
pub use sampler::{Sampler, argmax};
pub use session::{Logits, Session};
pub use settings::{Settings, SettingsError};

//! Loading and running models: a tiny one, written here, whole and damaged.

mod architectures;
mod checkpoints;
mod load;
mod session;
mod tiny;

//! The commands, one file each.

pub(crate) mod excuse;
pub(crate) mod forced_logits;

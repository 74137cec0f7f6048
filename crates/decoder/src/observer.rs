//! [`Site`]: where a session can be watched, for those who want to know what weights are multiplied by.

use std::fmt;

/// Activations that weights are multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Site {
    /// Those that queries, keys and values of a layer are made of.
    Attention(usize),
    /// The attended values of all heads of a layer.
    AttentionOutput(usize),
    /// Those that gate and up of a layer are made of.
    FeedForward(usize),
    /// What down of a layer takes; where there are experts, it is not told.
    Down(usize),
}

/// Whom a session tells of activations, a row a token.
type Told<'m> = Box<dyn FnMut(Site, &[f32]) + Send + 'm>;

/// Someone who is told, or nobody.
pub(crate) struct Observer<'m>(pub(crate) Option<Told<'m>>);

impl Observer<'_> {
    pub(crate) fn sees(&mut self, site: Site, activations: &[f32]) {
        if let Some(observer) = &mut self.0 {
            observer(site, activations);
        }
    }
}

impl fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Observer" } else { "no observer" })
    }
}

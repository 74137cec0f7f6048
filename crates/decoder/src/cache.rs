//! The key-value cache: binary16, in the blocks that attention reads, layer by layer.

use keepq_blocks::F16;
use keepq_dot::rows::{KvHead, KvLayout};
use keepq_simd::Tier;

use crate::Config;

/// Keys and values of all positions so far.
#[derive(Debug)]
pub(crate) struct Cache {
    layout: KvLayout,
    layers: Vec<LayerCache>,
    capacity: usize,
    positions: usize,
}

#[derive(Debug)]
struct LayerCache {
    keys: Vec<F16>,
    values: Vec<F16>,
}

impl Cache {
    /// Room for `capacity` positions. Memory is reserved, and becomes resident as positions are added; `None` where there
    /// is not so much.
    pub(crate) fn new(config: &Config, capacity: usize) -> Option<Self> {
        let layout = KvLayout { heads: config.kv_heads, head: config.head };
        let elements = layout.elements(capacity)?;
        let reserve = || {
            let mut blocks = Vec::new();
            blocks.try_reserve_exact(elements).ok().map(|()| blocks)
        };
        let layer = |_| Some(LayerCache { keys: reserve()?, values: reserve()? });
        let layers = (0..config.layers).map(layer).collect::<Option<_>>()?;
        Some(Self { layout, layers, capacity, positions: 0 })
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Positions that all layers hold.
    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    /// The keys and values of one head of a layer.
    pub(crate) fn head(&self, layer: usize, head: usize) -> KvHead<'_> {
        let LayerCache { keys, values } = &self.layers[layer];
        KvHead { layout: self.layout, head, keys, values }
    }

    /// Adds keys and values of further positions, rows of all heads, to one layer.
    pub(crate) fn extend(&mut self, tier: Tier, layer: usize, keys: &[f32], values: &[f32]) {
        let (layout, first) = (self.layout, self.positions);
        let positions = first + keys.len() / (layout.heads * layout.head);
        let layer = &mut self.layers[layer];
        // Within what was reserved.
        let elements = layout.elements(positions).expect("no more than the capacity takes");
        for blocks in [&mut layer.keys, &mut layer.values] {
            blocks.resize(elements, F16::default());
        }
        tier.store_keys(layout, first, keys, &mut layer.keys);
        tier.store_values(layout, first, values, &mut layer.values);
    }

    /// All layers hold `positions` now; what a failed pass left behind them goes.
    pub(crate) fn truncate(&mut self, positions: usize) {
        let elements = self.layout.elements(positions).expect("no more than the capacity takes");
        for layer in &mut self.layers {
            layer.keys.truncate(elements);
            layer.values.truncate(elements);
        }
        self.positions = positions;
    }

    /// Bytes that the blocks of the positions so far take.
    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(|layer| size_of_val(&layer.keys[..]) + size_of_val(&layer.values[..])).sum()
    }
}

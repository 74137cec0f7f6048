//! The key-value cache: binary16, a row a position, layer by layer.

use keepq_blocks::F16;

use crate::Config;

/// Keys and values of all positions so far.
#[derive(Debug)]
pub(crate) struct Cache {
    layers: Vec<LayerCache>,
    capacity: usize,
    positions: usize,
}

#[derive(Debug)]
pub(crate) struct LayerCache {
    pub keys: Vec<F16>,
    pub values: Vec<F16>,
}

impl Cache {
    /// Room for `capacity` positions. Memory is reserved, and becomes resident as positions are added; `None` where there
    /// is not so much.
    pub(crate) fn new(config: &Config, capacity: usize) -> Option<Self> {
        let elements = capacity.checked_mul(config.kv_width())?;
        let reserve = || {
            let mut rows = Vec::new();
            rows.try_reserve_exact(elements).ok().map(|()| rows)
        };
        let layer = |_| Some(LayerCache { keys: reserve()?, values: reserve()? });
        let layers = (0..config.layers).map(layer).collect::<Option<_>>()?;
        Some(Self { layers, capacity, positions: 0 })
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Positions that all layers hold.
    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    pub(crate) fn layer(&self, i: usize) -> &LayerCache {
        &self.layers[i]
    }

    /// Adds keys and values of further positions to one layer.
    pub(crate) fn extend(&mut self, layer: usize, keys: &[f32], values: &[f32]) {
        let layer = &mut self.layers[layer];
        layer.keys.extend(keys.iter().map(|&v| F16::from_f32(v)));
        layer.values.extend(values.iter().map(|&v| F16::from_f32(v)));
    }

    /// All layers hold `positions` now; what a failed pass left behind them goes.
    pub(crate) fn truncate(&mut self, positions: usize, width: usize) {
        for layer in &mut self.layers {
            layer.keys.truncate(positions * width);
            layer.values.truncate(positions * width);
        }
        self.positions = positions;
    }

    /// Bytes that the positions so far take.
    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(|layer| size_of_val(&layer.keys[..]) + size_of_val(&layer.values[..])).sum()
    }
}

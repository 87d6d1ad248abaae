//! The order of the items: public, the same at every party and in the float reference.

/// Draws an epoch's order from a public seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The seed; it need not be secret.
    pub seed: u64,
    /// How many items there are.
    pub items: usize,
    /// Items of a mini-batch; the last of an epoch may have fewer.
    pub batch: usize,
}

impl Order {
    /// Mini-batches of an epoch.
    pub fn batches(&self) -> usize {
        self.items.div_ceil(self.batch.max(1))
    }

    /// The items of every mini-batch of an epoch: a shuffle by Fisher and Yates.
    pub fn epoch(&self, epoch: usize) -> Vec<Vec<u32>> {
        let mut state = self.seed ^ (epoch as u64).wrapping_mul(0xd134_2543_de82_ef95);
        let mut items: Vec<u32> = (0..self.items as u32).collect();
        for i in (1..items.len()).rev() {
            let other = (u128::from(splitmix(&mut state)) * (i as u128 + 1)) >> 64;
            items.swap(i, other as usize);
        }
        items
            .chunks(self.batch.max(1))
            .map(<[u32]>::to_vec)
            .collect()
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Numbers of `[0, 1)` from a public seed: for starting weights that everybody may know.
pub fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || (splitmix(&mut state) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_once_in_every_epoch() {
        let order = Order {
            seed: 5,
            items: 1000,
            batch: 128,
        };
        let first = order.epoch(0);
        assert_eq!((first.len(), first[7].len()), (order.batches(), 104));
        let mut all = first.concat();
        assert_ne!(all, order.epoch(1).concat());
        assert_eq!(all, order.epoch(0).concat());
        assert!(all[..500].iter().filter(|i| **i >= 500).count() > 200);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1000));
    }
}

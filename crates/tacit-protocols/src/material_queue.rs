//! Material in store, in the order in which a plan's calls consume it. What is left of it is wiped.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroize;

/// Prepared material `M`, each with what it is for.
pub(crate) struct MaterialQueue<W, M> {
    queue: VecDeque<(W, M)>,
    /// What wipes one: a queue is dropped without knowing more of `M`.
    wipe: fn(&mut M),
}

impl<W, M: Zeroize> MaterialQueue<W, M> {
    /// A queue without material.
    pub fn new() -> Self {
        MaterialQueue {
            queue: VecDeque::new(),
            wipe: M::zeroize,
        }
    }
}

impl<W, M> Deref for MaterialQueue<W, M> {
    type Target = VecDeque<(W, M)>;

    fn deref(&self) -> &Self::Target {
        &self.queue
    }
}

impl<W, M> DerefMut for MaterialQueue<W, M> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.queue
    }
}

/// Wipes what was not consumed: after a service's last request, or after cheating.
impl<W, M> Drop for MaterialQueue<W, M> {
    fn drop(&mut self) {
        for (_, material) in &mut self.queue {
            (self.wipe)(material);
        }
    }
}

#[cfg(test)]
mod tests {
    use tacit_algebra::{Bits, Buffer};
    #[cfg(target_os = "linux")]
    use tacit_net::testing::remains::Secrets;

    use super::*;

    #[derive(Zeroize)]
    struct Material {
        words: Buffer<u64>,
        bits: Bits,
    }

    /// Words that no other memory has, and the first of them in bytes.
    fn unlike(seed: u64) -> Vec<u64> {
        let word = |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51;
        (1..200).map(word).collect()
    }

    /// What is left in a queue is wiped with it, also where two of it share their memory; what was taken out
    /// is its taker's.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_left_is_wiped() {
        let mut secrets = Secrets::default();
        let mut queue = MaterialQueue::<(), Material>::new();
        for seed in [1 << 40, 2 << 40] {
            let words: Buffer<u64> = unlike(seed).into();
            for range in [0..100, 100..199] {
                secrets.add(bytemuck::cast_slice(&words[range.start..range.start + 4]));
                let bits = Bits::zeros(64);
                let words = words.part(range);
                queue.push_back(((), Material { words, bits }));
            }
        }
        let (_, taken) = queue.pop_front().expect("the first");
        assert!(secrets.remains().iter().all(|&count| count > 0));
        drop(queue);
        let after = secrets.remains();
        assert!(
            after[0] > 0 && after[1] > 0,
            "memory that is in use: {after:?}"
        );
        assert_eq!(after[2..], [0, 0]);
        assert_eq!(taken.words.len() + taken.bits.len(), 164);
    }
}

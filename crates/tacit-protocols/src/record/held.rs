//! How many elements the shares of a program have at once: those of each count until its last copy is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The elements that all shares have.
#[derive(Debug, Default)]
pub(super) struct Level {
    now: AtomicU64,
    /// The most since the last question.
    most: AtomicU64,
}

impl Level {
    /// Counts `n` elements more, until what is returned is dropped.
    pub fn hold(self: &Arc<Self>, n: u64) -> Arc<Held> {
        let now = self.now.fetch_add(n, Relaxed) + n;
        self.most.fetch_max(now, Relaxed);
        let level = self.clone();
        Arc::new(Held { n, level })
    }

    /// The most elements since this was asked before.
    pub fn most(&self) -> u64 {
        self.most.swap(self.now.load(Relaxed), Relaxed)
    }
}

/// Elements in memory, which shares and parts of it have in common.
#[derive(Debug)]
pub(super) struct Held {
    n: u64,
    level: Arc<Level>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.level.now.fetch_sub(self.n, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use crate::Error;
    use crate::machine::{KeyBits, Machine};
    use crate::record::stages_of;

    /// Copies and parts count once, results by themselves, and nothing that is gone.
    #[test]
    fn shares_count_while_they_live() {
        let stages = stages_of::<_, Error>(64, |machine| {
            machine.layer("input")?;
            let x = machine.input(0, 100, None)?;
            let part = machine.slice(&x, 0..10);
            let copy = x.clone();
            machine.layer("sum")?;
            let y = machine.add(&x, &copy);
            drop((x, copy, y));
            machine.layer("part")?;
            let positive = machine.relu(&part, KeyBits::ALL)?;
            drop(part);
            machine.layer("result")?;
            Ok(positive)
        });
        let held = stages
            .expect("recorded")
            .into_iter()
            .map(|stage| stage.held);
        assert_eq!(held.collect::<Vec<_>>(), [100, 200, 110, 10]);
    }
}

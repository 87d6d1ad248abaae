//! What a program takes, counted without running it.

use tacit_protocols::Cost;

use crate::ot::Demand;

/// What a program takes: bytes and hops online, and OTs to be made before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Hops and bytes sent by each party.
    pub online: Cost,
    /// Random OTs that each party sends.
    pub ots: [Demand; 2],
}

impl Tally {
    /// What `steps` times the difference to `more` are beyond this, at the same hops.
    pub fn extrapolated(&self, more: &Tally, steps: usize) -> Tally {
        assert_eq!(self.online.rounds, more.online.rounds);
        let along = |a: usize, b: usize| a + (b - a) * steps;
        let bytes = self.online.bytes.iter().zip(&more.online.bytes);
        Tally {
            online: Cost {
                rounds: self.online.rounds,
                bytes: bytes
                    .map(|(&a, &b)| along(a as usize, b as usize) as u64)
                    .collect(),
            },
            ots: [0, 1].map(|i| self.ots[i].with(more.ots[i], along)),
        }
    }
}

/// Counts messages as the meters do: a message's hop is one more than its sender has seen.
#[derive(Default)]
pub(super) struct Counter {
    seen: [u32; 2],
    bytes: [u64; 2],
    ots: [Demand; 2],
}

impl Counter {
    pub fn tally(&self) -> Tally {
        Tally {
            online: Cost {
                rounds: self.seen[0].max(self.seen[1]),
                bytes: self.bytes.to_vec(),
            },
            ots: self.ots,
        }
    }

    /// 1-of-2^m OTs that party `sender` sends, `m = index_bits`.
    pub fn ots(&mut self, sender: usize, index_bits: u32, n: usize) {
        self.ots[sender] += Demand::of(index_bits, n);
    }

    /// Messages of both parties at once, by sender: `None` where there is none.
    pub fn exchange(&mut self, bytes: [Option<usize>; 2]) {
        let before = self.seen;
        for (from, bytes) in bytes.into_iter().enumerate() {
            if let Some(bytes) = bytes {
                self.bytes[from] += bytes as u64;
                self.seen[1 - from] = self.seen[1 - from].max(before[from] + 1);
            }
        }
    }
}

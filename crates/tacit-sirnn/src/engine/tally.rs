//! What a program takes, counted without running it.

use tacit_protocols::Cost;

use crate::ot::Demand;

/// The longest causal paths through a program, in hops: from the beginning of each party to the end
/// of each; none where no message makes one. A party may begin where the other is still waiting, so
/// two programs in a row can take fewer hops than their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths([[Option<u32>; 2]; 2]);

impl Default for Paths {
    fn default() -> Self {
        Paths([[Some(0), None], [None, Some(0)]])
    }
}

impl Paths {
    /// The longest of all.
    pub fn hops(&self) -> u32 {
        self.0
            .iter()
            .flatten()
            .flatten()
            .copied()
            .max()
            .unwrap_or(0)
    }

    /// The paths through this program and then the next.
    pub fn then(&self, next: &Paths) -> Paths {
        let through = |to: usize, from: usize| {
            let by = |middle: usize| Some(self.0[middle][from]? + next.0[to][middle]?);
            by(0).max(by(1))
        };
        Paths([0, 1].map(|to| [0, 1].map(|from| through(to, from))))
    }

    /// Messages at once to the parties marked.
    fn exchange(&self, to: [bool; 2]) -> Paths {
        let mut step = Paths::default();
        for (party, _) in to.into_iter().enumerate().filter(|(_, hears)| *hears) {
            step.0[party][1 - party] = Some(1);
        }
        self.then(&step)
    }
}

/// What a program takes: bytes and hops online, and OTs to be made before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Hops and bytes sent by each party.
    pub online: Cost,
    /// The paths whose longest is the hops.
    pub paths: Paths,
    /// Random OTs that each party sends.
    pub ots: [Demand; 2],
}

impl Tally {
    /// What this program and then the next take.
    pub fn then(&self, next: &Tally) -> Tally {
        let paths = self.paths.then(&next.paths);
        let mut online = self.online.clone() + &next.online;
        online.rounds = paths.hops();
        let mut ots = self.ots;
        ots.iter_mut()
            .zip(next.ots)
            .for_each(|(sum, more)| *sum += more);
        Tally { online, paths, ots }
    }

    /// This cost and that of `steps` further steps, each as large as the difference between `more`
    /// and this one, at the same hops.
    pub fn extrapolated(&self, more: &Tally, steps: usize) -> Tally {
        assert_eq!(self.paths, more.paths);
        let along = |a: usize, b: usize| a + (b - a) * steps;
        let bytes = self.online.bytes.iter().zip(&more.online.bytes);
        Tally {
            online: Cost {
                rounds: self.online.rounds,
                bytes: bytes
                    .map(|(&a, &b)| along(a as usize, b as usize) as u64)
                    .collect(),
            },
            paths: self.paths,
            ots: [0, 1].map(|i| self.ots[i].with(more.ots[i], along)),
        }
    }
}

/// Counts messages as the meters do: a message's hop is one more than its sender has seen.
#[derive(Default)]
pub(super) struct Counter {
    paths: Paths,
    bytes: [u64; 2],
    ots: [Demand; 2],
}

impl Counter {
    pub fn tally(&self) -> Tally {
        Tally {
            online: Cost {
                rounds: self.paths.hops(),
                bytes: self.bytes.to_vec(),
            },
            paths: self.paths,
            ots: self.ots,
        }
    }

    /// 1-of-2^m OTs that party `sender` sends, `m = index_bits`.
    pub fn ots(&mut self, sender: usize, index_bits: u32, n: usize) {
        self.ots[sender] += Demand::of(index_bits, n);
    }

    /// Messages of both parties at once, by sender: `None` where there is none.
    pub fn exchange(&mut self, bytes: [Option<usize>; 2]) {
        for (sum, bytes) in self.bytes.iter_mut().zip(bytes) {
            *sum += bytes.unwrap_or(0) as u64;
        }
        self.paths = self
            .paths
            .exchange([1, 0].map(|from: usize| bytes[from].is_some()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(messages: &[[Option<usize>; 2]]) -> Tally {
        let mut counter = Counter::default();
        messages.iter().for_each(|bytes| counter.exchange(*bytes));
        counter.tally()
    }

    /// All sequences of three exchanges, then all of three more: as one program of six.
    #[test]
    fn programs_in_a_row_take_what_they_take_as_one() {
        let kinds = [
            [None, None],
            [Some(1), None],
            [None, Some(2)],
            [Some(3), Some(4)],
        ];
        let sequences: Vec<Vec<_>> = (0..64)
            .map(|i| [0, 2, 4].map(|at| kinds[i >> at & 3]).to_vec())
            .collect();
        let mut shorter = 0;
        for (first, second) in sequences
            .iter()
            .flat_map(|a| sequences.iter().map(move |b| (a, b)))
        {
            let [one, two] = [first, second].map(|messages| counted(messages));
            let both = one.then(&two);
            assert_eq!(both, counted(&[first.clone(), second.clone()].concat()));
            shorter += u32::from(both.online.rounds < one.online.rounds + two.online.rounds);
        }
        assert!(shorter > 0, "a sum of hops would do");
    }
}

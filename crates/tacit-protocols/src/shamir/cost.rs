//! What the protocol declares of its own cost; tests hold it against the meters.

use tacit_algebra::mersenne::Field;

use super::Options;
use super::params::{Params, Reveal};
use crate::cost::not_native;
use crate::machine::{Audience, Call, CostModel};
use crate::{Cost, Error, pool};

/// The declared cost between some parties over some field.
#[derive(Clone, Copy, Debug)]
pub struct ShamirCost {
    pub(super) params: Params,
}

impl ShamirCost {
    /// The cost between so many parties over `F`.
    pub fn new<F: Field>(parties: usize, options: &Options) -> Result<Self, Error> {
        Ok(ShamirCost {
            params: Params::new::<F>(parties, options)?,
        })
    }

    fn none(&self) -> Cost {
        Cost::each(self.params.parties, 0, 0)
    }

    fn word(&self, elements: usize) -> u64 {
        (elements * self.params.word) as u64
    }

    /// One opening.
    fn reveal(&self, reveal: &Reveal) -> Cost {
        let p = &self.params;
        let mut cost = Cost::each(p.parties, p.hops(reveal), 0);
        if p.direct(reveal) {
            let bytes = self.word(reveal.degree * reveal.len);
            cost.bytes.fill(bytes);
            return cost;
        }
        for (king, part) in p.kings(reveal.len) {
            for place in 1..=reveal.degree {
                cost.bytes[p.after(king, place)] += self.word(part.len());
            }
            cost.bytes[king] += self.word(part.len() * p.listeners(reveal.dealt));
        }
        cost
    }

    /// Openings, those of one inner list together.
    fn reveals(&self, stages: &[Vec<Reveal>]) -> Cost {
        let mut sum = self.none();
        for stage in stages {
            let before = sum.rounds;
            let mut hops = 0;
            for reveal in stage {
                let cost = self.reveal(reveal);
                hops = hops.max(cost.rounds);
                sum += &cost;
            }
            sum.rounds = before + hops;
        }
        sum
    }

    fn relu(&self, n: usize) -> Cost {
        let p = &self.params;
        self.reveals(&p.relu_reveals(p.rot(n), n))
    }

    fn product(&self, n: usize, dealt: bool) -> Cost {
        self.reveal(&Reveal {
            dealt,
            ..self.params.product(n)
        })
    }

    fn input(&self, owner: usize, n: usize) -> Cost {
        let mut cost = self.none();
        cost.rounds = 1;
        cost.bytes[owner] = self.word((self.params.parties - 1 - self.params.threshold) * n);
        cost
    }

    fn reveal_to(&self, to: usize, n: usize) -> Cost {
        let mut cost = self.none();
        cost.rounds = 1;
        for place in 1..=self.params.threshold {
            cost.bytes[self.params.after(to, place)] = self.word(n);
        }
        cost
    }
}

impl CostModel for ShamirCost {
    fn online(&self, call: &Call) -> Cost {
        let p = &self.params;
        match *call {
            Call::Input { owner, n } => self.input(owner, n),
            Call::Reveal {
                n,
                to: Audience::One(to),
            } => self.reveal_to(to, n),
            Call::Reveal {
                n,
                to: Audience::All,
            } => self.reveal(&Reveal {
                len: n,
                degree: p.threshold,
                dealt: false,
            }),
            Call::Fix { .. } | Call::Verify { .. } | Call::Truncate { trunc: 0, .. } => self.none(),
            Call::Truncate { n, .. } => self.reveal(&Reveal {
                len: n,
                degree: p.threshold,
                dealt: false,
            }),
            Call::Product { map, trunc, .. } => self.product(map.outputs(), trunc == 0),
            Call::Select { n, .. } => self.product(n, true),
            Call::Drelu { n, .. } => self.reveals(&p.drelu_reveals(p.rot(n), n)),
            Call::Relu { n, .. } => self.relu(n),
            Call::Maxpool { windows, size, .. } => pool::levels(size)
                .map(|(pairs, _)| self.relu(pairs * windows))
                .fold(self.none(), |sum, cost| sum + &cost),
            Call::Function { .. } => not_native(call),
        }
    }

    fn stored(&self, call: &Call) -> u64 {
        self.word(self.params.stored(call))
    }

    fn workspace(&self, call: &Call) -> u64 {
        self.word(self.params.workspace(call))
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        let p = &self.params;
        let mut sum = self.none();
        for wants in p.batches(calls) {
            let needs = p.needs(&wants);
            let dealt = p.dealt(&p.demand(&needs));
            sum += &Cost::each(p.parties, u32::from(dealt > 0), self.word(dealt));
            let stages: Vec<Vec<Reveal>> = p
                .offline_reveals(&needs)
                .into_iter()
                .map(|reveal| vec![reveal])
                .collect();
            sum += &self.reveals(&stages);
        }
        sum
    }
}

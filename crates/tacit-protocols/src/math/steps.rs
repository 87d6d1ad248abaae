//! Secret choices among public values: which of the public thresholds an element reaches is
//! compared for all elements and thresholds at once; any function that is constant between the
//! thresholds is then a weighted sum of the bits.

use crate::Error;
use crate::machine::{Call, KeyBits, Machine, MatMul, Operand};

/// Ascending thresholds.
#[derive(Clone, Debug)]
pub(super) struct Steps(pub Vec<i64>);

/// Of every element one row with 1 for each threshold that it reaches and 0 for the others.
pub(super) struct Reached<S> {
    bits: S,
    n: usize,
    levels: usize,
}

impl Steps {
    /// The calls of [`Steps::reached`].
    pub fn calls(&self, n: usize) -> [Call; 2] {
        sign_calls(n * self.0.len(), KeyBits::ALL)
    }

    /// Compares every element with every threshold.
    pub fn reached<M: Machine>(
        &self,
        machine: &mut M,
        x: &M::Share,
    ) -> Result<Reached<M::Share>, Error> {
        let (n, levels) = (machine.len(x), self.0.len());
        let index: Vec<u32> = (0..n as u32)
            .flat_map(|i| std::iter::repeat_n(i, levels))
            .collect();
        let elements = machine.gather(x, &index);
        let thresholds = machine.constant(&self.0.repeat(n));
        let excess = machine.sub(&elements, &thresholds);
        Ok(Reached {
            bits: sign(machine, &excess, KeyBits::ALL)?,
            n,
            levels,
        })
    }
}

/// 1 where `x >= 0`, else 0, in the ring.
pub(super) fn sign<M: Machine>(
    machine: &mut M,
    x: &M::Share,
    keys: KeyBits,
) -> Result<M::Share, Error> {
    let n = machine.len(x);
    let bits = machine.drelu(x, keys)?;
    let (zeros, ones) = (machine.constant(&vec![0; n]), machine.constant(&vec![1; n]));
    machine.select(&bits, &zeros, &ones)
}

/// The calls of [`sign`] for `n` elements.
pub(super) fn sign_calls(n: usize, keys: KeyBits) -> [Call; 2] {
    [Call::Drelu { n, keys }, Call::Select { n }]
}

impl<S: Clone> Reached<S> {
    /// For every element the row of its interval: row 0 below the first threshold, row `i` from
    /// the `i`-th on. Local.
    pub fn pick<M: Machine<Share = S>>(
        &self,
        machine: &mut M,
        rows: &[Vec<i64>],
    ) -> Result<S, Error> {
        let jump = |pair: &[Vec<i64>]| -> Vec<i64> {
            pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a).collect()
        };
        let jumps: Vec<i64> = rows.windows(2).flat_map(jump).collect();
        let shape = MatMul {
            m: self.n,
            k: self.levels,
            n: rows[0].len(),
        };
        let first = Operand::Public(rows[0].clone());
        machine.matmul(&self.bits, &Operand::Public(jumps), Some(&first), shape, 0)
    }
}

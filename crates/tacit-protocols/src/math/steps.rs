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
        let n = n * self.0.len();
        [Call::drelu(n), Call::Select { n }]
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
        let bits = machine.drelu(&excess, KeyBits::ALL)?;
        let (zeros, ones) = (vec![0; n * levels], vec![1; n * levels]);
        let (zeros, ones) = (machine.constant(&zeros), machine.constant(&ones));
        Ok(Reached {
            bits: machine.select(&bits, &zeros, &ones)?,
            n,
            levels,
        })
    }
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

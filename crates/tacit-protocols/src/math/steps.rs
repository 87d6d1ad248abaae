//! Secret choices among public values: which of the public thresholds an element reaches is
//! compared for all elements and thresholds at once; any function that is constant between the
//! thresholds is then a weighted sum of the bits (docs/spec/functions.md, section 2).

use crate::Error;
use crate::machine::{Erased, Handle, KeyBits, Machine, MatMul, Operand};

/// Thresholds in ascending order that elements are held against.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    thresholds: Vec<i64>,
    /// The key bits of an element less a threshold.
    keys: KeyBits,
}

/// For every element one row, with 1 for each threshold that it reaches and 0 for the others.
pub(super) struct Reached {
    bits: Handle,
    n: usize,
    levels: usize,
}

impl Steps {
    /// Steps for elements that `bits` bits hold, the sign included, over a ring or field of `element_bits`.
    pub fn new(thresholds: Vec<i64>, bits: u32, element_bits: u32) -> Self {
        let farthest = thresholds.iter().map(|t| t.unsigned_abs()).max();
        let keys = match bits < element_bits {
            true => promise(
                (1 << (bits.max(1) - 1)) + farthest.unwrap_or(0),
                element_bits,
            ),
            false => KeyBits::ALL,
        };
        Steps { thresholds, keys }
    }

    /// Steps for elements from 0 to `most`, between which the thresholds are.
    pub fn between(thresholds: Vec<i64>, most: i64, element_bits: u32) -> Self {
        let keys = promise(most as u64, element_bits);
        Steps { thresholds, keys }
    }

    /// Compares every element with every threshold.
    pub fn reached(&self, machine: &mut Erased, x: &Handle) -> Result<Reached, Error> {
        let (n, levels) = (machine.len(x), self.thresholds.len());
        let of_element = |i| std::iter::repeat_n(i, levels);
        let index = || (0..n as u32).flat_map(of_element).collect();
        let elements = machine.gather_by(x, n * levels, index);
        let thresholds = machine.constant_by(n * levels, || self.thresholds.repeat(n));
        let excess = machine.sub(&elements, &thresholds);
        Ok(Reached {
            bits: sign(machine, &excess, self.keys)?,
            n,
            levels,
        })
    }
}

/// The promise of magnitudes up to `largest`, with key bits where the ring has room for a comparison that
/// looks at so many (Bicoptor's, of `dropped + 2 kept + 2` bits).
pub(super) fn promise(largest: u64, element_bits: u32) -> KeyBits {
    let kept = u64::BITS - largest.leading_zeros();
    let all = KeyBits::within(kept + 1);
    match 2 * kept + 2 <= element_bits {
        true => KeyBits { kept, ..all },
        false => all,
    }
}

/// 1 where `x >= 0`, else 0, in the ring.
pub(super) fn sign(machine: &mut Erased, x: &Handle, keys: KeyBits) -> Result<Handle, Error> {
    let n = machine.len(x);
    let bits = machine.drelu(x, keys)?;
    let [zeros, ones] = [0, 1].map(|bit| machine.constant_by(n, || vec![bit; n]));
    machine.select(&bits, &zeros, &ones)
}

impl Reached {
    /// For every element the row of its interval: row 0 below the first threshold, row `i` from
    /// the `i`-th on. Local.
    pub fn pick(&self, machine: &mut Erased, rows: &[Vec<i64>]) -> Result<Handle, Error> {
        let jump = |pair: &[Vec<i64>]| -> Vec<i64> {
            pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a).collect()
        };
        let jumps: Vec<i64> = rows.windows(2).flat_map(jump).collect();
        let shape = MatMul {
            m: self.n,
            k: self.levels,
            n: rows[0].len(),
        };
        let first = Operand::Public(rows[0].as_slice().into());
        machine.matmul(
            &self.bits,
            &Operand::Public(jumps.into()),
            Some(&first),
            shape,
            0,
        )
    }
}

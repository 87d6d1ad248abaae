//! What the machine declares of its own cost: its program, run by an engine that only counts.
//!
//! Of long vectors the count is extrapolated, exactly: what is sent for 128 elements more is whole
//! bytes, and always the same.

use tacit_algebra::Bits;
use tacit_protocols::count::{Counts, play};
use tacit_protocols::machine::{Call, CostModel};
use tacit_protocols::math::Elementary;
use tacit_protocols::pool::levels;
use tacit_protocols::{Cost, Error};

use super::encrypted::Product;
use super::native::Native;
use super::{Options, Sirnn, Tensor};
use crate::PARTIES;
use crate::engine::{Tally, Wanted, keys_len};
use crate::ot::Demand;

/// Elements after which 128 more always cost the same.
const BASE: usize = 1024;
const STEP: usize = 128;
/// How many times as much memory as they have bytes keys take at either party, as measured: the transforms of what
/// they consist of, and those that they are made with.
const KEY_COPIES: u64 = 6;

/// The machine's declared cost.
#[derive(Clone, Copy, Debug)]
pub struct SirnnCost(pub(super) Options);

impl SirnnCost {
    /// The cost of a run.
    pub fn new(options: Options) -> Self {
        SirnnCost(options)
    }

    /// The OTs that the calls consume, by sender.
    pub(super) fn ots(&self, calls: &[Call]) -> Result<[Demand; 2], Error> {
        let mut sum = [Demand::default(); 2];
        for call in calls {
            for (sum, ots) in sum.iter_mut().zip(self.tally(call)?.ots) {
                *sum += ots;
            }
        }
        Ok(sum)
    }

    /// The tally for what is declared: nothing for a call that preparing refuses, since the plan
    /// may be a peer's.
    fn declared(&self, call: &Call) -> Tally {
        self.tally(call).unwrap_or_default()
    }

    fn tally(&self, call: &Call) -> Result<Tally, Error> {
        if let Call::Maxpool {
            windows,
            size,
            keys,
            bits,
        } = *call
        {
            // Level by level: the windows of a peer's plan may be larger than any memory.
            return levels(size).try_fold(Tally::default(), |sum, (pairs, _)| {
                let n = pairs * windows;
                Ok(sum.then(&self.tally(&Call::Relu { n, keys, bits })?))
            });
        }
        let of = |n: usize| {
            let mut call = *call;
            call.elements()
                .into_iter()
                .for_each(|elements| *elements = n);
            call
        };
        match { *call }.elements() {
            Some(n) => self.along(*n, of),
            None => self.count(call),
        }
    }

    /// The tally of a call of `n` elements, from short ones.
    fn along(&self, n: usize, call: impl Fn(usize) -> Call) -> Result<Tally, Error> {
        if n < BASE + 2 * STEP {
            return self.count(&call(n));
        }
        let start = BASE + n % STEP;
        let (less, more) = (self.count(&call(start))?, self.count(&call(start + STEP))?);
        Ok(less.extrapolated(&more, (n - start) / STEP))
    }

    fn count(&self, call: &Call) -> Result<Tally, Error> {
        let mut machine = Sirnn::counting(self.0);
        match call {
            // Owners keep their inputs, and nothing is made reusable or verified.
            Call::Input { .. } | Call::Reusable { .. } | Call::Verify { .. } => {}
            call => play(&mut machine, call, None)?,
        }
        Ok(machine.engine.tally())
    }
}

impl Counts for Sirnn {
    fn blank(&mut self, n: usize, bits: Option<u32>, known_to: Option<usize>) -> Tensor {
        let tensor = Tensor::new(bits.unwrap_or(self.bits), vec![0; n]);
        Tensor {
            owner: known_to,
            ..tensor
        }
    }

    fn blank_bits(&mut self, n: usize) -> Bits {
        Bits::zeros(n)
    }
}

impl CostModel for SirnnCost {
    fn online(&self, call: &Call) -> Cost {
        self.declared(call).online
    }

    /// A call may begin at one party while the other still waits in the last.
    fn in_a_row(&self, calls: &[Call]) -> Cost {
        let tallies = calls.iter().map(|call| self.declared(call));
        tallies
            .fold(Tally::default(), |sum, next| sum.then(&next))
            .online
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        self.0.kind.cost(self.ots(calls).unwrap_or_default())
    }

    fn native(&self, function: &Elementary) -> bool {
        Native::of(function).is_some()
    }

    fn encrypted(&self, call: &Call) -> Option<f64> {
        let product = Product::of(call, self.0.bits)?;
        Some(product.directions() * self.way(&product)?.computing())
    }

    fn mixed(&self) -> bool {
        true
    }

    /// A block of 16 bytes for each OT, and the bits of an index for each that is received.
    fn stored(&self, call: &Call) -> u64 {
        let of = |(m, n): (u32, usize)| 16 * n as u64 + (n as u64 * u64::from(m)) / 8;
        let ots = self.declared(call).ots;
        ots.iter().flat_map(Demand::iter).map(of).sum()
    }

    /// Twice the OTs, and the keys as they are computed with.
    fn memory(&self, calls: &[Call]) -> u64 {
        let stored: u64 = calls.iter().map(|call| self.stored(call)).sum();
        let beside = |call| self.workspace(call).saturating_sub(self.stored(call));
        let widest = calls.iter().map(beside).max().unwrap_or(0);
        let keys: u64 = self.keys(&[calls]).bytes.iter().sum();
        2 * stored + widest + KEY_COPIES * keys
    }

    /// The cost of keys for products of encrypted numbers; keys of a set are made again where a later portion of
    /// material packs more levels.
    fn keys(&self, portions: &[&[Call]]) -> Cost {
        let (mut known, mut sum) = (Wanted::default(), Cost::each(PARTIES, 0, 0));
        for calls in portions {
            let mut sent = [0; PARTIES];
            let wanted = self.wanted(calls);
            for ((known, wanted), sent) in known.iter_mut().zip(wanted).zip(&mut sent) {
                for (set, levels) in wanted {
                    if known.get(&set).is_none_or(|has| *has < levels) {
                        known.insert(set, levels);
                        *sent += keys_len((set, levels)) as u64;
                    }
                }
            }
            let rounds = u32::from(sent != [0; PARTIES]);
            let bytes = sent.into();
            sum += &Cost { rounds, bytes };
        }
        sum
    }

    /// The bytes of a product's ciphertexts, where it is one of encrypted numbers.
    fn workspace(&self, call: &Call) -> u64 {
        let product = Product::of(call, self.0.bits);
        let way = product.and_then(|product| self.way(&product));
        self.stored(call) + way.map_or(0, |way| way.memory())
    }
}

#[cfg(test)]
mod tests {
    use tacit_net::LinkModel;

    use super::*;
    use crate::ot::OtExtension;

    /// A peer's plan may have windows that no memory holds.
    #[test]
    fn windows_of_any_size_are_counted() {
        let cost = SirnnCost::new(Options {
            bits: 64,
            sign_bits: 64,
            kind: OtExtension::default(),
            products: super::super::Products::Auto,
            link: LinkModel::default(),
        });
        let [small, large] = [1 << 20, 1 << 40].map(|size| cost.stored(&Call::maxpool(1, size)));
        // Of one element less, each.
        assert!((large / small).abs_diff(1 << 20) < 4, "{small}, {large}");
    }
}

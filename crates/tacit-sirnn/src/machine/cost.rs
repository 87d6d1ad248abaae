//! What the machine declares of its own cost: its program, run by an engine that only counts.
//!
//! Of long vectors the count is extrapolated, exactly: what is sent for 128 elements more is whole
//! bytes, and always the same.

use tacit_algebra::Bits;
use tacit_protocols::machine::{Bilinear, Call, CostModel, Machine, Operand};
use tacit_protocols::math::Elementary;
use tacit_protocols::{Cost, Error};

use super::native::Native;
use super::{Options, Sirnn, Tensor};
use crate::engine::Tally;

/// Elements after which 128 more always cost the same.
const BASE: usize = 1024;
const STEP: usize = 128;

/// The machine's declared cost.
#[derive(Clone, Copy, Debug)]
pub struct SirnnCost(Options);

impl SirnnCost {
    /// The cost of a run.
    pub fn new(options: Options) -> Self {
        SirnnCost(options)
    }

    /// The OTs that the calls consume, by sender.
    pub(super) fn cots(&self, calls: &[Call]) -> Result<[usize; 2], Error> {
        let mut sum = [0; 2];
        for call in calls {
            let cots = self.tally(call)?.cots;
            sum[0] += cots[0];
            sum[1] += cots[1];
        }
        Ok(sum)
    }

    /// The tally for what is declared: nothing for a call that preparing refuses, since the plan
    /// may be a peer's.
    fn declared(&self, call: &Call) -> Tally {
        self.tally(call).unwrap_or_default()
    }

    fn tally(&self, call: &Call) -> Result<Tally, Error> {
        match *call {
            Call::Input { .. } | Call::Fix { .. } => self.count(call),
            Call::Reveal { n, to } => self.along(n, |n| Call::Reveal { n, to }),
            Call::Product {
                map: Bilinear::Elementwise(n),
                known_to,
                trunc,
                fixed,
            } => self.along(n, |n| Call::Product {
                map: Bilinear::Elementwise(n),
                known_to,
                trunc,
                fixed,
            }),
            Call::Product { .. } => self.count(call),
            Call::Truncate { n, trunc } => self.along(n, |n| Call::Truncate { n, trunc }),
            Call::Drelu { n, keys } => self.along(n, |n| Call::Drelu { n, keys }),
            Call::Relu { n, keys } => self.along(n, |n| Call::Relu { n, keys }),
            Call::Select { n } => self.along(n, |n| Call::Select { n }),
            Call::Maxpool {
                windows,
                size,
                keys,
            } => self.along(windows, |windows| Call::Maxpool {
                windows,
                size,
                keys,
            }),
            Call::Function { n, function } => self.along(n, |n| Call::Function { n, function }),
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
        play(&mut machine, call)?;
        Ok(machine.engine.tally())
    }
}

/// Makes the call with zeros.
fn play(machine: &mut Sirnn, call: &Call) -> Result<(), Error> {
    let zeros = |n: usize, owner| Tensor {
        summand: vec![0; n],
        owner,
    };
    match *call {
        Call::Input { .. } | Call::Fix { .. } => {}
        Call::Reveal { n, to } => {
            machine.reveal(&zeros(n, None), to)?;
        }
        Call::Product {
            map,
            known_to,
            trunc,
            ..
        } => {
            let x = zeros(map.left(), None);
            let w = Operand::Secret(zeros(map.right(), known_to));
            machine.linear(&x, &w, None, &map, trunc)?;
        }
        Call::Truncate { n, trunc } => {
            machine.truncate(&zeros(n, None), trunc)?;
        }
        Call::Drelu { n, keys } => {
            machine.drelu(&zeros(n, None), keys)?;
        }
        Call::Relu { n, keys } => {
            machine.relu(&zeros(n, None), keys)?;
        }
        Call::Select { n } => {
            let x = zeros(n, None);
            machine.select(&Bits::zeros(n), &x, &x)?;
        }
        Call::Maxpool {
            windows,
            size,
            keys,
        } => {
            machine.maxpool(&zeros(windows * size, None), windows, size, keys)?;
        }
        Call::Function { n, function } => {
            machine.function(&function, &zeros(n, None))?;
        }
    }
    Ok(())
}

impl CostModel for SirnnCost {
    fn online(&self, call: &Call) -> Cost {
        self.declared(call).online
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        self.0.kind.cost(self.cots(calls).unwrap_or_default())
    }

    fn native(&self, function: &Elementary) -> bool {
        Native::of(function).is_some()
    }

    /// A block of 16 bytes for each OT, and a bit for each that is received.
    fn stored(&self, call: &Call) -> u64 {
        let [forward, reverse] = self.declared(call).cots;
        let each = |n: usize| 16 * n as u64 + n as u64 / 8;
        each(forward) + each(reverse)
    }
}

//! What the machine declares of its own cost: its program, run by an engine that only counts.
//!
//! Of long vectors the count is extrapolated, exactly: what is sent for 128 elements more is whole
//! bytes, and always the same.

use tacit_algebra::Bits;
use tacit_protocols::machine::{Bilinear, Call, CostModel, Machine, Operand};
use tacit_protocols::math::Elementary;
use tacit_protocols::mixed::{Between, Mixed};
use tacit_protocols::{Cost, Error};

use super::native::Native;
use super::{Options, Sirnn, Tensor};
use crate::engine::Tally;
use crate::ot::Demand;

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
        match *call {
            Call::Input { .. } | Call::Fix { .. } | Call::Verify { .. } => self.count(call),
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
            Call::Mixed(mixed) => match mixed.elements() {
                Some(n) => self.along(n, |n| Call::Mixed(mixed.of(n))),
                None => self.count(call),
            },
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

/// Zeros of so many bits, known to a party or to none.
fn zeros(n: usize, bits: u32, owner: Option<usize>) -> Tensor {
    let tensor = Tensor::new(bits, vec![0; n]);
    Tensor { owner, ..tensor }
}

/// Makes the call with zeros.
fn play(machine: &mut Sirnn, call: &Call) -> Result<(), Error> {
    let bits = machine.bits;
    let ring = |n| zeros(n, bits, None);
    match *call {
        Call::Input { .. } | Call::Fix { .. } | Call::Verify { .. } => {}
        Call::Reveal { n, to } => {
            machine.reveal(&ring(n), to)?;
        }
        Call::Product {
            map,
            known_to,
            trunc,
            ..
        } => {
            let w = Operand::Secret(zeros(map.right(), bits, known_to));
            machine.linear(&ring(map.left()), &w, None, &map, trunc)?;
        }
        Call::Truncate { n, trunc } => {
            machine.truncate(&ring(n), trunc)?;
        }
        Call::Drelu { n, keys } => {
            machine.drelu(&ring(n), keys)?;
        }
        Call::Relu { n, keys } => {
            machine.relu(&ring(n), keys)?;
        }
        Call::Select { n } => {
            machine.select(&Bits::zeros(n), &ring(n), &ring(n))?;
        }
        Call::Maxpool {
            windows,
            size,
            keys,
        } => {
            machine.maxpool(&ring(windows * size), windows, size, keys)?;
        }
        Call::Function { n, function } => {
            machine.function(&function, &ring(n))?;
        }
        Call::Mixed(mixed) => play_mixed(machine, mixed)?,
    }
    Ok(())
}

fn play_mixed(machine: &mut Sirnn, call: Mixed) -> Result<(), Error> {
    match call {
        Mixed::Resize {
            n,
            from,
            trunc,
            bits,
        } => {
            machine.resize(&zeros(n, from, None), trunc, bits)?;
        }
        Mixed::Product {
            map,
            known_to,
            bits: [left, right, bits],
            ..
        } => {
            let x = zeros(map.left(), left, None);
            let w = Operand::Secret(zeros(map.right(), right, known_to));
            machine.product(&x, &w, None, &map, bits)?;
        }
        Mixed::Drelu { n, keys, bits } => {
            machine.drelu(&zeros(n, bits, None), keys)?;
        }
        Mixed::Select { n, bits } => {
            let x = zeros(n, bits, None);
            machine.select(&Bits::zeros(n), &x, &x)?;
        }
        Mixed::Relu { n, keys, bits } => {
            machine.relu(&zeros(n, bits, None), keys)?;
        }
        Mixed::Maxpool {
            windows,
            size,
            keys,
            bits,
        } => {
            machine.maxpool(&zeros(windows * size, bits, None), windows, size, keys)?;
        }
        Mixed::Function { n, function } => {
            machine.function_between(&function, &zeros(n, function.from.bits, None))?;
        }
    }
    Ok(())
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

    fn mixed(&self) -> bool {
        true
    }

    fn native_between(&self, function: &Between) -> bool {
        Native::between(function).is_some()
    }

    /// A block of 16 bytes for each OT, and the bits of an index for each that is received.
    fn stored(&self, call: &Call) -> u64 {
        let of = |(m, n): (u32, usize)| 16 * n as u64 + (n as u64 * u64::from(m)) / 8;
        let ots = self.declared(call).ots;
        ots.iter().flat_map(Demand::iter).map(of).sum()
    }
}

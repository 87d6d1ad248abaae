//! What Falcon declares of its own cost: its program, run by parties that count.
//!
//! Per element and party at l = 32 (64), semi-honest: a ReLU 16 (33) bytes and 9 (10) hops, a product
//! with a truncation 7 (12) and 3 hops, nothing offline; with the paper's comparison a ReLU 33 (73) and 7
//! (8) online, about 58 (137) offline.

use std::marker::PhantomData;

use tacit_algebra::extension::Galois;
use tacit_algebra::{BitRows, Bits, Buffer, Ring};
use tacit_net::Party;

use super::demand::{self, Want};
use super::malicious::Checks;
use super::malicious::checked::checked;
use super::malicious::sign::CARRY;
use super::malicious::wraps::LEFT;
use super::material::Store;
use super::{Comparison, Falcon, Options, PARTIES, Security, Truncation};
use crate::bilinear::Bilinear;
use crate::call::Unverified;
use crate::cost::MAKING;
use crate::count::{Counts, count, online};
use crate::machine::{Call, CostModel, Machine, Operand};
use crate::replicated::{Booleans, Replicated, Rss, workspace};
use crate::{Cost, Error};

/// Falcon's declared cost over the ring `R`.
#[derive(Debug)]
pub struct FalconCost<R> {
    options: Options,
    ring: PhantomData<fn() -> R>,
}

impl<R> Clone for FalconCost<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for FalconCost<R> {}

impl<R: Ring> FalconCost<R> {
    /// The cost of [`Falcon::new`].
    pub fn new(options: Options) -> Self {
        FalconCost {
            options,
            ring: PhantomData,
        }
    }

    /// A machine of a party that counts.
    fn machine(&self, party: Party) -> Falcon<R> {
        Falcon {
            rss: Replicated::counting(party),
            options: self.options,
            store: Store::new(),
            checks: (self.options.security == Security::Malicious).then(Checks::counting),
            cost: *self,
        }
    }

    /// A verification, of which a run among curious parties has none.
    fn verify(&self, waiting: Unverified) -> Cost {
        if self.options.security == Security::SemiHonest {
            return Cost::each(PARTIES, 0, 0);
        }
        let Unverified {
            carries,
            ands,
            choices,
            quotients,
            products,
            entries,
        } = waiting;
        let waiting = |machine: &mut Falcon<R>| -> Result<(), Error> {
            let mut products = products;
            match self.options.comparison {
                Comparison::Falcon => products += choices,
                Comparison::Adder => {
                    let bits = machine.blank_bits(carries);
                    machine.save_carries(
                        bits.map(|bits| BitRows::of_bits(1, carries, bits.clone())),
                    )?;
                    let [x, y] = [ands; 2].map(|n| machine.blank_bits(n));
                    machine.multiply::<Booleans>(CARRY, x, y)?;
                    let bits = machine.blank_bits(choices);
                    machine.chosen(&bits, &Rss::counted(choices))?;
                }
            }
            if quotients > 0 {
                machine.truncate_shared(Rss::counted(quotients), 1)?;
            }
            let mut product = |map: Bilinear| -> Result<(), Error> {
                let [x, w] = [map.left(), map.right()].map(Rss::counted);
                machine.product(&x, &Operand::Secret(w), None, &map, 0)?;
                Ok(())
            };
            if products > 0 {
                product(Bilinear::Elementwise(products))?;
            }
            if let Some(checks) = &mut machine.checks {
                checks.pending.entries = entries;
            }
            Ok(())
        };
        count(PARTIES, |party| {
            let mut machine = self.machine(party);
            waiting(&mut machine)?;
            let checks = machine.checks.iter_mut();
            checks.for_each(|checks| checks.dirty = true);
            machine.party().take_trace();
            machine.verify()?;
            Ok(machine.party().take_trace())
        })
    }
}

/// Bytes of a verification by itself, of an entry of its proof while it is folded, and entries that are folded at a
/// time: as measured.
const VERIFICATION: u64 = 8_000_000;
const ENTRY: u64 = 150;
const FOLDED: u64 = 64_512;

/// About how many bytes a verification takes at a party: of every product both components of both factors and two
/// claims, and its proof.
fn verifying<R: Ring>(waiting: &Unverified) -> u64 {
    let words = (waiting.choices + waiting.products + LEFT * waiting.quotients) as u64;
    let bits = (waiting.carries + waiting.ands) as u64;
    let kept = 6 * (u64::from(R::BITS / 8) * words + bits / 8);
    let joined = waiting.entries.iter().sum::<usize>() as u64;
    // The prover's vectors and one of each verifier's.
    let joins = 4 * size_of::<Galois<R>>() as u64 * joined;
    match words + bits + joined {
        0 => 0,
        _ => VERIFICATION + kept + ENTRY * (2 * words).min(FOLDED) + joins,
    }
}

impl<R: Ring> Counts for Falcon<R> {
    fn blank(&mut self, n: usize, _: Option<u32>, _: Option<usize>) -> Rss<Buffer<R>> {
        Rss::counted(n)
    }

    fn blank_bits(&mut self, n: usize) -> Rss<Bits> {
        [(); 2].map(|()| Bits::counted(n)).into()
    }
}

impl<R: Ring> CostModel for FalconCost<R> {
    /// The cost of a call, without the verifications that a machine makes by itself: [`CostModel::checked`] lists them.
    fn online(&self, call: &Call) -> Cost {
        match *call {
            Call::Verify(waiting) => self.verify(waiting),
            call => online(PARTIES, |party| self.machine(party), &call),
        }
    }

    fn stored(&self, call: &Call) -> u64 {
        let (word, sign_word) = (
            u64::from(R::BITS / 8),
            u64::from(self.options.compare_bits::<R>() / 8),
        );
        // Both components of bits and products of bits, a residue each, and of a few words.
        let compare = |rows: u64| 4 * rows + 5;
        let of = |want: Want| match want {
            Want::Sign(n) => n as u64 * (compare(8 * sign_word) + 2 * sign_word),
            Want::Select(n) => n as u64 * (2 * word + 1),
            Want::Truncate(n, d) => match self.options.truncation {
                Truncation::Exact => n as u64 * (8 * word + compare(d.into())),
                _ => n as u64 * 6 * word,
            },
        };
        let made: u64 = demand::wants_of(call, &self.options)
            .into_iter()
            .map(of)
            .sum();
        // What waits to be verified while it is made.
        match self.options.security {
            Security::SemiHonest => made,
            Security::Malicious => 8 * made,
        }
    }

    fn workspace(&self, call: &Call) -> u64 {
        self.stored(call).max(workspace::<R>(call))
    }

    /// The bytes of material and of the widest call, with what waits for a verification and what its proof takes.
    fn memory(&self, calls: &[Call]) -> u64 {
        let stored: u64 = calls.iter().map(|call| self.stored(call)).sum();
        let most = |of: &dyn Fn(&Call) -> u64| calls.iter().map(of).max().unwrap_or(0);
        let widest = most(&|call| self.workspace(call).saturating_sub(self.stored(call)));
        let verification = most(&|call| match call {
            Call::Verify(waiting) => verifying::<R>(waiting),
            _ => 0,
        });
        MAKING * stored + widest + verification
    }

    /// Two components.
    fn share_bytes(&self, _party: usize) -> u64 {
        u64::from(R::BITS / 4)
    }

    fn offline(&self, calls: &[Call]) -> Cost {
        count(PARTIES, |party| {
            let mut machine = self.machine(party);
            machine.preprocess(calls)?;
            Ok(machine.party().take_trace())
        })
    }

    fn checked(&self, calls: Vec<Call>) -> Vec<Call> {
        match self.options.security {
            Security::SemiHonest => calls,
            Security::Malicious => checked::<R>(calls, &self.options),
        }
    }
}

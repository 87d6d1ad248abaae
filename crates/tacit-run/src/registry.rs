//! The protocols that can be chosen. A new one is an `impl System` and its name in the last line.

use std::ops::RangeInclusive;

use tacit_algebra::Ring;
use tacit_net::Party;
use tacit_protocols::clear::{Clear, ClearCost};
use tacit_protocols::falcon::{Falcon, FalconCost, PARTIES, Truncation};
use tacit_protocols::machine::{CostModel, Machine};

use crate::Error;
use crate::settings::Named;

/// A protocol, as users choose it.
#[derive(Debug)]
pub struct Protocol {
    /// Its name.
    pub name: &'static str,
    /// How many parties may run it; the fewest are the default.
    pub parties: RangeInclusive<usize>,
    /// What it protects against, in words.
    pub security: &'static str,
    /// The rings, in bits, that it computes in.
    pub rings: &'static [u32],
    /// The name of its truncation where it has only one and the setting does not matter.
    pub own_truncation: Option<&'static str>,
}

impl Protocol {
    /// The name of the truncation that a run with the setting `chosen` uses.
    pub(crate) fn truncation(&self, chosen: Truncation) -> &'static str {
        self.own_truncation.unwrap_or_else(|| chosen.name())
    }
}

impl Named for &'static Protocol {
    const WHAT: &'static str = "protocol";

    fn known() -> impl Iterator<Item = (&'static str, Self)> {
        protocols().iter().map(|protocol| (protocol.name, protocol))
    }

    fn name(self) -> &'static str {
        self.name
    }
}

/// A protocol over one ring with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub protocol: &'static Protocol,
    pub ring: u32,
    pub truncation: Truncation,
    /// Bits in which signs are taken, as the plan allows: 32, or all of the ring.
    pub compare_bits: u32,
}

impl Instance {
    /// Refuses a ring that the protocol does not have.
    pub(crate) fn new(
        protocol: &'static Protocol,
        ring: u32,
        truncation: Truncation,
    ) -> Result<Self, Error> {
        if !protocol.rings.contains(&ring) {
            return Err(Error::setting(
                format!("ring of {ring} bits"),
                format!(
                    "{} computes in rings of {:?} bits",
                    protocol.name, protocol.rings
                ),
            ));
        }
        Ok(Instance {
            protocol,
            ring,
            truncation,
            compare_bits: ring,
        })
    }

    /// The same with signs taken in so many bits.
    pub(crate) fn comparing(self, compare_bits: u32) -> Self {
        Instance {
            compare_bits,
            ..self
        }
    }
}

/// What a party does once its machine is there.
pub(crate) trait Program {
    /// What it ends with.
    type Output;

    fn run<M: Machine>(self, machine: &mut M) -> Result<Self::Output, Error>;
}

/// What a protocol offers to be registered.
trait System {
    const PROTOCOL: Protocol;
    type Machine<R: Ring>: Machine;

    fn machine<R: Ring>(
        party: Party,
        instance: &Instance,
    ) -> Result<Self::Machine<R>, tacit_protocols::Error>;

    fn cost<R: Ring>(parties: usize, instance: &Instance) -> Box<dyn CostModel>;
}

struct FalconSystem;

impl System for FalconSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "falcon",
        parties: PARTIES..=PARTIES,
        security: "semi-honest, 1 of 3 corrupt",
        rings: &[32, 64],
        own_truncation: None,
    };
    type Machine<R: Ring> = Falcon<R>;

    fn machine<R: Ring>(
        party: Party,
        instance: &Instance,
    ) -> Result<Falcon<R>, tacit_protocols::Error> {
        let falcon = Falcon::new(party, instance.truncation)?;
        Ok(match instance.compare_bits < R::BITS {
            true => falcon.with_narrow_signs(),
            false => falcon,
        })
    }

    fn cost<R: Ring>(_parties: usize, instance: &Instance) -> Box<dyn CostModel> {
        let cost = FalconCost::new(R::BITS, R::PRIME, instance.truncation);
        Box::new(match instance.compare_bits < R::BITS {
            true => cost.with_narrow_signs(),
            false => cost,
        })
    }
}

struct ClearSystem;

impl System for ClearSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "clear",
        parties: 1..=16,
        security: "none: clear text",
        rings: &[32, 64],
        own_truncation: Some("floor"),
    };
    type Machine<R: Ring> = Clear<R>;

    fn machine<R: Ring>(
        party: Party,
        _instance: &Instance,
    ) -> Result<Clear<R>, tacit_protocols::Error> {
        Ok(Clear::new(party))
    }

    fn cost<R: Ring>(parties: usize, _instance: &Instance) -> Box<dyn CostModel> {
        Box::new(ClearCost::new(parties, R::BITS))
    }
}

fn start_on<S: System, P: Program>(
    instance: &Instance,
    party: Party,
    program: P,
) -> Result<P::Output, Error> {
    match instance.ring {
        32 => program.run(&mut S::machine::<u32>(party, instance)?),
        _ => program.run(&mut S::machine::<u64>(party, instance)?),
    }
}

fn cost_on<S: System>(instance: &Instance, parties: usize) -> Box<dyn CostModel> {
    match instance.ring {
        32 => S::cost::<u32>(parties, instance),
        _ => S::cost::<u64>(parties, instance),
    }
}

macro_rules! registry {
    ($first:ty $(, $more:ty)*) => {
        /// The protocols that can be chosen.
        pub fn protocols() -> &'static [Protocol] {
            static PROTOCOLS: &[Protocol] = &[<$first>::PROTOCOL $(, <$more>::PROTOCOL)*];
            PROTOCOLS
        }

        /// Makes the party's machine and runs the program on it.
        pub(crate) fn start<P: Program>(
            instance: &Instance,
            party: Party,
            program: P,
        ) -> Result<P::Output, Error> {
            match instance.protocol.name {
                $(name if name == <$more>::PROTOCOL.name => {
                    start_on::<$more, P>(instance, party, program)
                })*
                _ => start_on::<$first, P>(instance, party, program),
            }
        }

        /// The declared cost between so many parties.
        pub(crate) fn cost(instance: &Instance, parties: usize) -> Box<dyn CostModel> {
            match instance.protocol.name {
                $(name if name == <$more>::PROTOCOL.name => cost_on::<$more>(instance, parties),)*
                _ => cost_on::<$first>(instance, parties),
            }
        }
    };
}

registry!(FalconSystem, ClearSystem);

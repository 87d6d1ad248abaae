//! The protocols that can be chosen. A new one is an `impl System` and its name in the last line.

use tacit_algebra::Ring;
use tacit_algebra::mersenne::{F31, F61};
use tacit_net::Party;
use tacit_protocols::Truncation;
use tacit_protocols::bicoptor;
use tacit_protocols::bicoptor::rss::{BicoptorRss, RssCost};
use tacit_protocols::bicoptor::ubl::{Ubl, UblCost};
use tacit_protocols::clear::{Clear, ClearCost};
use tacit_protocols::falcon::{Falcon, FalconCost, PARTIES};
use tacit_protocols::machine::{CostModel, Machine};
use tacit_protocols::shamir::{MAX_PARTIES, Options, Shamir, ShamirCost};
use tacit_sirnn::{self as sirnn, Sirnn, SirnnCost};

use crate::Error;
use crate::named::Sharing;
use crate::protocol::{Instance, OwnTruncation, Protocol};

/// What a party does once its machine is there.
pub(crate) trait Program {
    /// What it ends with.
    type Output;

    fn run<M: Machine>(self, machine: &mut M) -> Result<Self::Output, Error>;
}

/// What a protocol offers to be registered.
trait System {
    const PROTOCOL: Protocol;

    /// Makes the party's machine for the instance's width and runs the program on it.
    fn start<P: Program>(instance: &Instance, party: Party, program: P)
    -> Result<P::Output, Error>;

    /// The declared cost.
    fn cost(instance: &Instance) -> Result<Box<dyn CostModel>, Error>;
}

/// A protocol that has a machine over every ring, and so is a [`System`].
trait RingSystem {
    const PROTOCOL: Protocol;
    type Machine<R: Ring>: Machine;

    fn machine<R: Ring>(
        party: Party,
        instance: &Instance,
    ) -> Result<Self::Machine<R>, tacit_protocols::Error>;

    fn cost<R: Ring>(instance: &Instance) -> Box<dyn CostModel>;
}

impl<S: RingSystem> System for S {
    const PROTOCOL: Protocol = <S as RingSystem>::PROTOCOL;

    fn start<P: Program>(
        instance: &Instance,
        party: Party,
        program: P,
    ) -> Result<P::Output, Error> {
        match instance.width {
            32 => program.run(&mut S::machine::<u32>(party, instance)?),
            _ => program.run(&mut S::machine::<u64>(party, instance)?),
        }
    }

    fn cost(instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        Ok(match instance.width {
            32 => <S as RingSystem>::cost::<u32>(instance),
            _ => <S as RingSystem>::cost::<u64>(instance),
        })
    }
}

struct FalconSystem;

impl RingSystem for FalconSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "falcon",
        parties: PARTIES..=PARTIES,
        roles: &[],
        security: |_, _| "semi-honest, 1 of 3 corrupt".into(),
        malicious: Some("malicious with abort, 1 of 3 corrupt"),
        widths: &[32, 64],
        truncations: &[Truncation::Gap, Truncation::Exact, Truncation::Aby3],
        own_truncation: None,
        threshold: false,
        variants: false,
        sharings: false,
        transfers: false,
        key_bits: false,
        mixed: false,
        narrow_signs: true,
    };
    type Machine<R: Ring> = Falcon<R>;

    fn machine<R: Ring>(
        party: Party,
        instance: &Instance,
    ) -> Result<Falcon<R>, tacit_protocols::Error> {
        let falcon = Falcon::with_security(party, instance.truncation, instance.security)?;
        Ok(match instance.compare_bits < R::BITS {
            true => falcon.with_narrow_signs(),
            false => falcon,
        })
    }

    fn cost<R: Ring>(instance: &Instance) -> Box<dyn CostModel> {
        let cost = FalconCost::new(R::BITS, R::PRIME, instance.truncation)
            .with_security(instance.security);
        Box::new(match instance.compare_bits < R::BITS {
            true => cost.with_narrow_signs(),
            false => cost,
        })
    }
}

struct ShamirSystem;

impl System for ShamirSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "shamir",
        parties: 3..=MAX_PARTIES,
        roles: &[],
        security: |parties, threshold| {
            format!("semi-honest, up to {threshold} of {parties} corrupt")
        },
        malicious: None,
        widths: &[31, 61],
        truncations: &[],
        own_truncation: Some(OwnTruncation {
            name: "unbiased",
            error: 2,
        }),
        threshold: true,
        variants: true,
        sharings: false,
        transfers: false,
        key_bits: false,
        mixed: false,
        narrow_signs: false,
    };

    fn start<P: Program>(
        instance: &Instance,
        party: Party,
        program: P,
    ) -> Result<P::Output, Error> {
        let options = instance.shamir();
        match instance.width {
            31 => program.run(&mut Shamir::<F31>::new(party, &options)?),
            _ => program.run(&mut Shamir::<F61>::new(party, &options)?),
        }
    }

    fn cost(instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        let (parties, options) = (instance.parties, instance.shamir());
        Ok(Box::new(match instance.width {
            31 => ShamirCost::new::<F31>(parties, &options)?,
            _ => ShamirCost::new::<F61>(parties, &options)?,
        }))
    }
}

impl Instance {
    fn shamir(&self) -> Options {
        Options {
            threshold: self.threshold,
            comparison: self.comparison,
            opening: self.opening,
            link: self.link,
        }
    }
}

struct BicoptorSystem;

impl System for BicoptorSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "bicoptor",
        parties: bicoptor::PARTIES..=bicoptor::PARTIES,
        roles: &[],
        security: |_, _| "semi-honest, 1 of 3 corrupt".into(),
        malicious: None,
        widths: &[32, 64],
        truncations: &[Truncation::Gap, Truncation::Aby3, Truncation::SecureMl],
        own_truncation: None,
        threshold: false,
        variants: false,
        sharings: true,
        transfers: false,
        key_bits: true,
        mixed: false,
        narrow_signs: false,
    };

    fn start<P: Program>(
        instance: &Instance,
        party: Party,
        program: P,
    ) -> Result<P::Output, Error> {
        let options = instance.bicoptor();
        match (instance.sharing, instance.width) {
            (Sharing::Ubl, 32) => program.run(&mut Ubl::<u32>::new(party, options)?),
            (Sharing::Ubl, _) => program.run(&mut Ubl::<u64>::new(party, options)?),
            (Sharing::Rss, 32) => program.run(&mut BicoptorRss::<u32>::new(party, options)?),
            (Sharing::Rss, _) => program.run(&mut BicoptorRss::<u64>::new(party, options)?),
        }
    }

    fn cost(instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        let options = instance.bicoptor();
        Ok(match (instance.sharing, instance.width) {
            (Sharing::Ubl, 32) => Box::new(UblCost::new::<u32>(options)),
            (Sharing::Ubl, _) => Box::new(UblCost::new::<u64>(options)),
            (Sharing::Rss, 32) => Box::new(RssCost::new::<u32>(options)),
            (Sharing::Rss, _) => Box::new(RssCost::new::<u64>(options)),
        })
    }
}

impl Instance {
    fn bicoptor(&self) -> bicoptor::Options {
        bicoptor::Options {
            truncation: self.truncation,
            form: self.form,
        }
    }
}

struct SirnnSystem;

impl System for SirnnSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "sirnn",
        parties: sirnn::PARTIES..=sirnn::PARTIES,
        roles: &["server", "client"],
        security: |_, _| "semi-honest, 1 of 2 corrupt".into(),
        malicious: None,
        widths: &[32, 64],
        truncations: &[],
        own_truncation: Some(OwnTruncation {
            name: "floor",
            error: 0,
        }),
        threshold: false,
        variants: false,
        sharings: false,
        transfers: true,
        key_bits: false,
        mixed: true,
        narrow_signs: true,
    };

    fn start<P: Program>(
        instance: &Instance,
        party: Party,
        program: P,
    ) -> Result<P::Output, Error> {
        program.run(&mut Sirnn::new(party, instance.sirnn())?)
    }

    fn cost(instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        Ok(Box::new(SirnnCost::new(instance.sirnn())))
    }
}

impl Instance {
    fn sirnn(&self) -> sirnn::Options {
        sirnn::Options {
            bits: self.width,
            sign_bits: self.compare_bits,
            kind: self.ot,
        }
    }
}

struct ClearSystem;

impl RingSystem for ClearSystem {
    const PROTOCOL: Protocol = Protocol {
        name: "clear",
        parties: 1..=16,
        roles: &[],
        security: |_, _| "none: clear text".into(),
        malicious: None,
        widths: &[32, 64],
        truncations: &[],
        own_truncation: Some(OwnTruncation {
            name: "floor",
            error: 0,
        }),
        threshold: false,
        variants: false,
        sharings: false,
        transfers: false,
        key_bits: false,
        mixed: false,
        narrow_signs: false,
    };
    type Machine<R: Ring> = Clear<R>;

    fn machine<R: Ring>(
        party: Party,
        _instance: &Instance,
    ) -> Result<Clear<R>, tacit_protocols::Error> {
        Ok(Clear::new(party))
    }

    fn cost<R: Ring>(instance: &Instance) -> Box<dyn CostModel> {
        Box::new(ClearCost::new(instance.parties, R::BITS))
    }
}

/// A program whose party tells the others why it stops, if it fails.
struct Telling<P>(P);

impl<P: Program> Program for Telling<P> {
    type Output = P::Output;

    fn run<M: Machine>(self, machine: &mut M) -> Result<P::Output, Error> {
        let ended = self.0.run(machine);
        ended.inspect_err(|error| error.tell(machine.party()))
    }
}

macro_rules! registry {
    ($first:ty $(, $more:ty)*) => {
        /// The protocols that can be chosen.
        pub fn protocols() -> &'static [Protocol] {
            static PROTOCOLS: &[Protocol] =
                &[<$first as System>::PROTOCOL $(, <$more as System>::PROTOCOL)*];
            PROTOCOLS
        }

        /// Makes the party's machine and runs the program on it.
        pub(crate) fn start<P: Program>(
            instance: &Instance,
            party: Party,
            program: P,
        ) -> Result<P::Output, Error> {
            match instance.protocol.name {
                $(name if name == <$more as System>::PROTOCOL.name => {
                    <$more as System>::start(instance, party, Telling(program))
                })*
                _ => <$first as System>::start(instance, party, Telling(program)),
            }
        }

        /// The declared cost.
        pub(crate) fn cost(instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
            match instance.protocol.name {
                $(name if name == <$more as System>::PROTOCOL.name => {
                    <$more as System>::cost(instance)
                })*
                _ => <$first as System>::cost(instance),
            }
        }
    };
}

registry!(
    FalconSystem,
    BicoptorSystem,
    ShamirSystem,
    SirnnSystem,
    ClearSystem
);

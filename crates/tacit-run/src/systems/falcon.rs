//! Falcon: three parties with replicated shares, semi-honest or malicious with abort.

use tacit_algebra::Ring;
use tacit_net::Party;
use tacit_protocols::Truncation;
use tacit_protocols::falcon::{self, Falcon, FalconCost, PARTIES, Security};
use tacit_protocols::machine::CostModel;

use super::option::options;
use super::{Taken, Taker, System, SystemOptions};
use crate::instance::{Instance, Tolerance};
use crate::{Error, Protocol};

options! {
    /// What is chosen of Falcon.
    struct Options {
        /// What corrupt parties may do: follow the protocol and look at what they see, or deviate as they
        /// like (malicious), which the others notice before anything is given out.
        security: Security = [
            ("semi-honest", Security::SemiHonest),
            ("malicious", Security::Malicious),
        ],
        /// How products are brought back to their scale: gap rounds down or up, exact rounds down; aby3,
        /// and without messages secureml, have a large error with probability |x| / 2^ring.
        truncation: Truncation = [
            ("gap", Truncation::Gap),
            ("exact", Truncation::Exact),
            ("aby3", Truncation::Aby3),
        ],
    }
}

impl System for Options {
    const PROTOCOL: Protocol = Protocol {
        name: "falcon",
        parties: PARTIES..=PARTIES,
        options: Options::specs,
        signs: falcon::SIGNS,
        paper_leakage: true,
        ..Protocol::PLAIN
    };

    fn security(&self, _parties: usize) -> String {
        let kind = match self.security {
            Security::SemiHonest => "semi-honest",
            Security::Malicious => "malicious with abort",
        };
        format!("{kind}, 1 of 3 corrupt")
    }

    fn tolerance(&self) -> Tolerance {
        self.truncation.into()
    }

    fn start<T: Taker>(&self, instance: &Instance, party: Party, taker: T) -> Taken<T> {
        match instance.width {
            32 => taker.take(self.machine::<u32>(instance, party)?),
            _ => taker.take(self.machine::<u64>(instance, party)?),
        }
    }

    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        Ok(match instance.width {
            32 => Box::new(self.declared::<u32>(instance)),
            _ => Box::new(self.declared::<u64>(instance)),
        })
    }
}

impl Options {
    fn declared<R: Ring>(&self, instance: &Instance) -> FalconCost<R> {
        let cost = FalconCost::new(self.truncation, self.security);
        match instance.narrow_signs() {
            true => cost.with_narrow_signs(),
            false => cost,
        }
    }

    fn machine<R: Ring>(&self, instance: &Instance, party: Party) -> Result<Falcon<R>, Error> {
        let falcon = Falcon::with_security(party, self.truncation, self.security)?;
        Ok(match instance.narrow_signs() {
            true => falcon.with_narrow_signs(),
            false => falcon,
        })
    }
}

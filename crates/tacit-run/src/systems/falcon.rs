//! Falcon: three parties with replicated shares, semi-honest or malicious with abort.

use tacit_client::Scheme;
use tacit_net::Party;
use tacit_protocols::Truncation;
use tacit_protocols::falcon::{self, Comparison, PARTIES, Security};
use tacit_protocols::machine::{CostModel, Erased};

use super::option::options;
use super::{System, SystemOptions};
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
        /// How signs are taken, by what costs less where that is left open (auto): under falcon by adding up
        /// bits (adder) or as in its paper (falcon), under bicoptor by adding up bits (adder) or from key bits
        /// (bicoptor), under shamir by a tree of products (tree, fewest bytes) or by a rotation (rot, fewest
        /// rounds).
        comparison: Option<Comparison> = [
            ("auto", None),
            ("adder", Some(Comparison::Adder)),
            ("falcon", Some(Comparison::Falcon)),
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
        let stated = Tolerance::from(self.truncation);
        match (self.truncation, self.security) {
            // Off the true quotient by up to 3/2.
            (Truncation::Gap, Security::Malicious) => Tolerance {
                rounding: 2,
                ..stated
            },
            _ => stated,
        }
    }

    fn scheme(&self, instance: &Instance) -> Option<Scheme> {
        let bits = instance.width;
        Some(Scheme::Replicated { bits })
    }

    fn start(&self, instance: &Instance, party: Party) -> Result<Erased<'static>, Error> {
        Ok(falcon::machine(instance.width, party, self.of(instance))?)
    }

    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        Ok(falcon::cost(instance.width, self.of(instance)))
    }
}

impl Options {
    fn of(&self, instance: &Instance) -> falcon::Options {
        falcon::Options {
            truncation: self.truncation,
            security: self.security,
            // The adder's declared cost is less, whatever the network and the batch.
            comparison: self.comparison.unwrap_or(Comparison::Adder),
            sign_bits: instance.compare_bits,
        }
    }
}

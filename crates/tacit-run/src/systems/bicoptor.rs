//! Bicoptor 2.0: three parties, in both of its settings.

use tacit_client::Scheme;
use tacit_net::Party;
use tacit_protocols::Truncation;
use tacit_protocols::bicoptor::{self, Comparison, Form, PARTIES, rss, ubl};
use tacit_protocols::machine::{CostModel, Erased};

use super::option::options;
use super::{System, SystemOptions};
use crate::instance::{Instance, Tolerance};
use crate::{Error, Protocol};

/// How secrets are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Between two parties; the third assists.
    Ubl,
    /// Replicated among three.
    Rss,
}

options! {
    /// What is chosen of Bicoptor.
    struct Options {
        /// How secrets are shared: between two parties whom the third assists (ubl), or replicated among
        /// all three (rss).
        sharing: Sharing = [("ubl", Sharing::Ubl), ("rss", Sharing::Rss)],
        /// How products are brought back to their scale: gap rounds down or up, exact rounds down; aby3,
        /// and without messages secureml, have a large error with probability |x| / 2^ring.
        truncation: Truncation = [
            ("gap", Truncation::Gap),
            ("aby3", Truncation::Aby3),
            ("secureml", Truncation::SecureMl),
        ],
        /// How signs are taken, by what costs less where that is left open (auto): under falcon by adding up
        /// bits (adder) or as in its paper (falcon), under bicoptor by adding up bits (adder) or from key bits
        /// (bicoptor), under shamir by a tree of products (tree, fewest bytes) or by a rotation (rot, fewest
        /// rounds).
        comparison: Comparison = [
            ("auto", Comparison::Auto),
            ("adder", Comparison::Adder),
            ("bicoptor", Comparison::Bicoptor),
        ],
    }
}

impl System for Options {
    const PROTOCOL: Protocol = Protocol {
        name: "bicoptor",
        parties: PARTIES..=PARTIES,
        options: Options::specs,
        own: &[("security", "semi-honest")],
        signs: bicoptor::SIGNS,
        printed_form: true,
        ..Protocol::PLAIN
    };

    fn security(&self, _parties: usize) -> String {
        "semi-honest, 1 of 3 corrupt".into()
    }

    fn tolerance(&self) -> Tolerance {
        self.truncation.into()
    }

    fn scheme(&self, instance: &Instance) -> Option<Scheme> {
        let bits = instance.width;
        Some(match self.sharing {
            Sharing::Ubl => Scheme::Holders { bits },
            Sharing::Rss => Scheme::Replicated { bits },
        })
    }

    fn start(&self, instance: &Instance, party: Party) -> Result<Erased<'static>, Error> {
        let (bits, options) = (instance.width, self.of(instance));
        Ok(match self.sharing {
            Sharing::Ubl => ubl::machine(bits, party, options)?,
            Sharing::Rss => rss::machine(bits, party, options)?,
        })
    }

    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        let (bits, options) = (instance.width, self.of(instance));
        Ok(match self.sharing {
            Sharing::Ubl => ubl::cost(bits, options),
            Sharing::Rss => rss::cost(bits, options),
        })
    }
}

impl Options {
    fn of(&self, instance: &Instance) -> bicoptor::Options {
        bicoptor::Options {
            truncation: self.truncation,
            form: match instance.as_printed {
                true => Form::Printed,
                false => Form::Corrected,
            },
            comparison: self.comparison,
            link: instance.link,
        }
    }
}

//! Liu et al.'s protocols over Shamir's sharing, between many parties.

use tacit_client::Scheme;
use tacit_net::Party;
use tacit_protocols::machine::{CostModel, Erased};
use tacit_protocols::shamir::{self, Comparison, MAX_PARTIES, Opening};

use super::option::{Count, options};
use super::{System, SystemOptions};
use crate::instance::{Instance, Tolerance};
use crate::{Error, Protocol};

options! {
    /// What is chosen of the protocols over Shamir's sharing.
    struct Options {
        /// How many parties may be corrupt together; as many as possible, fewer than half, if not given.
        threshold: Option<usize> = Count,
        /// How signs are taken, by what costs less where that is left open (auto): under falcon by adding up
        /// bits (adder) or as in its paper (falcon), under bicoptor by adding up bits (adder) or from key bits
        /// (bicoptor), under shamir by a tree of products (tree, fewest bytes) or by a rotation (rot, fewest
        /// rounds).
        comparison: Comparison = [
            ("auto", Comparison::Auto),
            ("tree", Comparison::Tree),
            ("rot", Comparison::Rot),
        ],
        /// How values are opened: through a king (fewest bytes), by everyone to everyone (direct, fewest
        /// rounds), or by what is faster on the network.
        opening: Opening = [
            ("auto", Opening::Auto),
            ("king", Opening::King),
            ("direct", Opening::Direct),
        ],
    }
}

impl System for Options {
    const PROTOCOL: Protocol = Protocol {
        name: "shamir",
        parties: 3..=MAX_PARTIES,
        widths: &[31, 61],
        options: Options::specs,
        own: &[("security", "semi-honest"), ("truncation", "unbiased")],
        ..Protocol::PLAIN
    };

    fn among(self, parties: usize) -> Result<Self, Error> {
        let most = parties.saturating_sub(1) / 2;
        let threshold = self.threshold.unwrap_or(most);
        if !(1..=most).contains(&threshold) {
            let why = format!(
                "{threshold} of {parties} parties cannot be corrupt; choose 1 to {most}, always fewer than half"
            );
            return Err(Error::setting("threshold", why));
        }
        Ok(Options {
            threshold: Some(threshold),
            ..self
        })
    }

    fn security(&self, parties: usize) -> String {
        let threshold = self.threshold.unwrap_or_default();
        format!("semi-honest, up to {threshold} of {parties} corrupt")
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance {
            rounding: 2,
            ..Tolerance::default()
        }
    }

    fn scheme(&self, instance: &Instance) -> Option<Scheme> {
        Some(Scheme::Shamir {
            bits: instance.width,
            parties: instance.parties,
            threshold: self.threshold.unwrap_or_default(),
        })
    }

    fn start(&self, instance: &Instance, party: Party) -> Result<Erased<'static>, Error> {
        Ok(shamir::machine(instance.width, party, &self.of(instance))?)
    }

    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        let options = self.of(instance);
        Ok(shamir::cost(instance.width, instance.parties, &options)?)
    }
}

impl Options {
    fn of(&self, instance: &Instance) -> shamir::Options {
        shamir::Options {
            threshold: self.threshold.unwrap_or_default(),
            comparison: self.comparison,
            opening: self.opening,
            link: instance.link,
        }
    }
}

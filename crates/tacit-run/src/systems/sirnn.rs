//! SiRnn: two parties and nobody else, by oblivious transfers.

use tacit_client::Scheme;
use tacit_net::Party;
use tacit_protocols::machine::{CostModel, Erased};
use tacit_sirnn::ot::OtExtension;
use tacit_sirnn::{self as sirnn, PARTIES, Products, Sirnn, SirnnCost};

use super::option::options;
use super::{System, SystemOptions};
use crate::instance::Instance;
use crate::{Error, Protocol};

options! {
    /// What is chosen of SiRnn.
    struct Options {
        /// How oblivious transfers are made: iknp, softspoken2, softspoken (by 4) and softspoken8 send
        /// fewer bytes for more computing in this order; silent sends far fewer.
        ot: OtExtension = [
            ("softspoken", OtExtension::SoftSpoken { k: 4 }),
            ("softspoken2", OtExtension::SoftSpoken { k: 2 }),
            ("softspoken8", OtExtension::SoftSpoken { k: 8 }),
            ("iknp", OtExtension::SoftSpoken { k: 1 }),
            ("silent", OtExtension::Silent),
        ],
        /// How matrix products and convolutions are computed: by oblivious transfers (ot), by encryption
        /// under ring learning with errors (rlwe), or by whichever takes less time on the network (auto).
        products: Products = [
            ("auto", Products::Auto),
            ("ot", Products::Ot),
            ("rlwe", Products::Rlwe),
        ],
    }
}

impl System for Options {
    const PROTOCOL: Protocol = Protocol {
        name: "sirnn",
        parties: PARTIES..=PARTIES,
        roles: &["server", "client"],
        options: Options::specs,
        own: &[("security", "semi-honest"), ("truncation", "floor")],
        mixed: true,
        signs: sirnn::SIGNS,
        ..Protocol::PLAIN
    };

    fn security(&self, _parties: usize) -> String {
        "semi-honest, 1 of 2 corrupt".into()
    }

    fn scheme(&self, instance: &Instance) -> Option<Scheme> {
        let bits = instance.width;
        Some(Scheme::Pair { bits })
    }

    fn start(&self, instance: &Instance, party: Party) -> Result<Erased<'static>, Error> {
        Ok(Erased::new(Sirnn::new(party, self.of(instance))?))
    }

    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        Ok(Box::new(SirnnCost::new(self.of(instance))))
    }
}

impl Options {
    fn of(&self, instance: &Instance) -> sirnn::Options {
        sirnn::Options {
            bits: instance.width,
            sign_bits: instance.compare_bits,
            kind: self.ot,
            products: self.products,
            link: instance.link,
        }
    }
}

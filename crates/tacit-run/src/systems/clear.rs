//! No protocol: every party computes the same in the clear.

use tacit_client::Scheme;
use tacit_net::Party;
use tacit_protocols::clear::{self, ClearCost};
use tacit_protocols::machine::{CostModel, Erased};

use super::option::options;
use super::{System, SystemOptions};
use crate::instance::Instance;
use crate::{Error, Protocol};

options! {
    /// What is chosen of clear text: nothing.
    struct Options {}
}

impl System for Options {
    const PROTOCOL: Protocol = Protocol {
        name: "clear",
        parties: 1..=16,
        options: Options::specs,
        own: &[("security", "semi-honest"), ("truncation", "floor")],
        ..Protocol::PLAIN
    };

    fn security(&self, _parties: usize) -> String {
        "none: clear text".into()
    }

    fn scheme(&self, _instance: &Instance) -> Option<Scheme> {
        None
    }

    fn start(&self, instance: &Instance, party: Party) -> Result<Erased<'static>, Error> {
        Ok(clear::machine(instance.width, party))
    }

    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error> {
        Ok(Box::new(ClearCost::new(instance.parties, instance.width)))
    }
}

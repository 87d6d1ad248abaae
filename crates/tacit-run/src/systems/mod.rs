//! The protocols that can be chosen. Each is a file that has its options, what it protects against, its
//! machine and its cost, and has its name in the last lines here.
//!
//! # Options
//!
//! A protocol declares its options once, with their help and their values (`options!` in its file in
//! `tacit-run/src/systems/`). `Settings` keeps what is given by key and refuses keys that no protocol
//! has; an `Instance` has the protocol's own typed `Options`, and refuses keys that only others have:
//! they would change nothing. What the parties agree on, the report's fields and the lines of config
//! files are the options' keys and values. The extension module lists them (`protocols()`), and
//! `python/tacit/protocols.py` makes flags, help and arguments of the list.

mod option;

use serde_json::Value;
use tacit_client::Scheme;
use tacit_net::Party;
use tacit_protocols::Truncation;
use tacit_protocols::machine::{CostModel, Erased, Machine};
use tacit_protocols::signs::Signs;

use crate::instance::{Instance, Tolerance};
use crate::{Error, Protocol, Settings};
pub use option::OptionSpec;
pub(crate) use option::{SystemOptions, Values};

/// A protocol with its options chosen.
trait System: SystemOptions {
    const PROTOCOL: Protocol;

    /// The options with what depends on the number of parties.
    fn among(self, _parties: usize) -> Result<Self, Error> {
        Ok(self)
    }

    /// What the system protects against between `parties` parties, in words.
    fn security(&self, parties: usize) -> String;

    /// How far the system's results may be from the floor.
    fn tolerance(&self) -> Tolerance {
        Tolerance::default()
    }

    /// How clients that are no party share their inputs; `None` where that would protect nothing.
    fn scheme(&self, instance: &Instance) -> Option<Scheme>;

    /// Makes the party's machine for the instance's width.
    fn start(&self, instance: &Instance, party: Party) -> Result<Erased<'static>, Error>;

    /// The cost that the protocol declares for an instance.
    fn cost(&self, instance: &Instance) -> Result<Box<dyn CostModel>, Error>;
}

impl From<Truncation> for Tolerance {
    fn from(kind: Truncation) -> Self {
        Tolerance {
            rounding: u64::from(kind != Truncation::Exact),
            large_errors: matches!(kind, Truncation::Aby3 | Truncation::SecureMl),
            wrong_signs: false,
        }
    }
}

impl Instance {
    /// Makes the party's machine and runs the program on it, whose error the others are told.
    pub fn start<T>(
        &self,
        party: Party,
        program: impl FnOnce(&mut Erased) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut machine = self.make(party)?;
        program(&mut machine).inspect_err(|error| error.tell(machine.party()))
    }
}

macro_rules! systems {
    ($($System:ident: $file:ident,)+) => {
        $(mod $file;)+

        /// The protocols that can be chosen.
        pub fn protocols() -> &'static [Protocol] {
            static PROTOCOLS: &[Protocol] = &[$($file::Options::PROTOCOL),+];
            PROTOCOLS
        }

        /// What all systems answer about signs, in their order: a plan that is made for none in particular asks all of
        /// them.
        pub const SIGNS: &[Signs] = &[$($file::Options::PROTOCOL.signs),+];

        /// What is chosen of a protocol.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Chosen {
            $($System($file::Options),)+
        }

        impl Chosen {
            /// What the settings choose of their protocol, and what follows from so many parties.
            pub fn new(settings: &Settings, parties: usize) -> Result<Self, Error> {
                $(if settings.protocol.name == $file::Options::PROTOCOL.name {
                    let options = $file::Options::read(settings)?;
                    return options.among(parties).map(Chosen::$System);
                })+
                Err(Error::setting("protocol", "there is no such protocol"))
            }

            /// Each option with its key.
            pub fn values(&self) -> Vec<(&'static str, Value)> {
                match self { $(Chosen::$System(options) => options.values(),)+ }
            }

            /// What the chosen system protects against between `parties` parties, in words.
            pub fn security(&self, parties: usize) -> String {
                match self { $(Chosen::$System(options) => options.security(parties),)+ }
            }

            /// How far a result may be from the floor.
            pub fn tolerance(&self) -> Tolerance {
                match self { $(Chosen::$System(options) => options.tolerance(),)+ }
            }
        }

        impl Instance {
            /// Makes the party's machine.
            pub(crate) fn make(&self, party: Party) -> Result<Erased<'static>, Error> {
                match self.options {
                    $(Chosen::$System(options) => options.start(self, party),)+
                }
            }

            /// How clients that are no party share their inputs.
            pub(crate) fn scheme(&self) -> Result<Scheme, Error> {
                let scheme = match self.options { $(Chosen::$System(options) => options.scheme(self),)+ };
                let why = || format!("{} hides nothing from the parties; choose another", self.protocol.name);
                scheme.ok_or_else(|| Error::setting("protocol", why()))
            }

            /// The cost that the chosen protocol declares for an instance.
            pub fn cost(&self) -> Result<Box<dyn CostModel>, Error> {
                match self.options { $(Chosen::$System(options) => options.cost(self),)+ }
            }
        }
    };
}

systems! {
    Falcon: falcon,
    Bicoptor: bicoptor,
    Shamir: shamir,
    Sirnn: sirnn,
    Clear: clear,
}

#[cfg(test)]
mod tests;

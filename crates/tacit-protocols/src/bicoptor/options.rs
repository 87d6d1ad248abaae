//! The options of Bicoptor, and the choice of the comparison by which a sign is taken.

use tacit_algebra::Ring;
use tacit_algebra::window::Form;
use tacit_net::LinkModel;

use super::window;
use crate::machine::{Call, CostModel, KeyBits};
use crate::{Error, Truncation};

/// How signs are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Signs are taken for each call in whichever way is declared to take less time on the link, the offline phase
    /// included.
    Auto,
    /// Signs are taken exactly by adding bits (docs/spec/adder.md): hops with the logarithm of the width.
    Adder,
    /// Signs are taken by key bits, in one round trip to the assistant (docs/spec/bicoptor2.md, section 5). Where none
    /// are promised the adder takes its place.
    Bicoptor,
}

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How products are brought back to their scale.
    pub truncation: Truncation,
    /// The comparison by key bits: corrected, or as printed, which leaks.
    pub form: Form,
    /// How signs are taken.
    pub comparison: Comparison,
    /// The network between the parties, by which [`Comparison::Auto`] chooses.
    pub link: LinkModel,
}

impl Options {
    /// Options with this truncation; the others as a run on one machine has them.
    pub fn new(truncation: Truncation) -> Self {
        Options {
            truncation,
            form: Form::Corrected,
            comparison: Comparison::Auto,
            link: LinkModel::LOCAL,
        }
    }

    /// Refuses the truncation that Bicoptor does not have, the exact one.
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.truncation {
            Truncation::Exact => Err(Error::Invalid(
                "Bicoptor's truncations are gap, aby3 and secureml".into(),
            )),
            _ => Ok(()),
        }
    }

    /// The bits in which `n` signs over the ring `R` are taken by the adder; none where they are taken by
    /// key bits. `model` declares what a run with given options costs.
    pub(super) fn exact<R: Ring, M: CostModel>(
        &self,
        n: usize,
        keys: KeyBits,
        model: fn(Options) -> M,
    ) -> Option<u32> {
        let adds = match self.comparison {
            _ if keys.is_all() => true,
            Comparison::Adder => true,
            Comparison::Bicoptor => false,
            Comparison::Auto if self.form == Form::Printed => false,
            Comparison::Auto => {
                let call = Call::relu(n).by(keys);
                let seconds = |comparison| {
                    let model = model(Options {
                        comparison,
                        ..*self
                    });
                    (model.offline(&[call]) + &model.online(&call)).seconds(&self.link)
                };
                let fits = window::<R>(keys, self.form).is_ok();
                !fits || seconds(Comparison::Adder) < seconds(Comparison::Bicoptor)
            }
        };
        adds.then(|| R::BITS.min(keys.width.max(1)))
    }
}

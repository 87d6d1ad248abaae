//! One organisation's party in a training, from its config file.

use super::program::train;
use super::{Material, TrainConfig, Trained};
use crate::{Error, Progress};

/// Runs this party's part of a training with the parties that its config names, which has been read
/// by [`TrainConfig::load`].
///
/// `material` is the network of the config with this party's data. `on_notice` hears of every peer that is waited for;
/// `observe` hears how far the training is and cancels it by `false`. The network's owner gets the
/// parameters, nobody else does.
pub fn train_party(
    config: &TrainConfig,
    material: Material,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let Some(member) = &config.party else {
        let why = "it is missing: it says which of the [[parties]] this is";
        return Err(Error::setting("[party]", why));
    };
    let settings = config.settings()?;
    let (terms, fixed) = config.training.terms(&settings)?;
    material.check(terms.instance.parties, config.training.loss, fixed)?;
    let party = member.connect(&config.parties, &settings, on_notice)?;
    train(party, &terms, &config.training, fixed, material, observe)
}

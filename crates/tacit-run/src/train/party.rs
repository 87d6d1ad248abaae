//! One organisation's party in a training, from its config file.

use super::program::train;
use super::{Material, TrainConfig, TrainReport, Trained};
use crate::local::guarded;
use crate::record::{Record, Trace};
use crate::{Error, Progress};

/// Runs this party's part of a training with the parties that its config names, which has been read
/// by [`TrainConfig::load`].
///
/// `material` is the network of the config with this party's data. `on_notice` hears of every peer that is waited for;
/// `observe` hears how far the training is and cancels it by `false`. The network's owner gets the
/// parameters, nobody else does. Every run gets a line in the party's record, and one that fails a
/// report.
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
    let record = Record::open(&member.record)?;
    let party = member.connect(&config.parties, &settings, on_notice)?;
    let (us, mut trace) = (party.id(), Trace::default());
    let options = &config.training;
    let ended = guarded(us, || {
        train(party, &terms, options, fixed, material, &mut trace, observe)
    });
    if let (Err(error), Some(path)) = (&ended, &config.output.report) {
        let training = options.training(material.network, fixed);
        let report = TrainReport {
            revealed: trace.ledger.revealed(),
            error: Some(error.to_string()),
            ..TrainReport::new(&terms, options, &training, &[], Vec::new())
        };
        std::fs::write(path, report.to_json()).map_err(|e| Error::file(path, e))?;
    }
    record.add(&terms, (us, &config.parties), &trace, ended.as_ref().err())?;
    ended
}

//! One organisation's party in a training, from its config file.

use std::path::Path;

use serde_json::Value;
use tacit_net::Party;

use super::program::train;
use super::{Dataset, ModelTable, Start, Task, TrainConfig, TrainReport, Trained};
use crate::local::guarded;
use crate::log::logged;
use crate::member::Member;
use crate::party::and_files;
use crate::provenance::{Encounter, Provenance};
use crate::record::{Record, Trace};
use crate::{Error, Progress, check_outputs, write_output};

/// The network and data that [`train_party_with`] trains with.
pub struct Supplies {
    /// The network of the config, with the parameters to start from where it has any.
    pub start: Start,
    /// What this party has to train on: its number, items and targets, set after set.
    pub train: Vec<(usize, Vec<f32>, Vec<f32>)>,
    /// What this party has to try the network on: its number, items and targets, set after set.
    pub test: Vec<(usize, Vec<f32>, Vec<f32>)>,
}

impl Supplies {
    /// Calls `work` with the task.
    pub fn with<T>(&self, work: impl FnOnce(Task) -> T) -> T {
        let (train, test) = (datasets(&self.train), datasets(&self.test));
        work(Task {
            network: &self.start.0,
            train: &train,
            test: &test,
            start: self.start.1.as_deref(),
        })
    }
}

fn datasets(sets: &[(usize, Vec<f32>, Vec<f32>)]) -> Vec<Dataset<'_>> {
    let sets = sets.iter().map(|(owner, x, target)| Dataset {
        owner: *owner,
        x,
        target,
    });
    sets.collect()
}

/// Runs this party's part of a training with the parties that its config names, which has been read
/// by [`TrainConfig::load`].
///
/// `task` is the network of the config with this party's data; if it cannot be used the others are
/// told. `on_notice` hears of every peer that is waited for; `observe` hears how far the training is and
/// cancels it by `false`. The network's owner gets the parameters, nobody else does. Every run gets a
/// line in the party's record, and one that fails a report, beside that of one that ended well. What the
/// config has written is tried before anything is computed.
pub fn train_party(
    config: &TrainConfig,
    task: Task,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let (member, settings) = (config.member()?, config.settings()?);
    let parties = &config.parties;
    let record = member.record(parties, &settings, on_notice)?;
    let checked = config.check_task(task);
    let joined = match checked {
        Ok(()) => member.connect(parties, &settings, on_notice),
        Err(error) => {
            member.refuse(parties, &settings, &error, on_notice);
            Err(error)
        }
    };
    match joined {
        Ok(party) => trained(config, party, record, task, observe),
        Err(error) => config.unmet(record, error),
    }
}

/// Runs this party's part of a training as [`train_party`] does, with the network and data that
/// `prepare` loads on a thread of its own while this party connects.
pub fn train_party_with(
    config: &TrainConfig,
    prepare: impl FnOnce() -> Result<Supplies, Error> + Send + 'static,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let (member, settings, own) = (config.member()?, config.settings()?, config.clone());
    let prepare = move || {
        let supplies = prepare()?;
        supplies.with(|task| own.check_task(task))?;
        Ok(supplies)
    };
    let record = member.record(&config.parties, &settings, on_notice)?;
    match member.connect_while(&config.parties, &settings, on_notice, prepare) {
        Ok((party, supplies)) => {
            supplies.with(|task| trained(config, party, record, task, observe))
        }
        Err(error) => config.unmet(record, error),
    }
}

impl TrainConfig {
    fn member(&self) -> Result<&Member, Error> {
        let why = "it is missing: it says which of the [[parties]] this is";
        (self.party.as_ref()).ok_or_else(|| Error::setting("[party]", why))
    }

    /// Checks what this party brings.
    fn check_task(&self, task: Task) -> Result<(), Error> {
        let (terms, fixed) = self.training.terms(&self.settings()?)?;
        task.check(terms.instance.parties, self.training.loss, fixed)?;
        self.check_files()
    }

    /// Records that this party did not come together with the others, or had nothing to bring.
    fn unmet(&self, mut record: Record, error: Error) -> Result<Trained, Error> {
        let settings = self.settings()?;
        let (terms, _) = self.training.terms(&settings)?;
        let us = self.member()?.number(&self.parties, &settings)?;
        let refused = record.add_unmet(&terms, (us, &self.parties), &error).err();
        and_files(Err(error), refused.into_iter().collect())
    }
}

fn trained(
    config: &TrainConfig,
    party: Party,
    mut record: Record,
    task: Task,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let (terms, fixed) = config.training.terms(&config.settings()?)?;
    let us = party.id();
    let mut trace = Trace {
        encounter: Encounter::of(&party, &config.parties),
        ..Trace::default()
    };
    let options = &config.training;
    let observe = &mut logged(observe);
    let ended = guarded(us, || {
        train(party, &terms, options, fixed, task, &mut trace, observe)
    });
    let mut refused = Vec::new();
    if let (Err(error), Some(path)) = (&ended, &config.output.report) {
        let training = options.training(task.network, fixed);
        let report = TrainReport {
            revealed: trace.ledger.revealed(),
            provenance: Provenance::of(&trace),
            error: Some(error.to_string()),
            ..TrainReport::new(&terms, options, &training, &[], Vec::new())
        };
        let path = match ended_well(path) {
            true => path.with_extension("failed.json"),
            false => path.clone(),
        };
        refused.extend(write_output(&path, report.to_json().as_bytes()).err());
    }
    let error = ended.as_ref().err();
    refused.extend(
        record
            .add(&terms, (us, &config.parties), &trace, error)
            .err(),
    );
    and_files(ended, refused)
}

/// Whether a file is the report of a training that did not fail.
fn ended_well(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get("epochs").is_some() && report.get("error").is_none()
}

impl TrainConfig {
    /// Refuses outputs that could not be written, or that are what the training needs.
    fn check_files(&self) -> Result<(), Error> {
        let output = &self.output;
        let written = [&output.model, &output.report, &output.page];
        let outputs: Vec<&Path> = (written.into_iter().flatten())
            .map(|path| path.as_path())
            .collect();
        let model = match &self.model {
            ModelTable::File { file } => Some(file),
            ModelTable::Layers(options) => options.weights.as_ref(),
        };
        let own = self.party.as_ref().map(Member::paths);
        let inputs: Vec<&Path> = (model.into_iter())
            .chain(own.into_iter().flatten())
            .chain(self.parties.iter().map(|peer| &peer.certificate))
            .map(|path| path.as_path())
            .collect();
        check_outputs(&outputs, &inputs)?;
        self.training.check_folders()
    }
}

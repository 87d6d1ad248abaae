//! Training: the owners share their data, all parties train, the model's owner learns the weights.

mod agree;
mod begin;
mod checkpoint;
mod config;
mod cost;
mod items;
mod options;
mod party;
mod program;
mod reference;
mod report;
mod setup;
mod task;

use std::fmt;
use std::path::Path;

use tacit_net::memory;
use tacit_nn::onnx::{self, ImportOptions, MissingValues};
use tacit_train::{Coin, FixedPoint, Network, Training, from_graph, uniform};

#[cfg(test)]
pub(crate) use begin::Identity;
pub use config::{DataTable, ModelTable, OutputTable, TrainConfig};
pub use cost::{Sizes, TrainCost};
pub use options::{CheckpointOptions, ModelOptions, TrainOptions};
pub use party::{Supplies, train_party, train_party_with};
pub use reference::{Moment, train_reference};
pub use report::{EpochReport, Resumed, TrainReport};

use crate::local::in_threads;
use crate::log::logged;
use crate::record::Trace;
use crate::terms::Terms;
use crate::{Error, Progress, Settings};
use program::train;

/// Data that one party owns: items and their targets, one-hot or values.
#[derive(Clone, Copy)]
pub struct Dataset<'a> {
    /// The number of the party that brings the data.
    pub owner: usize,
    /// The items one after the other.
    pub x: &'a [f32],
    /// The items' targets, one after the other.
    pub target: &'a [f32],
}

/// Shows the sizes without the items: they are secret.
impl fmt::Debug for Dataset<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("owner", &self.owner)
            .field("numbers", &self.x.len())
            .finish()
    }
}

/// What a training ends with.
#[derive(Clone)]
pub struct Trained {
    /// The network's parameters, as [`Network::parameters`] lists them; none for a party that is
    /// not the model's owner.
    pub parameters: Option<Vec<Vec<f32>>>,
    /// What the training cost.
    pub report: TrainReport,
}

/// Shows how many parameters there are, without these: they are the model owner's.
impl fmt::Debug for Trained {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parameters = self.parameters.as_ref().map(Vec::len);
        f.debug_struct("Trained")
            .field("parameters", &parameters)
            .field("report", &self.report)
            .finish()
    }
}

/// Everything that a training needs.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The network to train.
    pub network: &'a Network,
    /// What is trained on; several owners may bring some.
    pub train: &'a [Dataset<'a>],
    /// What the network is tried on after every epoch.
    pub test: &'a [Dataset<'a>],
    /// The parameters to start from; random ones if not given.
    pub start: Option<&'a [Vec<f32>]>,
}

/// Trains with all parties in this process, joined by memory links: a simulation, as
/// [`crate::run_local`].
pub fn train_local(
    options: &TrainOptions,
    settings: &Settings,
    task: Task,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Trained, Error> {
    let (terms, fixed) = options.terms(settings)?;
    task.check(terms.instance.parties, options.loss, fixed)?;
    options.check_folders()?;
    let observe = &mut logged(observe);
    let mesh = memory::mesh(
        terms.instance.parties,
        &terms.instance.link,
        settings.timeout,
    );
    let all = in_threads(mesh, observe, |party, observe| {
        let mut trace = Trace::default();
        train(party, &terms, options, fixed, task, &mut trace, observe)
    })?;
    let owners = all.into_iter().nth(terms.roles.model_owner);
    owners.ok_or_else(|| Error::setting("model_owner", "there is no such party"))
}

/// A network, and what it starts from where that is given.
pub type Start = (Network, Option<Vec<Vec<f32>>>);

impl ModelTable {
    /// The network, with the weights of its file if it has one.
    pub fn build(&self) -> Result<Start, Error> {
        match self {
            ModelTable::File { file } => {
                let every_number_is_there = ImportOptions {
                    missing: MissingValues::Never,
                    ..ImportOptions::default()
                };
                let graph = onnx::load(file, &every_number_is_there)?;
                refuse_dropout(file)?;
                let (network, start) = from_graph(&graph)?;
                Ok((network, Some(start)))
            }
            ModelTable::Layers(options) => {
                let network = options.build()?;
                let start = options.start(&network)?;
                Ok((network, start))
            }
        }
    }
}

/// Refuses a file with Dropout, which the import leaves out: nothing of it would be trained.
fn refuse_dropout(file: &Path) -> Result<(), Error> {
    let bytes = std::fs::read(file).map_err(|e| Error::file(file, e))?;
    match onnx::named_nodes(&bytes, "Dropout")?.first() {
        None => Ok(()),
        Some(node) => {
            let why = format!(
                "the node '{}' (Dropout) would not be trained: a file is read as it predicts. Leave it out, or name the layers",
                node.escape_debug()
            );
            Err(Error::file(file, why))
        }
    }
}

impl TrainOptions {
    /// The parameters that a training with these options starts from if none are given: the same for
    /// everybody who knows the seed.
    pub fn initial(&self, network: &Network) -> Vec<Vec<f32>> {
        network.initial(uniform(self.seed ^ 0x5eed))
    }

    /// The terms of a training with these settings, and how its numbers are written.
    fn terms(&self, settings: &Settings) -> Result<(Terms, FixedPoint), Error> {
        settings.check_no_prediction("run")?;
        let mut terms = Terms::new(settings, self.width()?, Default::default(), false)?;
        let (protocol, width) = (settings.protocol, terms.instance.width);
        if self.sign_bits.is_some_and(|bits| bits != width) && protocol.signs.narrow.is_none() {
            let why = format!("{} has none to choose; leave it out", protocol.name);
            return Err(Error::setting("sign_bits", why));
        }
        terms.instance.compare_bits = self.sign_bits(terms.instance.width)?;
        let fixed = self.fixed(terms.instance.width)?;
        self.check_optimiser(fixed)?;
        Ok((terms, fixed))
    }

    fn training<'a>(&'a self, network: &'a Network, fixed: FixedPoint) -> Training<'a> {
        Training {
            network,
            fixed,
            loss: self.loss,
            optimiser: self.optimiser(),
            coin: Coin::default(),
            whole: self.batch,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

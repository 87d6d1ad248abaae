//! What a training cost.

use serde::{Deserialize, Serialize};
use tacit_nn::plan::Modulus;
use tacit_train::{Scores, Training};

use super::TrainOptions;
use crate::provenance::Provenance;
use crate::record::{Revealed, Trace};
use crate::report::PhaseReport;
use crate::terms::Terms;
use crate::totals::Totals;

/// What a training cost. Serialises to the project's JSON report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrainReport {
    /// The version of Tacit.
    pub tacit: String,
    /// The date of the run, and the parties that met.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The protocol's name.
    pub protocol: String,
    /// What the protocol protects against.
    pub security: String,
    /// The number of parties.
    pub parties: usize,
    /// What the numbers are, such as `64-bit ring`.
    pub numbers: String,
    /// Fraction bits of every number.
    pub fraction_bits: u32,
    /// The kind of truncation.
    pub truncation: String,
    /// The network that was emulated between the parties.
    pub network: String,
    /// Numbers that the training changes.
    pub parameters: usize,
    /// Items of a mini-batch.
    pub batch: usize,
    /// Mini-batches of this run; one that went on from a checkpoint does not count those before.
    pub batches: usize,
    /// Agreement, keys, and sharing data and weights.
    pub setup: PhaseReport,
    /// What making correlated randomness took.
    pub offline: PhaseReport,
    /// The steps and the evaluations.
    pub online: PhaseReport,
    /// What each epoch took and reached, in their order.
    pub epochs: Vec<EpochReport>,
    /// The most memory that this process ever had, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// The checkpoint that the run went on from, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// What was opened in the run, and to whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revealed: Vec<Revealed>,
    /// The error, of a run that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where a training went on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumed {
    /// Mini-batches that were done before.
    pub after: usize,
    /// Mini-batches of the whole training.
    pub of: usize,
    /// The path of this party's file.
    pub checkpoint: String,
}

/// What one epoch took, and how good the network was after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EpochReport {
    /// The epoch's number, from 1.
    pub epoch: usize,
    /// Wall time at this party, or at the network's owner; evaluation included.
    pub seconds: f64,
    /// The share of test items classified right, where it was revealed.
    pub accuracy: Option<f64>,
    /// The mean cross-entropy of a test item, where it was revealed.
    pub loss: Option<f64>,
    /// The mean squared error of an output on the test data, where it was revealed.
    pub error: Option<f64>,
}

/// How good a network is on test data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quality {
    /// The share of items classified right, for cross-entropy.
    pub accuracy: Option<f64>,
    /// The mean cross-entropy of an item.
    pub loss: Option<f64>,
    /// The mean squared error of an output.
    pub error: Option<f64>,
}

impl Quality {
    /// The quality that the scores of so many items with so many outputs each show.
    pub(super) fn new(scores: Scores, items: usize, outputs: usize) -> Self {
        let items = items as f64;
        match scores.hits {
            Some(hits) => Quality {
                accuracy: Some(hits as f64 / items),
                loss: Some(scores.loss / items),
                error: None,
            },
            None => Quality {
                error: Some(scores.loss / (items * outputs as f64)),
                ..Quality::default()
            },
        }
    }
}

impl TrainReport {
    /// The report of a training without mini-batches; the figures are each party's own words.
    pub(super) fn new(
        terms: &Terms,
        options: &TrainOptions,
        training: &Training,
        totals: &[Totals],
        epochs: Vec<EpochReport>,
    ) -> Self {
        let instance = &terms.instance;
        let parameters = training.network.parameters();
        TrainReport {
            tacit: env!("CARGO_PKG_VERSION").into(),
            provenance: Provenance::of(&Trace::default()),
            protocol: instance.protocol.name.into(),
            security: instance.security(),
            parties: instance.parties,
            numbers: Modulus::of_bits(instance.width).to_string(),
            fraction_bits: training.fixed.fraction,
            truncation: instance.truncation(),
            network: terms.network.name.clone(),
            parameters: parameters.iter().map(|p| p.len).sum(),
            batch: options.batch,
            batches: 0,
            setup: totals.iter().map(|t| t.setup).collect(),
            offline: totals.iter().map(|t| t.offline).collect(),
            online: totals.iter().map(|t| t.online).collect(),
            epochs,
            peak_memory_bytes: crate::report::peak_memory(),
            resumed: None,
            revealed: Vec::new(),
            error: None,
        }
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

//! What a run cost, and how good its result is.

use std::iter::Sum;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tacit_nn::Plan;
use tacit_nn::plan::{Modulus, Order, RANKING};

use crate::Error;
use crate::instance::Instance;
use crate::provenance::Provenance;
use crate::record::{Revealed, Trace};
use crate::settings::EmulatedNetwork;
use crate::terms::Terms;
use crate::totals::Totals;

/// The cost of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseReport {
    /// Wall time of the slowest party.
    pub seconds: f64,
    /// Hops on the longest path.
    pub rounds: u32,
    /// Payload bytes sent by party 0, 1, ...
    pub bytes_sent: Vec<u64>,
}

/// One after the other: everything adds up.
impl Sum for PhaseReport {
    fn sum<I: Iterator<Item = Self>>(phases: I) -> Self {
        let sum = phases.reduce(|mut sum, phase| {
            sum.seconds += phase.seconds;
            sum.rounds += phase.rounds;
            for (sum, bytes) in sum.bytes_sent.iter_mut().zip(phase.bytes_sent) {
                *sum += bytes;
            }
            sum
        });
        sum.unwrap_or_default()
    }
}

/// The cost of one layer in the online phase, all batches together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerReport {
    /// The layer's name.
    pub name: String,
    /// The layer's operation.
    pub op: String,
    /// The shape of one item of its output.
    pub shape: Vec<usize>,
    /// Wall time of the slowest party.
    pub seconds: f64,
    /// Hops on the longest path.
    pub rounds: u32,
    /// Payload bytes sent by the party that sent most.
    pub bytes: u64,
}

/// The wall time of one batch, of the slowest party in each phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchReport {
    /// Making its correlated randomness.
    pub offline_seconds: f64,
    /// Seconds of the online phase, from its inputs to its outputs.
    pub online_seconds: f64,
}

/// What a run would cost, as its protocol declares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedCost {
    /// Once, before the first prediction: agreement, keys, and sharing the weights. Starting the processes and
    /// connecting them is no part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<PhaseReport>,
    /// The phase before the input is there.
    pub offline: PhaseReport,
    /// The phase from the input to the output.
    pub online: PhaseReport,
    /// What `seconds` of the phases mean, in words.
    pub note: String,
    /// Seconds of computing beside the network's, where this machine's speeds are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computing: Option<Seconds>,
    /// Seconds that each phase is expected to take, where that is known: the network's latency, and the longer
    /// of computing and sending, since the parties compute while bytes are on their way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Seconds>,
    /// The most memory of the parties' processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// The most memory of processes, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes of each party in a process of its own.
    pub parties: Vec<u64>,
    /// Bytes of one process with all parties.
    pub together: u64,
}

/// Seconds of each phase, of all parties on this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Once, before the first prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<f64>,
    /// Seconds of the phase before the input is there.
    pub offline: f64,
    /// Seconds of the phase from the input to the output.
    pub online: f64,
}

/// What a run cost, and how good its result is. Serialises to the project's JSON report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The version of Tacit.
    pub tacit: String,
    /// The date of the run, its plan, and the parties that met.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// The protocol's name.
    pub protocol: String,
    /// The number of parties.
    pub parties: usize,
    /// The parties' roles, for a protocol that has names for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The party that brought the model, of a prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_owner: Option<usize>,
    /// The party that brought the inputs, of a prediction, and had the answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_owner: Option<usize>,
    /// What was chosen of the protocol beside its security and truncation, by the options' keys.
    #[serde(flatten)]
    pub options: Map<String, Value>,
    /// What the protocol protects against.
    pub security: String,
    /// Bits of the ring or field.
    pub ring: u32,
    /// The name of the numbers that are computed with, such as `64-bit ring`.
    pub numbers: String,
    /// Fraction bits of every value.
    pub fraction_bits: u32,
    /// The kind of truncation.
    pub truncation: String,
    /// The order of product and truncation.
    pub order: String,
    /// Whether every party knows the weights.
    pub public_model: bool,
    /// The emulated network.
    pub network: String,
    /// What of the outputs was opened to the data owner, of a prediction: `logits`, `probabilities`,
    /// `top-K` or `class`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reveal: Option<String>,
    /// The name of a measured operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The size of a measured operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<usize>,
    /// How much of a measured operation's size ran at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
    /// The number of items predicted, or of runs of a measured operation.
    pub images: usize,
    /// Items predicted at a time.
    pub batch: usize,
    /// Agreement, keys, and sharing the weights; once per run.
    pub setup: PhaseReport,
    /// Correlated randomness, all batches together.
    pub offline: PhaseReport,
    /// The phase from the inputs to the outputs, all batches together.
    pub online: PhaseReport,
    /// The online phase layer by layer.
    pub layers: Vec<LayerReport>,
    /// Each batch by itself; in the first, memory and caches are cold.
    pub batches: Vec<BatchReport>,
    /// The share of items whose class is the label, where labels were given.
    pub accuracy: Option<f64>,
    /// The share of items of the same class as in clear text, where that was compared.
    pub agreement: Option<f64>,
    /// The largest difference from the clear-text float32 outputs, where that was compared. For a measured
    /// operation: from the exact function, or from the same computation in the clear.
    pub max_abs_error: Option<f64>,
    /// The largest difference of a measured operation, as above, in units of the last place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ulp_error: Option<f64>,
    /// The most memory that this process ever had, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// Warnings of what the planner could not be sure of.
    pub warnings: Vec<String>,
    /// Why the answers may be wrong, which nobody could know before they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// What was opened in the run, and to whom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revealed: Vec<Revealed>,
    /// The error, of a run that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Report {
    /// The report of a run that failed: what was given out until then, and nothing measured.
    pub(crate) fn failed(terms: &Terms, trace: &Trace, error: &Error) -> Self {
        Report {
            images: trace.inputs.unwrap_or(0),
            revealed: trace.ledger.revealed(),
            error: Some(error.to_string()),
            provenance: Provenance::of(trace),
            ..Self::of_terms(terms)
        }
    }

    /// The report of a prediction from what all parties metered.
    pub(crate) fn of_prediction(
        terms: &Terms,
        plan: &Plan,
        images: usize,
        batch: usize,
        totals: &[Totals],
    ) -> Self {
        let layers: Vec<LayerReport> = rows(plan)
            .map(|(name, op, shape)| layer(name, op, &shape, totals))
            .collect();
        let mut online: PhaseReport = totals.iter().map(|t| t.online).collect();
        // The longest path may lead through different parties in different layers.
        online.rounds = layers.iter().map(|l| l.rounds).sum();
        Report {
            fraction_bits: plan.fraction_bits,
            reveal: Some(plan.opening.reveal.to_string()),
            model_owner: Some(terms.roles.model_owner),
            data_owner: Some(terms.roles.data_owner),
            images,
            batch,
            setup: totals.iter().map(|t| t.setup).collect(),
            offline: totals.iter().map(|t| t.offline).collect(),
            online,
            layers,
            batches: (0..images.div_ceil(batch))
                .map(|number| batch_report(number, totals))
                .collect(),
            warnings: plan.warnings_for(terms.instance.protocol.signs.key_bits.is_some()),
            doubt: None,
            ..Self::of_terms(terms)
        }
    }

    /// A report of the terms with nothing measured.
    pub(crate) fn of_terms(terms: &Terms) -> Self {
        Report {
            order: terms.order.name().into(),
            public_model: terms.public_model,
            ..Self::empty(&terms.instance, &terms.network)
        }
    }

    /// A report of a run on the emulated network with nothing measured.
    pub fn empty(instance: &Instance, network: &EmulatedNetwork) -> Self {
        Report {
            tacit: env!("CARGO_PKG_VERSION").into(),
            provenance: Provenance::of(&Trace::default()),
            protocol: instance.protocol.name.into(),
            parties: instance.parties,
            roles: instance
                .protocol
                .roles
                .iter()
                .map(|&role| role.into())
                .collect(),
            model_owner: None,
            data_owner: None,
            options: instance
                .choices()
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
            security: instance.security(),
            ring: instance.width,
            numbers: Modulus::of_bits(instance.width).to_string(),
            fraction_bits: 0,
            truncation: instance.truncation(),
            order: Order::default().name().into(),
            public_model: false,
            network: network.name.clone(),
            reveal: None,
            op: None,
            n: None,
            chunk: None,
            images: 0,
            batch: 0,
            setup: PhaseReport::default(),
            offline: PhaseReport::default(),
            online: PhaseReport::default(),
            layers: Vec::new(),
            batches: Vec::new(),
            accuracy: None,
            agreement: None,
            max_abs_error: None,
            max_ulp_error: None,
            peak_memory_bytes: peak_memory(),
            warnings: Vec::new(),
            doubt: None,
            revealed: Vec::new(),
            error: None,
        }
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// What the report lists: the input, every layer, what is found of the output, and its opening.
fn rows(plan: &Plan) -> impl Iterator<Item = (&str, &str, Vec<usize>)> {
    let ends = |name, op, shape| std::iter::once((name, op, shape));
    let ranked = plan.ranking();
    ends("input", "Input", plan.given_shape())
        .chain(
            plan.layers
                .iter()
                .map(|l| (l.name.as_str(), l.op.kind(), l.shape.clone())),
        )
        .chain(ranked.map(|op| (RANKING, op, plan.revealed_shape())))
        .chain(ends("output", "Reveal", plan.revealed_shape()))
}

fn layer(name: &str, op: &str, shape: &[usize], totals: &[Totals]) -> LayerReport {
    let of_party = |t: &Totals| {
        let found = t.layers.iter().find(|(known, _)| known == name);
        found.map(|(_, metered)| *metered).unwrap_or_default()
    };
    let sum: PhaseReport = totals.iter().map(of_party).collect();
    LayerReport {
        name: name.into(),
        op: op.into(),
        shape: shape.into(),
        seconds: sum.seconds,
        rounds: sum.rounds,
        bytes: sum.bytes_sent.into_iter().max().unwrap_or(0),
    }
}

fn batch_report(number: usize, totals: &[Totals]) -> BatchReport {
    let slowest = |phase: usize| {
        let metered = totals.iter().filter_map(|t| t.batches.get(number));
        metered.map(|seconds| seconds[phase]).fold(0.0, f64::max)
    };
    BatchReport {
        offline_seconds: slowest(0),
        online_seconds: slowest(1),
    }
}

/// The high-water mark of this process's memory.
pub(crate) fn peak_memory() -> Option<u64> {
    own_memory("VmHWM:")
}

/// The memory of this process now.
pub(crate) fn memory_now() -> Option<u64> {
    own_memory("VmRSS:")
}

/// A line of Linux's `/proc/self/status`.
fn own_memory(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

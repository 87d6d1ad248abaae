//! Runs of models on protocols: the only floor that knows both, and the sockets between parties.
//!
//! A model is [`Compiled`] once, then predicts: in a [`Session`] with every party a thread of this
//! process, by [`run_processes`] with every party a process joined by TLS on this machine, or by
//! [`run_party`] as one organisation's party from its config file. Every party runs the same
//! program (`job.rs`) and ends with a [`Report`]. [`train_local`] trains. [`Instance::start`] runs any other
//! program on a machine of the protocol that is chosen: what measures is made of it.
//!
//! # Parties stay up
//!
//! A party's machine with a model's weights on it is a `Host` (`crates/tacit-run/src/job/host.rs`), of
//! whatever protocol; it answers numbered requests, of which the parties compare number, inputs and
//! batch. A single run is one request. `Session` keeps all parties of one machine so, `run_party_for`
//! one of several. A [`Service`] keeps it for clients that are no party, who share their inputs among the
//! parties by a [`Sharing`].

use std::fmt;

mod agreement;
mod compiled;
pub mod config;
mod digest;
mod error;
mod given;
mod init;
mod instance;
mod job;
pub mod key_bits;
mod large_errors;
mod local;
mod log;
mod member;
pub mod npy;
mod npz;
pub mod options;
mod outputs;
mod party;
mod party_name;
mod ports;
mod predict;
mod processes;
mod protocol;
mod provenance;
mod record;
mod refuse;
mod rehearsal;
mod report;
mod requests;
pub mod score;
mod secret;
mod serve;
mod session;
mod settings;
pub mod speeds;
mod systems;
mod terms;
mod told;
mod totals;
mod train;

pub use compiled::{CompileOptions, Compiled, PlanSummary};
pub use config::PartyConfig;
pub use error::{Error, Fields};
pub use given::{Array, Given, Held};
pub use init::{InitOptions, init};
pub use instance::{Instance, Tolerance};
pub use job::{Gauge, Observer, Outcome, Progress};
pub use local::in_threads;
pub use log::logged;
pub use member::{Member, PeerConfig};
pub use outputs::{check_outputs, write_output};
pub use party::{run_party, run_party_for};
pub use party_name::PartyName;
pub use processes::run_processes;
pub use protocol::{Protocol, named};
pub use provenance::{Met, Provenance};
pub use record::Revealed;
pub use refuse::{members, refuse};
pub use rehearsal::Rehearsal;
pub use report::{BatchReport, LayerReport, Memory, PhaseReport, PredictedCost, Report, Seconds};
pub use requests::Requests;
pub use secret::Secret;
pub use serve::{Id, Refused, ServeConfig, Service, Sharing, Times, check_given};
pub use session::{Session, run_local};
pub use settings::{EmulatedNetwork, Settings, asked_width};
pub use systems::{OptionSpec, SIGNS, protocols};
pub use tacit_net::certs::{Certificate, generate_next};
pub use tacit_net::{date, interrupt};
pub use tacit_train::to_onnx;
pub use totals::Metered;
pub use train::{
    CheckpointOptions, DataTable, Dataset, EpochReport, ModelOptions, ModelTable, Moment,
    OutputTable, Resumed, Sizes, Supplies, Task, TrainConfig, TrainCost, TrainOptions, TrainReport,
    Trained, train_local, train_party, train_party_with, train_reference,
};

/// A tensor of floats in row-major order, the batch axis first.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    /// The elements, in row-major order.
    pub values: &'a [f32],
    /// The sizes of the axes.
    pub shape: &'a [usize],
}

/// Shows the shape without the elements: they are secret.
impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("shape", &self.shape)
            .finish()
    }
}

impl Tensor<'_> {
    /// Where the first number is that is infinite, in words, if there is any.
    pub(crate) fn beyond(&self) -> Option<String> {
        let at = self.values.iter().position(|v| v.is_infinite())?;
        let mut rest = at;
        let mut place: Vec<usize> = Vec::new();
        for &size in self.shape.iter().skip(1).rev() {
            place.insert(0, rest % size.max(1));
            rest /= size.max(1);
        }
        let value = self.values[at];
        Some(format!(
            "item {rest}, position {place:?}, is {value}; every value must be a finite number"
        ))
    }

    /// Items along the first axis.
    pub(crate) fn items(&self) -> u64 {
        self.shape.first().copied().unwrap_or(0) as u64
    }
}

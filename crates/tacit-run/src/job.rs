//! The program that every party runs: agree, share the model, predict batch after batch, compare
//! meters; and again for as many requests as there are.

mod agree;
mod gauge;
mod host;
mod joined;
mod next;
mod served;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tacit_net::Party;
use tacit_nn::graph::Output;
use tacit_nn::{Graph, Plan};

use crate::Report;
use crate::given::Given;

#[cfg(test)]
pub(crate) use agree::agree_again;
pub use gauge::Gauge;

pub(crate) use agree::{
    INPUTS, MATERIAL_BYTES, Model, agree, agree_on_model, check_reveal, item_material,
};
pub(crate) use host::{Host, Load};
pub(crate) use joined::{Joined, Request};
pub(crate) use served::{Served, Serving};

/// A model with its plan for this run.
#[derive(Clone, Copy)]
pub(crate) struct Planned<'a> {
    pub graph: &'a Graph,
    pub plan: &'a Plan,
}

/// What one party brings.
#[derive(Clone, Copy)]
pub(crate) struct Contribution<'a> {
    /// The plan of the model, at its owner alone.
    pub model: Option<Planned<'a>>,
    /// The input, at the data's owner alone.
    pub input: Option<Given<'a>>,
    /// The true classes of the input, where there are any.
    pub labels: Option<&'a [i64]>,
    /// The file that the outputs go to, if one is asked for.
    pub into: Option<&'a Path>,
}

/// How far a run is.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// `setup`, `offline` or `online`.
    pub phase: &'static str,
    /// The layer's name; empty outside the layers.
    pub layer: &'a str,
    /// The layer's number, from 0.
    pub index: usize,
    /// The number of layers.
    pub layers: usize,
    /// The batch's number, from 0.
    pub batch: usize,
    /// The number of batches.
    pub batches: usize,
    /// Tells more than the steps, within a batch of a prediction.
    pub gauge: Option<&'a Arc<Gauge>>,
}

impl Progress<'_> {
    /// Steps done in a hundred.
    pub fn percent(&self) -> usize {
        let (done, total) = self.steps();
        100 * done / total.max(1)
    }

    /// Steps done and steps in all: an offline phase and the layers, for every batch.
    pub fn steps(&self) -> (usize, usize) {
        let per_batch = self.layers + 1;
        let within = if self.phase == "online" {
            1 + self.index
        } else {
            0
        };
        (self.batch * per_batch + within, self.batches * per_batch)
    }
}

/// Hears how far the run is; `false` cancels it.
pub type Observer<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// What a run ends with at one party.
#[derive(Clone)]
pub struct Outcome {
    /// The model's outputs, item after item and in each of them one behind the other; `None` for a party
    /// that does not learn them.
    pub output: Option<Vec<f32>>,
    /// The model's outputs by name, with their shapes and what the receiver computes of them.
    pub outputs: Vec<Output>,
    /// What the run cost.
    pub report: Report,
}

/// Shows an outcome without the outputs: they are the data owner's.
impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("output", &self.output.as_ref().map(Vec::len))
            .field("outputs", &self.outputs)
            .field("report", &self.report)
            .finish()
    }
}

fn tell(party: &mut Party, step: &'static str, bytes: &[u8]) -> Result<(), tacit_protocols::Error> {
    let us = party.id();
    for peer in (0..party.parties()).filter(|&peer| peer != us) {
        party.send(peer, step, bytes.to_vec())?;
    }
    Ok(())
}

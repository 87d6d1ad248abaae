//! One organisation's party, from its config file.

use crate::agreement::Insists;
use crate::job::{self, Contribution, INPUTS};
use crate::terms::Terms;
use crate::{Compiled, Error, Outcome, PartyConfig, Progress, Tensor, npy, score};

/// Runs this party's part of a prediction with the parties that its config names.
///
/// Everything that this party brings is read and checked before it connects. `on_notice` hears
/// of every peer that is waited for; `observe` hears how far the run is and cancels it by
/// `false`. The outputs and the report are written where the config says.
pub fn run_party(
    config: &PartyConfig,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    let terms = config.terms()?;
    let model = config.compile(&terms)?;
    let input = config.input.as_deref().map(npy::read_floats).transpose()?;
    let labels = config.labels.as_deref().map(npy::read_labels).transpose()?;
    let brings = Contribution {
        model: model
            .as_ref()
            .map(|model| model.planned_for(config.run.protocol))
            .transpose()?,
        input: input
            .as_ref()
            .map(|(values, shape)| Tensor { values, shape }),
    };
    if let Some(x) = &brings.input {
        let insists = Insists {
            item: INPUTS,
            wish: config.inputs.map(|n| n as u64),
            actual: x.items(),
        };
        insists.check()?;
    }
    let member = config.member();
    let party = member.connect(&config.parties, &config.run, on_notice)?;
    let (mut outcome, plan) = job::run(party, &terms, brings, observe)?;
    if let (Some(output), Some(labels)) = (&outcome.output, &labels) {
        outcome.report.accuracy = Some(score::accuracy(&plan, output, labels)?);
    }
    if let (Some(output), Some(path)) = (&outcome.output, &config.output) {
        let shape = [&[outcome.report.images], outcome.output_shape.as_slice()].concat();
        npy::write_floats(path, output, &shape)?;
    }
    if let Some(path) = &config.report {
        std::fs::write(path, outcome.report.to_json()).map_err(|e| Error::file(path, e))?;
    }
    Ok(outcome)
}

impl PartyConfig {
    /// The model, at its owner.
    fn compile(&self, terms: &Terms) -> Result<Option<Compiled>, Error> {
        let Some(path) = &self.model else {
            return Ok(None);
        };
        let samples = self.samples.as_deref().map(npy::read_floats).transpose()?;
        let samples = samples
            .as_ref()
            .map(|(values, shape)| Tensor { values, shape });
        Compiled::of_width(path, &self.plan, samples, terms.instance.width).map(Some)
    }
}

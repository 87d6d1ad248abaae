//! One organisation's party, from its config file.

use tacit_nn::Plan;

use crate::agreement::Insists;
use crate::job::{self, Contribution, INPUTS};
use crate::local::guarded;
use crate::record::{Record, Trace};
use crate::terms::Terms;
use crate::{Compiled, Error, Outcome, PartyConfig, Progress, Report, Tensor, npy, score};

/// Runs this party's part of a prediction with the parties that its config names.
///
/// Everything that this party brings is read and checked while it connects; if it cannot be used the
/// others are told. `on_notice` hears of every peer that is waited for; `observe` hears how far the run is and cancels it by
/// `false`. The outputs and the report are written where the config says; a run that fails has a
/// report, too, and every run a line in the party's record.
pub fn run_party(
    config: &PartyConfig,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    let terms = config.terms()?;
    let (member, own) = (config.member(), config.clone());
    let (parties, run) = (&config.parties, &config.run);
    let (
        party,
        Brings {
            model,
            input,
            labels,
            record,
        },
    ) = member.connect_while(parties, run, on_notice, move || own.prepare())?;
    let brings = Contribution {
        model: model
            .as_ref()
            .map(|model| model.planned_for(config.run.protocol))
            .transpose()?,
        input: input
            .as_ref()
            .map(|(values, shape)| Tensor { values, shape }),
    };
    let (us, mut trace) = (party.id(), Trace::default());
    let ended = guarded(us, || {
        let (outcome, plan) = job::run(party, &terms, brings, &mut trace, observe)?;
        config.write(outcome, &plan, labels.as_deref())
    });
    if let (Err(error), Some(path)) = (&ended, &config.report) {
        let report = Report::failed(&terms, &trace, error);
        std::fs::write(path, report.to_json()).map_err(|e| Error::file(path, e))?;
    }
    record.add(&terms, (us, &config.parties), &trace, ended.as_ref().err())?;
    ended
}

/// What a party brings to a run, checked.
struct Brings {
    model: Option<Compiled>,
    input: Option<(Vec<f32>, Vec<usize>)>,
    labels: Option<Vec<i64>>,
    record: Record,
}

impl PartyConfig {
    /// Reads and checks what this party brings.
    fn prepare(&self) -> Result<Brings, Error> {
        let terms = self.terms()?;
        let input = self.input.as_deref().map(npy::read_floats).transpose()?;
        let labels = self.labels.as_deref().map(npy::read_labels).transpose()?;
        if let Some((values, shape)) = &input {
            let insists = Insists {
                item: INPUTS,
                wish: self.inputs.map(|n| n as u64),
                actual: Tensor { values, shape }.items(),
            };
            insists.check()?;
        }
        let record = Record::open(&self.record)?;
        let model = self.compile(&terms)?;
        if let Some(model) = &model {
            model.planned_for(self.run.protocol)?;
        }
        Ok(Brings {
            model,
            input,
            labels,
            record,
        })
    }

    /// Writes what the config asks for.
    fn write(
        &self,
        mut outcome: Outcome,
        plan: &Plan,
        labels: Option<&[i64]>,
    ) -> Result<Outcome, Error> {
        if let (Some(output), Some(path)) = (&outcome.output, &self.output) {
            let shape = [&[outcome.report.images], outcome.output_shape.as_slice()].concat();
            npy::write_floats(path, output, &shape)?;
        }
        if let (Some(output), Some(labels)) = (&outcome.output, labels) {
            outcome.report.accuracy = Some(score::accuracy(plan, output, labels)?);
        }
        if let Some(path) = &self.report {
            std::fs::write(path, outcome.report.to_json()).map_err(|e| Error::file(path, e))?;
        }
        Ok(outcome)
    }

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

//! One organisation's party, from its config file.

use std::path::Path;

use tacit_net::Party;

use crate::agreement::Insists;
use crate::job::{self, Contribution, INPUTS};
use crate::local::guarded;
use crate::log::logged;
use crate::record::{Record, Trace};
use crate::terms::Terms;
use crate::{
    Compiled, Error, Outcome, PartyConfig, Progress, Report, Tensor, check_outputs, npy, score,
    write_output,
};

/// Runs this party's part of a prediction with the parties that its config names.
///
/// Everything that this party brings is read and checked while it connects, the files that it writes
/// included; if it cannot be used the others are told. `on_notice` hears of every peer that is waited
/// for; `observe` hears how far the run is and cancels it by `false`. The outputs and the report are
/// written where the config says; a run that fails has a report, too, and every run a line in the
/// party's record. Of what cannot be written at the end all the same, the error says where it is instead.
pub fn run_party(
    config: &PartyConfig,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    let terms = config.terms()?;
    let (member, own) = (config.member(), config.clone());
    let (parties, run) = (&config.parties, &config.run);
    let record = member.record(parties, run, on_notice)?;
    match member.connect_while(parties, run, on_notice, move || own.prepare()) {
        Ok((party, brings)) => joined(config, &terms, (party, brings), record, observe),
        Err(error) => {
            let who = (member.number(parties, run)?, parties.as_slice());
            let refused = record.add_unmet(&terms, who, &error).err();
            and_files(Err(error), refused.into_iter().collect())
        }
    }
}

/// The run of a party that is joined with the others.
fn joined(
    config: &PartyConfig,
    terms: &Terms,
    (party, brings): (Party, Brings),
    record: Record,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    let (us, mut trace) = (party.id(), Trace::default());
    let ended = guarded(us, || {
        let Brings {
            model,
            input,
            labels,
        } = &brings;
        let contribution = Contribution {
            model: model
                .as_ref()
                .map(|model| model.planned_for(config.run.protocol))
                .transpose()?,
            input: input
                .as_ref()
                .map(|(values, shape)| Tensor { values, shape }),
            labels: labels.as_deref(),
        };
        let observe = &mut logged(observe);
        let (mut outcome, plan) = job::run(party, terms, contribution, &mut trace, observe)?;
        if let (Some(output), Some(labels)) = (&outcome.output, labels) {
            outcome.report.accuracy = Some(score::accuracy(&plan, output, labels)?);
        }
        Ok(outcome)
    });
    let mut refused = Vec::new();
    if let Ok(outcome) = &ended {
        refused.extend(config.write(outcome).err());
    }
    if let Some(path) = &config.report {
        let report = match &ended {
            Ok(outcome) => outcome.report.to_json(),
            Err(error) => Report::failed(terms, &trace, error).to_json(),
        };
        refused.extend(write_output(path, report.as_bytes()).err());
    }
    let error = ended.as_ref().err();
    refused.extend(
        record
            .add(terms, (us, &config.parties), &trace, error)
            .err(),
    );
    and_files(ended, refused)
}

/// What a run ended with, unless files of it could not be written: an error of them all, after that
/// of the run.
pub(crate) fn and_files<T>(ended: Result<T, Error>, refused: Vec<Error>) -> Result<T, Error> {
    match (ended, refused.is_empty()) {
        (ended, true) => ended,
        (Ok(_), false) => Err(Error::Files(refused)),
        (Err(error), false) => Err(Error::Files(
            std::iter::once(error).chain(refused).collect(),
        )),
    }
}

/// The finite numbers of a file.
fn numbers(path: &Path) -> Result<(Vec<f32>, Vec<usize>), Error> {
    let (values, shape) = npy::read_floats(path)?;
    let tensor = Tensor {
        values: &values,
        shape: &shape,
    };
    match tensor.beyond() {
        None => Ok((values, shape)),
        Some(why) => Err(Error::file(path, why)),
    }
}

/// What a party brings to a run, checked.
struct Brings {
    model: Option<Compiled>,
    input: Option<(Vec<f32>, Vec<usize>)>,
    labels: Option<Vec<i64>>,
}

impl PartyConfig {
    /// Reads and checks what this party brings.
    fn prepare(&self) -> Result<Brings, Error> {
        self.check_files()?;
        let input = self.input.as_deref().map(numbers).transpose()?;
        let labels = self.labels.as_deref().map(npy::read_labels).transpose()?;
        if let Some((values, shape)) = &input {
            let x = Tensor { values, shape };
            self.check_labels(&labels, &x)?;
            let insists = Insists {
                item: INPUTS,
                wish: self.inputs.map(|n| n as u64),
                actual: x.items(),
            };
            insists.check()?;
        }
        let model = self.compile()?;
        if let Some(model) = &model {
            model.planned_for(self.run.protocol)?;
        }
        Ok(Brings {
            model,
            input,
            labels,
        })
    }

    /// Refuses outputs that could not be written, or that are what the run needs.
    fn check_files(&self) -> Result<(), Error> {
        let written = [&self.output, &self.report].into_iter().flatten();
        let outputs: Vec<&Path> = written.map(|path| path.as_path()).collect();
        let given = [&self.model, &self.samples, &self.input, &self.labels];
        let own = [&self.key, &self.certificate, &self.record].into_iter();
        let inputs: Vec<&Path> = (given.into_iter().flatten())
            .chain(own)
            .chain(self.parties.iter().map(|peer| &peer.certificate))
            .map(|path| path.as_path())
            .collect();
        check_outputs(&outputs, &inputs)
    }

    /// Refuses labels that are not one for each input.
    fn check_labels(&self, labels: &Option<Vec<i64>>, x: &Tensor) -> Result<(), Error> {
        match (labels, &self.labels) {
            (Some(labels), Some(path)) if labels.len() as u64 != x.items() => {
                let why = format!("there are {} labels for {} inputs", labels.len(), x.items());
                Err(Error::file(path, why))
            }
            _ => Ok(()),
        }
    }

    /// Writes the outputs where the config asks for them.
    fn write(&self, outcome: &Outcome) -> Result<(), Error> {
        if let (Some(output), Some(path)) = (&outcome.output, &self.output) {
            let shape = [&[outcome.report.images], outcome.output_shape.as_slice()].concat();
            return write_output(path, &npy::floats(output, &shape));
        }
        Ok(())
    }

    /// The model, at its owner.
    fn compile(&self) -> Result<Option<Compiled>, Error> {
        let Some(path) = &self.model else {
            return Ok(None);
        };
        let samples = self.samples.as_deref().map(numbers).transpose()?;
        let samples = samples
            .as_ref()
            .map(|(values, shape)| Tensor { values, shape });
        Compiled::for_protocol(path, &self.plan, samples, self.run.protocol).map(Some)
    }
}

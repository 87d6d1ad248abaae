//! One organisation's party, from its config file.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;

use tacit_net::Party;

use crate::agreement::Insists;
use crate::given::Numbers;
use crate::job::{Contribution, INPUTS, Joined, Request};
use crate::local::guarded;
use crate::log::logged;
use crate::outputs::{self, is_npz, without_number};
use crate::provenance::Encounter;
use crate::record::{Record, Trace};
use crate::requests::{Requests, waited};
use crate::terms::Terms;
use crate::{
    Compiled, Error, Outcome, PartyConfig, Progress, Report, check_outputs, npy, score,
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
    let (mut attendance, party, brings) = Attendance::connect(config, false, on_notice)?;
    let (_, outcome) = attendance.begin(party, &brings, observe)?;
    Ok(outcome)
}

/// Runs a prediction as [`run_party`] does, and then one for every request until there are no more. The
/// requests of the data's owner are files of inputs, whose answers and reports go beside the first's with
/// their number, `answers-2.npy`.
/// All parties stay, or none; while the owner has no request the others wait. A file that cannot be used is
/// an error for `answered`, which gets the outcome of each request, and the owner may name another.
pub fn run_party_for(
    config: &PartyConfig,
    requests: &mut Requests,
    on_notice: &mut dyn FnMut(&str),
    observe: &mut dyn FnMut(Progress) -> bool,
    answered: &mut dyn FnMut(Result<&Outcome, &Error>),
) -> Result<(), Error> {
    let (mut attendance, party, brings) = Attendance::connect(config, true, on_notice)?;
    let (mut joined, outcome) = attendance.begin(party, &brings, observe)?;
    answered(Ok(&outcome));
    let ended = attendance.stay(&mut joined, requests, observe, answered);
    ended.inspect_err(|error| joined.tell(error))
}

/// A party with what it keeps of its runs.
struct Attendance<'a> {
    config: &'a PartyConfig,
    terms: Terms,
    us: usize,
    record: Record,
    encounter: Option<Encounter>,
    /// The number of the last request, from 1.
    number: usize,
}

impl<'a> Attendance<'a> {
    /// Joins the others while this party reads what it brings; it `stays` if it answers more than one
    /// request.
    fn connect(
        config: &'a PartyConfig,
        stays: bool,
        on_notice: &mut dyn FnMut(&str),
    ) -> Result<(Self, Party, Brings), Error> {
        let terms = Terms {
            stays: stays.then_some(config.run.timeout),
            ..config.terms()?
        };
        let (member, own) = (&config.party, config.clone());
        let (parties, run) = (&config.parties, &config.run);
        let mut record = member.record(parties, run, on_notice)?;
        match member.connect_while(parties, run, on_notice, move || own.prepare()) {
            Ok((party, brings)) => {
                let encounter = Encounter::of(&party, parties);
                let attendance = Attendance {
                    config,
                    terms,
                    us: party.id(),
                    record,
                    encounter,
                    number: 0,
                };
                Ok((attendance, party, brings))
            }
            Err(error) => {
                let who = (member.number(parties, run)?, parties.as_slice());
                let refused = record.add_unmet(&terms, who, &error).err();
                and_files(Err(error), refused.into_iter().collect())
            }
        }
    }

    /// The first request.
    fn begin(
        &mut self,
        party: Party,
        brings: &Brings,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(Joined, Outcome), Error> {
        let Brings {
            model,
            input,
            labels,
        } = brings;
        let mut kept = None;
        let outcome = self.run(|attendance, trace| {
            let contribution = Contribution {
                model: model
                    .as_ref()
                    .map(|model| model.planned_for(attendance.config.run.protocol))
                    .transpose()?,
                input: input.as_ref().map(Numbers::given),
                labels: labels.as_deref(),
                into: attendance.config.output.as_deref(),
            };
            let observe = &mut logged(observe);
            let (joined, mut outcome) =
                Joined::begin(party, &attendance.terms, contribution, trace, observe)?;
            if let (Some(output), Some(labels)) = (&outcome.output, labels) {
                outcome.report.accuracy = Some(score::accuracy(joined.plan(), output, labels)?);
            }
            kept = Some(joined);
            Ok(outcome)
        });
        match (kept, outcome) {
            (Some(joined), Ok(outcome)) => Ok((joined, outcome)),
            (kept, Err(error)) => {
                if let Some(mut joined) = kept {
                    joined.tell(&error);
                }
                Err(error)
            }
            (None, Ok(_)) => unreachable!("a party that has answered is joined"),
        }
    }

    /// Answers all requests after the first.
    fn stay(
        &mut self,
        joined: &mut Joined,
        requests: &mut Requests,
        observe: &mut dyn FnMut(Progress) -> bool,
        answered: &mut dyn FnMut(Result<&Outcome, &Error>),
    ) -> Result<(), Error> {
        while let Some(input) = self.next(joined, requests, answered)? {
            answered(Ok(&self.again(joined, input.as_ref(), observe)?));
        }
        Ok(())
    }

    /// Waits for the next request; its inputs, at their owner.
    fn next(
        &self,
        joined: &mut Joined,
        requests: &mut Requests,
        answered: &mut dyn FnMut(Result<&Outcome, &Error>),
    ) -> Result<Option<Option<Numbers>>, Error> {
        if self.us != self.terms.roles.data_owner {
            return Ok(joined.called()?.then_some(None));
        }
        loop {
            let Some(path) = joined.calling(|| requests.next())? else {
                return joined.call(false).map(|()| None);
            };
            let path = path.map_err(|e| Error::setting("requests", without_number(e)))?;
            match self.read(joined, path)? {
                Ok(x) => return joined.call(true).map(|()| Some(Some(x))),
                Err(error) => {
                    self.report(&Err(&error), &Trace::default(), self.number + 1)?;
                    answered(Err(&error));
                }
            }
        }
    }

    /// The inputs of a request, or why it cannot be answered. The others hear meanwhile that this party is
    /// there, however long the file takes.
    fn read(&self, joined: &mut Joined, path: PathBuf) -> Result<Result<Numbers, Error>, Error> {
        let (sender, receiver) = channel();
        let file = path.clone();
        thread::spawn(move || sender.send(Numbers::read(&file)));
        let stopped = || Error::file(&path, "the thread that reads it has stopped");
        let read = joined.calling(|| waited(&receiver))?;
        Ok(read.unwrap_or_else(|| Err(stopped())).and_then(|x| {
            let encoded = x.given().encoded(joined.plan());
            encoded.map_err(|e| Error::file(&path, e))?;
            self.config
                .insists(x.given().items(joined.plan())?)
                .check()?;
            self.config.check_files(self.number + 1, Some(&path))?;
            Ok(x)
        }))
    }

    /// Any request after the first.
    fn again(
        &mut self,
        joined: &mut Joined,
        input: Option<&Numbers>,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Outcome, Error> {
        self.run(|attendance, trace| {
            let request = Request {
                input: input.map(Numbers::given),
                batch: attendance.terms.batch,
            };
            joined.again(request, trace, &mut logged(observe))
        })
    }

    /// Answers a request by `program`, and writes what is to be kept of it, however it ends.
    fn run(
        &mut self,
        program: impl FnOnce(&Self, &mut Trace) -> Result<Outcome, Error>,
    ) -> Result<Outcome, Error> {
        self.number += 1;
        let encounter = self.encounter.clone();
        let mut trace = Trace {
            encounter: encounter.map(|encounter| encounter.request(self.number)),
            ..Trace::default()
        };
        let ended = guarded(self.us, || program(self, &mut trace));
        let mut refused = Vec::new();
        if let Ok(outcome) = &ended {
            refused.extend(self.config.write(outcome, self.number).err());
        }
        refused.extend(self.report(&ended.as_ref(), &trace, self.number).err());
        let (who, error) = (
            (self.us, self.config.parties.as_slice()),
            ended.as_ref().err(),
        );
        refused.extend(self.record.add(&self.terms, who, &trace, error).err());
        and_files(ended, refused)
    }

    /// Writes the report of a request where the config asks for it.
    fn report(
        &self,
        ended: &Result<&Outcome, &Error>,
        trace: &Trace,
        number: usize,
    ) -> Result<(), Error> {
        let Some(path) = &self.config.report else {
            return Ok(());
        };
        let report = match ended {
            Ok(outcome) => outcome.report.to_json(),
            Err(error) => Report::failed(&self.terms, trace, error).to_json(),
        };
        write_output(&numbered(path, number), report.as_bytes())
    }
}

/// The name of an output of a request: the first has that of the config, `answers.npy`, the second
/// `answers-2.npy`. Devices and pipes get all of them.
pub(crate) fn numbered(path: &Path, number: usize) -> PathBuf {
    let is_stream = || path.metadata().is_ok_and(|found| !found.is_file());
    if number == 1 || is_stream() {
        return path.into();
    }
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
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

/// What a party brings to a run, checked.
struct Brings {
    model: Option<Compiled>,
    input: Option<Numbers>,
    labels: Option<Vec<i64>>,
}

impl PartyConfig {
    /// Reads and checks what this party brings.
    fn prepare(&self) -> Result<Brings, Error> {
        self.check_files(1, None)?;
        let input = self.input.as_deref().map(Numbers::read).transpose()?;
        let labels = self.labels.as_deref().map(npy::read_labels).transpose()?;
        let items = input.as_ref().and_then(|x| x.given().likely_items());
        if let Some(items) = items {
            self.check_labels(&labels, items)?;
            self.insists(items).check()?;
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

    /// What this party insists on of a request with so many inputs.
    fn insists(&self, actual: u64) -> Insists {
        Insists {
            item: INPUTS,
            wish: self.inputs.map(|n| n as u64),
            actual,
        }
    }

    /// Refuses outputs of a request that could not be written, or that are what the run needs, its inputs
    /// among them.
    fn check_files(&self, number: usize, asked: Option<&Path>) -> Result<(), Error> {
        let written = [&self.output, &self.report].into_iter().flatten();
        let outputs: Vec<PathBuf> = written.map(|path| numbered(path, number)).collect();
        let outputs: Vec<&Path> = outputs.iter().map(PathBuf::as_path).collect();
        let given = [&self.model, &self.samples, &self.input, &self.labels];
        let inputs: Vec<&Path> = (given.into_iter().flatten())
            .chain(self.party.paths())
            .chain(self.parties.iter().map(|peer| &peer.certificate))
            .map(|path| path.as_path())
            .chain(asked)
            .collect();
        check_outputs(&outputs, &inputs)
    }

    /// Refuses labels that are not one for each input.
    fn check_labels(&self, labels: &Option<Vec<i64>>, items: u64) -> Result<(), Error> {
        match (labels, &self.labels) {
            (Some(labels), Some(path)) if labels.len() as u64 != items => {
                let why = format!("there are {} labels for {items} inputs", labels.len());
                Err(Error::file(path, why))
            }
            _ => Ok(()),
        }
    }

    /// Writes the outputs of a request where the config asks for them.
    fn write(&self, outcome: &Outcome, number: usize) -> Result<(), Error> {
        if let (Some(output), Some(path)) = (&outcome.output, &self.output) {
            let content = outputs::content(output, &outcome.outputs, is_npz(path));
            let path = numbered(path, number);
            return write_output(&path, &content.map_err(|why| Error::file(&path, why))?);
        }
        Ok(())
    }

    /// The model, at its owner.
    fn compile(&self) -> Result<Option<Compiled>, Error> {
        let Some(path) = &self.model else {
            return Ok(None);
        };
        let samples = self.samples.as_deref().map(Numbers::read).transpose()?;
        let samples = samples.as_ref().map(Numbers::given);
        Compiled::planned(path, &self.plan, samples, self.run.protocol).map(Some)
    }
}

//! All parties as processes of this machine, joined by TLS on the loopback.

mod children;

use std::cell::Cell;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tacit_nn::Plan;
use tacit_nn::graph::Output;

use crate::init::Setup;
use crate::job::{Observer, Planned};
use crate::party::numbered;
use crate::ports::free_ports;
use crate::terms::Terms;
use crate::{Compiled, Error, Outcome, Progress, Report, Session, Settings, Tensor, npy, outputs};
use children::Processes;

/// How long processes may take to end after the data's owner reported an error: if they do not, it has
/// refused a request and waits for another.
const REFUSED: Duration = Duration::from_secs(2);
/// How long the processes wait for each other at the start, at least.
const CONNECT: Duration = Duration::from_secs(60);

/// The parties of a model as processes that stay up.
pub(crate) struct Running {
    processes: Processes,
    folders: Vec<PathBuf>,
    /// Removed after the processes have ended.
    folder: TemporaryFolder,
    data_owner: usize,
    timeout: Duration,
    /// The number of the last request, from 1.
    number: usize,
    /// The most memory that a process had so far.
    peak: Option<u64>,
}

impl Running {
    /// Starts every party as a process of its own, `command` with the path of the party's config file as
    /// its last argument, which must do as [`crate::run_party_for`] does with the requests that come by
    /// standard input; and predicts `x`, which the plan takes.
    ///
    /// Keys, certificates and config files are made afresh in a folder that is removed at the end. If one
    /// process fails all are ended. `observe` is called while they compute.
    pub fn begin(
        (compiled, planned): (&Compiled, Planned),
        (settings, terms): (&Settings, &Terms),
        x: Tensor,
        command: &[String],
        observe: Observer,
    ) -> Result<(Self, Outcome), Error> {
        let folder = TemporaryFolder::new()?;
        prepare(&folder.0, compiled, settings, x, terms)?;
        let folders = Setup::folders(&folder.0, &terms.instance);
        let data_owner = terms.roles.data_owner;
        let mut running = Running {
            processes: Processes::start(&folders, data_owner, command)?,
            folders,
            folder,
            data_owner,
            timeout: settings.timeout,
            number: 1,
            peak: None,
        };
        let outcome = running.outcome(planned.plan, observe)?;
        Ok((running, outcome))
    }

    /// Predicts `x`, which the plan takes, by the same processes.
    pub fn again(&mut self, plan: &Plan, x: Tensor, observe: Observer) -> Result<Outcome, Error> {
        self.number += 1;
        let input = numbered(&self.folder.0.join("input.npy"), self.number);
        npy::write_floats(&input, x.values, x.shape)?;
        self.processes.ask(&input);
        self.outcome(plan, observe)
    }

    /// Lets the processes end, which must be within the time that a party may be silent.
    pub fn close(mut self, observe: Observer) -> Result<(), Error> {
        self.processes.dismiss();
        let until = Instant::now() + self.timeout;
        let in_time = |progress: Progress| observe(progress) && Instant::now() < until;
        self.processes
            .wait(self.timeout, &mut { in_time }, || false)
    }

    /// What the parties left in their folders of the last request, once all have.
    fn outcome(&mut self, plan: &Plan, observe: Observer) -> Result<Outcome, Error> {
        let number = self.number;
        let path = |folder: &PathBuf, name: &str| numbered(&folder.join(name), number);
        // A file that is half written is no report.
        let report = |folder: &PathBuf| -> Option<Report> {
            let text = fs::read_to_string(path(folder, "report.json")).ok()?;
            serde_json::from_str(&text).ok()
        };
        let folders = &self.folders;
        let all = || folders.iter().map(report).collect::<Option<Vec<_>>>();
        let owner = &folders[self.data_owner];
        // A request that its owner refuses the others never hear of: then no process ends.
        let refused = || report(owner).and_then(|report| report.error);
        let since = Cell::new(None);
        let stays_refused = || {
            let now = Instant::now();
            refused().is_some()
                && since
                    .replace(since.get().or(Some(now)))
                    .is_some_and(|since| now - since > REFUSED)
        };
        let done =
            || all().is_some_and(|all| all.iter().all(|r| r.error.is_none())) || stays_refused();
        self.processes.wait(self.timeout, observe, done)?;
        if let Some(why) = refused() {
            let owner = self.data_owner;
            return Err(Error::Processes(format!("party {owner}: {why}")));
        }
        let reports = all().ok_or_else(|| Error::Processes("a party left no report".into()))?;
        let most = reports.iter().filter_map(|r| r.peak_memory_bytes).max();
        self.peak = self.peak.max(most);
        let file = output_file(&plan.outputs);
        let output = outputs::read(&path(&folders[self.data_owner], file), &plan.outputs)?;
        let mut own = reports;
        // A long session must not fill the disk; what is left goes with the folder.
        for folder in folders {
            for name in ["report.json", file] {
                let _ = fs::remove_file(path(folder, name));
            }
        }
        let _ = fs::remove_file(numbered(&self.folder.0.join("input.npy"), number));
        Ok(Outcome {
            output: Some(output),
            outputs: plan.outputs.clone(),
            report: Report {
                peak_memory_bytes: self.peak,
                ..own.swap_remove(self.data_owner)
            },
        })
    }
}

/// Predicts `x` once, with every party a process of its own, as [`crate::Session`] does.
pub fn run_processes(
    compiled: &Compiled,
    settings: &Settings,
    x: Tensor,
    command: &[String],
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    let mut session = Session::new(settings.clone(), Some(command.to_vec()));
    let outcome = session.predict(compiled, x, settings.batch, observe)?;
    // The answers are there, however the processes end.
    let _ = session.close(observe);
    Ok(outcome)
}

/// The file of the answers in their owner's folder.
fn output_file(outputs: &[Output]) -> &'static str {
    match outputs.len() {
        1 => "output.npy",
        _ => "output.npz",
    }
}

/// Writes everything that the parties need.
fn prepare(
    dir: &Path,
    compiled: &Compiled,
    settings: &Settings,
    x: Tensor,
    terms: &Terms,
) -> Result<(), Error> {
    let source = &compiled.source;
    source.check()?;
    let model = fs::canonicalize(&source.path)
        .map_err(|e| Error::file(&source.path, format!("the model is no longer there ({e})")))?;
    let (input, samples) = (dir.join("input.npy"), dir.join("samples.npy"));
    npy::write_floats(&input, x.values, x.shape)?;
    if let Some((values, shape)) = &source.samples {
        npy::write_floats(&samples, values, shape)?;
    }
    let setup = Setup {
        settings,
        options: &source.options,
        instance: terms.instance,
        roles: terms.roles,
        ports: free_ports(terms.instance.parties, 1)?,
        connect_timeout: CONNECT.max(settings.timeout).as_secs_f64(),
        model,
        samples: source.samples.is_some().then_some(samples),
        input,
        output: output_file(compiled.outputs()).into(),
    };
    setup.write(dir, "party.toml", Setup::config)
}

/// A folder that only this user may look into, removed at the end.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, Error> {
        let mut name = [0; 8];
        getrandom::fill(&mut name)
            .map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
        let path = std::env::temp_dir().join(format!("tacit-{:016x}", u64::from_le_bytes(name)));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|e| Error::file(&path, e))?;
        Ok(TemporaryFolder(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nobody is left to be told of what could not be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

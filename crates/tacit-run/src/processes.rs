//! All parties as processes of this machine, joined by TLS on the loopback.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tacit_nn::Plan;

use crate::compiled::finite;
use crate::init::Setup;
use crate::local::local_terms;
use crate::terms::Terms;
use crate::{Compiled, Error, Outcome, Progress, Report, Settings, Tensor, npy};

/// How often the processes are looked at.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the others may take to end once one has failed.
const GRACE: Duration = Duration::from_secs(10);
/// How long the processes wait for each other at the start, at least.
const CONNECT: Duration = Duration::from_secs(60);
/// The most of a failed process's words that is shown.
const MAX_WORDS: usize = 2000;

/// Predicts `x` like [`crate::run_local`], but with every party a process of its own: `command`
/// with the path of the party's config file as its last argument, which must do as
/// [`crate::run_party`] does.
///
/// Keys, certificates and config files are made afresh in a folder that is removed at the end.
/// If one process fails all are ended. `observe` is called while they run.
pub fn run_processes(
    compiled: &Compiled,
    settings: &Settings,
    x: Tensor,
    command: &[String],
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, Error> {
    finite("input", &x)?;
    let planned = compiled.planned_for(settings.protocol)?;
    let terms = local_terms(planned, settings)?;
    planned.plan.encode_input(x.values, x.shape)?;
    let folder = TemporaryFolder::new()?;
    prepare(&folder.0, compiled, settings, x, &terms)?;
    let folders = Setup::folders(&folder.0, &terms.instance);
    let mut processes = Processes::start(&folders, command)?;
    processes.wait(settings.timeout, observe)?;
    collect(&folders, planned.plan, &terms)
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
        ports: free_ports(terms.instance.parties)?,
        connect_timeout: CONNECT.max(settings.timeout).as_secs_f64(),
        model,
        samples: source.samples.is_some().then_some(samples),
        input,
    };
    setup.write(dir, "party.toml", Setup::config)
}

/// Ports that were free a moment ago, all different.
fn free_ports(n: usize) -> Result<Vec<u16>, Error> {
    let port = |listener: std::io::Result<TcpListener>| {
        listener.and_then(|l| Ok((l.local_addr()?.port(), l)))
    };
    let held: Result<Vec<_>, _> = (0..n)
        .map(|_| port(TcpListener::bind(("127.0.0.1", 0))))
        .collect();
    let held = held.map_err(|e| Error::setting("127.0.0.1", format!("no port is free ({e})")))?;
    Ok(held.into_iter().map(|(port, _)| port).collect())
}

/// The result, as the parties left it in their folders.
fn collect(folders: &[PathBuf], plan: &Plan, terms: &Terms) -> Result<Outcome, Error> {
    let data_owner = terms.roles.data_owner;
    let report = |folder: &PathBuf| -> Result<Report, Error> {
        let path = folder.join("report.json");
        let text = fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
        serde_json::from_str(&text).map_err(|e| Error::file(&path, e))
    };
    let reports = folders.iter().map(report).collect::<Result<Vec<_>, _>>()?;
    let peak_memory_bytes = reports.iter().filter_map(|r| r.peak_memory_bytes).max();
    let (output, _) = npy::read_floats(&folders[data_owner].join("output.npy"))?;
    let mut own = reports;
    Ok(Outcome {
        output: Some(output),
        output_shape: plan.output_shape.clone(),
        report: Report {
            peak_memory_bytes,
            warnings: plan.warnings_for(terms.instance.protocol.key_bits),
            ..own.swap_remove(data_owner)
        },
    })
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

/// Where rayon reads how many threads a process computes with.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Threads of each of so many processes, which share this machine's cores: as its user says, or
/// together about as many as there are cores.
fn threads(parties: usize) -> OsString {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var_os(THREADS).unwrap_or_else(|| (cores / parties).max(1).to_string().into())
}

/// The running parties; those still alive are killed when this is dropped.
struct Processes {
    children: Vec<(Child, Option<ExitStatus>)>,
    logs: Vec<PathBuf>,
}

impl Processes {
    fn start(folders: &[PathBuf], command: &[String]) -> Result<Self, Error> {
        let [program, arguments @ ..] = command else {
            return Err(Error::setting(
                "command",
                "it is empty; give a program that runs a party",
            ));
        };
        let mut processes = Processes {
            children: Vec::new(),
            logs: Vec::new(),
        };
        for folder in folders {
            let log = folder.join("log");
            let failed = |e: std::io::Error| {
                Error::setting("command", format!("'{program}' cannot be started ({e})"))
            };
            let words = File::create(&log).map_err(|e| Error::file(&log, e))?;
            let child = Command::new(program)
                .args(arguments)
                .env(THREADS, threads(folders.len()))
                .arg(folder.join("party.toml"))
                .stdin(Stdio::null())
                .stdout(words.try_clone().map_err(failed)?)
                .stderr(words)
                .spawn()
                .map_err(failed)?;
            processes.children.push((child, None));
            processes.logs.push(log);
        }
        Ok(processes)
    }

    /// Waits until all have ended well. Once one has ended, the others must within `timeout`.
    fn wait(
        &mut self,
        timeout: Duration,
        observe: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(), Error> {
        let mut until: Option<Instant> = None;
        let mut failed = Vec::new();
        loop {
            let mut running = 0;
            for (party, (child, ended)) in self.children.iter_mut().enumerate() {
                if ended.is_some() {
                    continue;
                }
                let gone = |e: std::io::Error| Error::Processes(format!("party {party}: {e}"));
                *ended = child.try_wait().map_err(gone)?;
                let Some(status) = ended else {
                    running += 1;
                    continue;
                };
                let patience = if status.success() {
                    timeout
                } else {
                    GRACE.min(timeout)
                };
                let limit = Instant::now() + patience;
                until = Some(until.map_or(limit, |until| until.min(limit)));
                if !status.success() {
                    failed.push(party);
                }
            }
            let late = until.is_some_and(|until| Instant::now() >= until);
            if running == 0 || late {
                return self.judge(&failed);
            }
            if !observe(waiting()) {
                return Err(Error::Cancelled);
            }
            thread::sleep(PAUSE);
        }
    }

    /// An error with the words of those that failed, in this order, or that did not end.
    fn judge(&self, failed: &[usize]) -> Result<(), Error> {
        let late = (0..self.children.len()).filter(|&p| self.children[p].1.is_none());
        let mut all = Vec::new();
        for party in failed.iter().copied().chain(late) {
            let how = match self.children[party].1 {
                Some(status) => status.to_string(),
                None => "did not end and was killed".into(),
            };
            all.push(format!(
                "party {party} ({how}): {}",
                last_words(&self.logs[party])
            ));
        }
        if all.is_empty() {
            return Ok(());
        }
        Err(Error::Processes(format!(
            "the processes of parties failed\n{}",
            all.join("\n")
        )))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for (child, ended) in &mut self.children {
            if ended.is_none() {
                // It may have ended by itself in the meantime.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn waiting() -> Progress<'static> {
    Progress {
        phase: "processes",
        layer: "",
        index: 0,
        layers: 0,
        batch: 0,
        batches: 1,
    }
}

/// The end of what a process wrote.
fn last_words(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let words = &bytes[bytes.len().saturating_sub(MAX_WORDS)..];
    let words = String::from_utf8_lossy(words);
    if words.trim().is_empty() {
        "it said nothing".into()
    } else {
        words.trim().into()
    }
}

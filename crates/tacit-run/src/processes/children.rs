//! The processes of parties: started, asked, watched and ended.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::{Error, Progress};

/// How often the processes are looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the others may take to end once one has failed.
const GRACE: Duration = Duration::from_secs(10);
/// The most of a failed process's words that is shown.
const MAX_WORDS: usize = 2000;

/// How often the file is read in which the data's owner tells how far it is.
const LOOK: Duration = Duration::from_millis(100);
/// Where a process reads the path of that file.
const TOLD: &str = "TACIT_PROGRESS";

/// Where rayon reads how many threads a process computes with.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Threads of each of so many processes, which share this machine's cores: as its user says, or
/// together about as many as there are cores.
fn threads(parties: usize) -> OsString {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var_os(THREADS).unwrap_or_else(|| (cores / parties).max(1).to_string().into())
}

/// The running parties; those still alive are killed when this is dropped.
pub(super) struct Processes {
    children: Vec<(Child, Option<ExitStatus>)>,
    logs: Vec<PathBuf>,
    /// Where the data's owner reads its requests; gone when there are no more.
    requests: Option<ChildStdin>,
    /// The file in which the data's owner tells how far it is, as `["online", "conv", 310, 1000]`.
    told: PathBuf,
}

impl Processes {
    pub fn start(
        folders: &[PathBuf],
        data_owner: usize,
        command: &[String],
    ) -> Result<Self, Error> {
        let [program, arguments @ ..] = command else {
            return Err(Error::setting(
                "command",
                "it is empty; give a program that runs a party",
            ));
        };
        let mut processes = Processes {
            children: Vec::new(),
            logs: Vec::new(),
            requests: None,
            told: folders[data_owner].join("progress.json"),
        };
        for (party, folder) in folders.iter().enumerate() {
            let (asked, input) = match party == data_owner {
                true => (true, Stdio::piped()),
                false => (false, Stdio::null()),
            };
            let log = folder.join("log");
            let failed = |e: std::io::Error| {
                Error::setting("command", format!("'{program}' cannot be started ({e})"))
            };
            let words = File::create(&log).map_err(|e| Error::file(&log, e))?;
            let mut command = Command::new(program);
            if asked {
                command.env(TOLD, &processes.told);
            }
            let mut child = command
                .args(arguments)
                .env(THREADS, threads(folders.len()))
                .arg(folder.join("party.toml"))
                // Ctrl-C is for the process that started them, which ends them.
                .process_group(0)
                .stdin(input)
                .stdout(words.try_clone().map_err(failed)?)
                .stderr(words)
                .spawn()
                .map_err(failed)?;
            if asked {
                processes.requests = child.stdin.take();
            }
            processes.children.push((child, None));
            processes.logs.push(log);
        }
        Ok(processes)
    }

    /// Asks the data's owner for the answers of a file of inputs. If it takes no more, its end is found
    /// when it is waited for.
    pub fn ask(&mut self, input: &Path) {
        // How far the last request was is of no interest any more.
        let _ = fs::remove_file(&self.told);
        if let Some(requests) = &mut self.requests {
            let _ = writeln!(requests, "{}", input.display());
        }
    }

    /// Says that there are no more requests.
    pub fn dismiss(&mut self) {
        self.requests = None;
    }

    /// Waits until `done`, or until all have ended well. Once one has ended, the others must within
    /// `timeout`.
    pub fn wait(
        &mut self,
        timeout: Duration,
        observe: &mut dyn FnMut(Progress) -> bool,
        done: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let mut until: Option<Instant> = None;
        let mut failed = Vec::new();
        let (mut told, mut next) = (None, Instant::now());
        loop {
            if done() {
                return Ok(());
            }
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
            if Instant::now() >= next {
                next = Instant::now() + LOOK;
                told = Told::read(&self.told);
            }
            if !observe(told.as_ref().map_or(waiting(), Told::progress)) {
                return Err(Error::Cancelled);
            }
            thread::sleep(PAUSE);
        }
    }

    /// An error with the words of the processes that failed, in this order, or that did not end.
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

/// How far a process says that it is: its phase and layer, and how many steps of how many are done.
#[derive(Deserialize)]
struct Told(String, String, usize, usize);

impl Told {
    /// What stands in a file, if it says anything yet.
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    fn progress(&self) -> Progress<'_> {
        let Told(phase, layer, done, total) = self;
        // A batch without layers is one step, which is done with its online phase.
        let (phase, batch) = match phase.as_str() {
            "online" => ("online", done.saturating_sub(1)),
            "offline" => ("offline", *done),
            _ => ("setup", *done),
        };
        Progress {
            phase,
            layer,
            batch,
            batches: *total,
            ..waiting()
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
        gauge: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_that_a_process_tells() {
        for (phase, done) in [
            ("setup", 0),
            ("offline", 250),
            ("online", 251),
            ("online", 1000),
        ] {
            let text = format!(r#"["{phase}", "conv", {done}, 1000]"#);
            let told: Told = serde_json::from_str(&text).expect("JSON");
            let progress = told.progress();
            assert_eq!(progress.steps(), (done, 1000));
            assert_eq!((progress.phase, progress.layer), (phase, "conv"));
        }
        assert!(Told::read(Path::new("/nowhere")).is_none());
    }
}

//! What a party keeps of its runs: what was opened and to whom, counted while they go on, and one line
//! for each in a file that is only ever added to. A peer that leaves early and comes again, run after
//! run, leaves a trace with everyone that served it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::Audience;

use crate::provenance::{Encounter, Provenance};
use crate::terms::Terms;
use crate::{Error, PeerConfig};

/// Openings of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Revealed {
    /// What was opened, such as `answers`.
    pub what: String,
    /// The parties that learn what was opened; none where clients do that are no party.
    pub to: Vec<usize>,
    /// How many of what was opened the parties have, such as answers.
    pub count: usize,
    /// How many openings gave it out: for answers, batches.
    pub openings: usize,
    /// How many more were being opened when the run ended: they may be known, too.
    pub begun: usize,
}

/// What a run has opened so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Vec<Revealed>);

impl Ledger {
    /// Opens so many of something by `open`, and counts it.
    pub fn watch<T, E>(
        &mut self,
        (what, count): (&str, usize),
        to: Vec<usize>,
        open: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let entry = self.entry(what, to);
        entry.begun = count;
        let opened = open()?;
        entry.begun = 0;
        entry.count += count;
        entry.openings += 1;
        Ok(opened)
    }

    /// Everything that was opened.
    pub fn revealed(&self) -> Vec<Revealed> {
        self.0.clone()
    }

    fn entry(&mut self, what: &str, to: Vec<usize>) -> &mut Revealed {
        let known = (self.0.iter()).position(|entry| entry.what == what && entry.to == to);
        let at = known.unwrap_or_else(|| {
            self.0.push(Revealed {
                what: what.into(),
                to,
                count: 0,
                openings: 0,
                begun: 0,
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// The end of an error that ends a run.
    pub fn words(&self) -> String {
        let to = |entry: &Revealed| match entry.to[..] {
            [] => "clients".into(),
            [party] => format!("party {party}"),
            _ => {
                let all: Vec<_> = entry.to.iter().map(usize::to_string).collect();
                format!("parties {}", all.join(", "))
            }
        };
        let given = |entry: &Revealed| {
            let Revealed {
                what,
                count,
                openings,
                begun,
                ..
            } = entry;
            let to = to(entry);
            let had = format!("{count} {what} to {to} (openings: {openings})");
            let may = format!("{begun} {what} were being opened to {to} and may be known there");
            match (*count > 0, *begun > 0) {
                (true, true) => format!("{had}; {may}"),
                (true, false) => had,
                (false, _) => may,
            }
        };
        match self.0.is_empty() {
            true => "nothing was given out in this run".into(),
            false => {
                let all: Vec<_> = self.0.iter().map(given).collect();
                format!("given out in this run: {}", all.join("; "))
            }
        }
    }
}

/// The parties of an audience among so many.
pub(crate) fn hearers(to: Audience, parties: usize) -> Vec<usize> {
    match to {
        Audience::All => (0..parties).collect(),
        Audience::One(party) => vec![party],
    }
}

/// What a party keeps of a run while it goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// The hash of what is computed, once it is agreed on.
    pub plan: Option<String>,
    /// Inputs of a prediction, items of a training, once they are.
    pub inputs: Option<usize>,
    pub ledger: Ledger,
    /// The session with parties that are apart.
    pub encounter: Option<Encounter>,
}

/// A party's file of runs.
pub(crate) struct Record {
    file: File,
    path: PathBuf,
}

/// One line of it.
#[derive(Serialize)]
struct Line<'a> {
    tacit: &'static str,
    party: usize,
    /// The names that this party's config has for all parties.
    parties: Vec<&'a str>,
    protocol: &'static str,
    security: String,
    #[serde(flatten)]
    provenance: Provenance,
    inputs: Option<usize>,
    revealed: Vec<Revealed>,
    /// `well`, or the error.
    ended: String,
}

impl Record {
    /// Opens the file to add to it, or makes one that only its owner reads: a party that cannot keep
    /// its record does not run.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|e| {
            let why = format!("this party's record of its runs cannot be kept there ({e})");
            Error::file(path, why)
        })?;
        let path = path.to_path_buf();
        Ok(Record { file, path })
    }

    /// Adds a run that has ended, and waits until the line is on disk.
    pub fn add(
        &mut self,
        terms: &Terms,
        who: (usize, &[PeerConfig]),
        trace: &Trace,
        error: Option<&Error>,
    ) -> Result<(), Error> {
        let ended = error.map_or("well".into(), Error::to_string);
        self.line(terms, who, trace, ended)
    }

    /// Adds a run that ended before all parties were there and ready, and waits until the line is on
    /// disk.
    pub fn add_unmet(
        &mut self,
        terms: &Terms,
        who: (usize, &[PeerConfig]),
        error: &Error,
    ) -> Result<(), Error> {
        let ended = format!("while connecting: {error}");
        self.line(terms, who, &Trace::default(), ended)
    }

    fn line(
        &mut self,
        terms: &Terms,
        (party, parties): (usize, &[PeerConfig]),
        trace: &Trace,
        ended: String,
    ) -> Result<(), Error> {
        let line = Line {
            tacit: env!("CARGO_PKG_VERSION"),
            party,
            parties: parties.iter().map(|peer| peer.name.as_str()).collect(),
            protocol: terms.instance.protocol.name,
            security: terms.instance.security(),
            provenance: Provenance::of(trace),
            inputs: trace.inputs,
            revealed: trace.ledger.revealed(),
            ended,
        };
        let failed = |e: std::io::Error| Error::file(&self.path, e);
        let mut text = serde_json::to_string(&line).map_err(|e| failed(e.into()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(failed)?;
        self.file.sync_all().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_out_is_counted() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.words(), "nothing was given out in this run");
        let fails = || Err::<(), ()>(());
        let (first, second) = (|| Ok::<_, ()>(()), || Ok::<_, ()>(()));
        assert!(ledger.watch(("answers", 4), vec![1], first).is_ok());
        assert!(ledger.watch(("answers", 4), vec![1], second).is_ok());
        let words = ledger.words();
        assert!(
            words.contains("8 answers to party 1 (openings: 2)"),
            "{words}"
        );
        assert!(ledger.watch(("answers", 2), vec![1], fails).is_err());
        let words = ledger.words();
        assert!(
            words.contains("2 answers were being opened to party 1"),
            "{words}"
        );
        assert!(ledger.watch(("scores", 1), vec![0, 1, 2], fails).is_err());
        let words = ledger.words();
        assert!(
            words.ends_with("to parties 0, 1, 2 and may be known there"),
            "{words}"
        );
    }
}

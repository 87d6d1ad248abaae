//! What a party of a run has: the messages that it was sent and those that it sent, its shares, and its
//! generators.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::openings::Sharing;
use super::programs::Program;
use super::rows::{N, Row, Words, bits_of, cut, dealer, decode, planes};
use crate::knowledge::{generator, recorded};
use crate::{Subject, run_on};
use tacit_net::testing::Recorder;
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Machine};
use tacit_protocols::machine::{Erased, Handle};

/// What is looked at of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// How results are shared.
    pub sharing: Sharing,
    /// What messages and shares are made of.
    pub words: Words,
    /// The generators of a party, by its number, of which words alone are drawn.
    pub generators: fn(usize) -> Vec<Stream>,
    /// Whether streams and shares are looked at as planes of bits, too.
    pub planes: bool,
    /// Whether a sample takes minutes.
    pub slow: bool,
}

/// A generator: the other party that has it, and what it is for.
pub type Stream = (usize, &'static [u8]);

/// Who brings the secrets of a run, and to whom its result is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    pub owner: usize,
    pub to: Audience,
    /// Whether every other party brings zeros that are added to the secrets, so that each party's
    /// randomness is in their shares.
    pub joint: bool,
    /// Whether holders 0 and 1 send party 2 their shares as they are, instead of the machine's opening.
    pub mutant: bool,
}

impl Roles {
    /// Whether a party hears the result.
    pub fn hears(&self, party: usize) -> bool {
        self.to == Audience::All || self.to == Audience::One(party)
    }
}

/// A run that was looked at.
pub struct Seen {
    pub recorder: Recorder,
    /// What every party ended with, in the order of parties.
    pub ends: Vec<End>,
}

/// A party's shares of the secrets and of the result, and what it was told of that.
pub struct End {
    pub input: Vec<u8>,
    pub result: Vec<u8>,
    pub opened: Option<Vec<i64>>,
}

const RAW: &str = "mutant reveal";

/// Runs a program on secrets and opens its result. The program says when its offline phase is over.
pub fn observe(
    subject: &dyn Subject,
    roles: Roles,
    secrets: &[i64],
    program: impl Fn(&mut Erased, &Handle, &dyn Fn()) -> Result<Handle, Error> + Sync,
) -> Seen {
    let parties = subject.parties();
    let online: Arc<Vec<_>> = Arc::new((0..parties).map(|_| AtomicBool::new(false)).collect());
    let started = online.clone();
    // Of an offline phase, without secrets, only Bicoptor's is looked at, in which one party deals.
    // Others make their masks between all of them, and what a party has of these shows in what it
    // sends and holds.
    let keeps = |step: &str| step.starts_with("key ") || step.contains("input");
    let (recorder, mesh) = recorded(parties, move |from, step| {
        keeps(step) || step.starts_with("bicoptor") || started[from].load(SeqCst)
    });
    let play = |machine: &mut Erased| {
        let id = machine.party().id();
        let own = (id == roles.owner).then_some(secrets);
        let mut x = machine.input(roles.owner, secrets.len(), own)?;
        for owner in (0..parties).filter(|owner| roles.joint && *owner != roles.owner) {
            let zeros = vec![0; secrets.len()];
            let own = (id == owner).then_some(&zeros[..]);
            let y = machine.input(owner, secrets.len(), own)?;
            x = machine.add(&x, &y);
        }
        let z = program(machine, &x, &|| online[id].store(true, SeqCst))?;
        let opened = match roles.mutant {
            false => machine.reveal(&z, roles.to)?,
            true => raw_opening(machine, &z, RAW).map(|()| None)?,
        };
        Ok::<End, Error>(End {
            input: machine.save(&x),
            result: machine.save(&z),
            opened,
        })
    };
    let ends = run_on(mesh, |party| {
        let mut machine = subject.machine(party).expect("keys are agreed");
        play(&mut machine).expect("the program runs")
    });
    Seen { recorder, ends }
}

/// What the parties see of a program whose secrets are one number for each of its rows of samples.
pub fn observe_rows(
    subject: &dyn Subject,
    roles: Roles,
    secrets: &[i64],
    program: Program,
) -> Seen {
    let values: Vec<i64> = secrets.iter().flat_map(|x| vec![*x; N]).collect();
    observe(subject, roles, &values, |machine, x, prepared| {
        program.run(machine, x, N, roles.owner, prepared)
    })
}

/// What no machine does: parties 0 and 1 send party 2 their shares of `x` as they are.
pub fn raw_opening(machine: &mut Erased, x: &Handle, step: &'static str) -> Result<(), Error> {
    let share = machine.save(x);
    let bytes = machine.len(x) * machine.element_bits() as usize / 8;
    let party = machine.party();
    if party.id() < 2 {
        return Ok(party.send(2, step, share)?);
    }
    for holder in [0, 1] {
        party.recv(holder, step, bytes)?;
    }
    Ok(())
}

impl Seen {
    /// What a party has, in an order that does not depend on the secrets.
    pub fn rows(&self, look: &Look, party: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        if look.planes {
            rows.extend(self.stream_planes(look, party));
            rows.extend(self.share_planes(look.sharing, party));
        }
        rows.extend(self.messages(look.words, party));
        let End { input, result, .. } = &self.ends[party];
        for (name, bytes) in [("input", input), ("result", result)] {
            let bytes = match look.words {
                Words::Wide => bytes[1..].iter().step_by(8).copied().collect(),
                _ => bytes.clone(),
            };
            let name = format!("share of the {name}");
            rows.extend(cut(&name, look.words.kinds(), &bytes));
        }
        rows.extend(self.streams(look, party));
        rows
    }

    /// The messages from and to a party.
    fn messages(&self, words: Words, party: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        for to in 0..self.ends.len() {
            let mut nth: BTreeMap<(usize, &str), usize> = BTreeMap::new();
            for seen in self.recorder.view(to) {
                let count = nth.entry((seen.from, seen.step)).or_default();
                let name = format!("{} from {} to {to} #{count}", seen.step, seen.from);
                let dealer = dealer(seen.step, [seen.from, to], *count);
                *count += 1;
                if party == to || party == seen.from {
                    let message = (&name[..], seen.step, &seen.payload[..]);
                    rows.extend(decode(message, words, dealer));
                }
            }
        }
        rows
    }

    /// The first words of the streams that a party has in common with others.
    fn streams(&self, look: &Look, party: usize) -> Vec<Row> {
        let with = (look.generators)(party).into_iter();
        let rows = with.flat_map(|(peer, label)| {
            let mut prg = generator(&self.recorder, [party, peer], label);
            let rows = cut(&format!("drawn with {peer}"), 256, &prg.ring(DRAWS * N));
            let close = !look.planes;
            rows.into_iter().map(move |row| Row { close, ..row })
        });
        rows.collect()
    }

    /// The bits that a party draws from the generators that it has in common with others, as planes.
    fn stream_planes(&self, look: &Look, party: usize) -> Vec<Row> {
        let with = (look.generators)(party).into_iter();
        let rows = with.flat_map(|(peer, label)| {
            let mut prg = generator(&self.recorder, [party, peer], label);
            let drawn = prg.bit_rows(PLANES_DRAWN, N).to_bytes();
            let rows = planes(&format!("planes drawn with {peer}"), &drawn, None);
            let holders = look.sharing == Sharing::Holders;
            rows.into_iter().enumerate().map(move |(i, row)| {
                let close = holders && i < PLANES_CLOSE;
                Row { close, ..row }
            })
        });
        rows.collect()
    }

    /// The bits of a party's share of the secrets, and of the sum of its components.
    fn share_planes(&self, sharing: Sharing, party: usize) -> Vec<Row> {
        let share = &self.ends[party].input;
        let mut rows = bits_of("share of the input", share);
        if sharing == Sharing::Replicated {
            let [own, next] = [0, 1].map(|i| &share[i * share.len() / 2..][..share.len() / 2]);
            let sum = own
                .iter()
                .zip(next)
                .map(|(own, next)| own.wrapping_add(*next));
            rows.extend(bits_of("sum of both shares", &sum.collect::<Vec<u8>>()));
        }
        rows
    }
}

/// Planes of a generator that are looked at.
const PLANES_DRAWN: usize = 30;
/// The first planes of a generator, which mask the bits of the holders' numbers: relations of a higher degree are
/// looked for in these.
const PLANES_CLOSE: usize = 8;

/// Words of a generator that are looked at, for each sample.
const DRAWS: usize = 6;

//! What a party of a run has: the messages that it was sent and those that it sent, its shares, and its
//! generators, as rows with one number for each sample.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::openings::Sharing;
use super::programs::Program;
use crate::common::{Subject, run_on};
use crate::knowledge::{generator, recorded};
use tacit_algebra::{Bits, Ring, prime};
use tacit_net::testing::Recorder;
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Machine};

/// Samples of a run: all hold the same secrets.
pub const N: usize = 1 << 12;

/// Numbers below `kinds` that a party has, one for each sample, or for some.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub kinds: usize,
    pub values: Vec<u8>,
}

/// What the rows of a protocol are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Of a ring of 8 bits, a byte each.
    Ring,
    /// Of a small field, a byte each.
    Field(u8),
    /// Of a ring of 8 bits, in saved shares 8 bytes each after one that tells the width.
    Wide,
}

/// What is looked at of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub sharing: Sharing,
    pub words: Words,
    /// By party its streams of words alone.
    pub generators: fn(usize) -> Vec<Stream>,
    /// Whether streams are looked at as planes of bits, too.
    pub planes: bool,
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
    /// Instead of the machine's opening holders 0 and 1 send party 2 their shares as they are.
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
    /// By party.
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
pub fn observe<S: Subject>(
    subject: &S,
    roles: Roles,
    secrets: &[i64],
    program: impl Fn(
        &mut S::Machine,
        &<S::Machine as Machine>::Share,
        &dyn Fn(),
    ) -> Result<<S::Machine as Machine>::Share, Error>
    + Sync,
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
    let play = |machine: &mut S::Machine| {
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

/// The same of a program whose secrets are one number for each of its rows of samples.
pub fn observe_rows<S: Subject>(
    subject: &S,
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
pub fn raw_opening<M: Machine>(
    machine: &mut M,
    x: &M::Share,
    step: &'static str,
) -> Result<(), Error> {
    let share = machine.save(x);
    let bytes = machine.len(x) * machine.ring_bits() as usize / 8;
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
        let words = look.words;
        let mut rows = self.messages(words, party);
        let End { input, result, .. } = &self.ends[party];
        for (name, bytes) in [("input", input), ("result", result)] {
            let bytes = match words {
                Words::Wide => bytes[1..].iter().step_by(8).copied().collect(),
                _ => bytes.clone(),
            };
            rows.extend(cut(&format!("share of the {name}"), words.kinds(), &bytes));
        }
        rows.extend(self.generators(look, party));
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
                *count += 1;
                if party == to || party == seen.from {
                    rows.extend(decode(&name, seen.step, words, &seen.payload));
                }
            }
        }
        rows
    }

    /// The first words of the streams that a party has in common with others.
    fn generators(&self, look: &Look, party: usize) -> Vec<Row> {
        let with = (look.generators)(party).into_iter();
        let rows = with.flat_map(|(peer, label)| {
            let mut prg = generator(&self.recorder, [party, peer], label);
            let words = cut(&format!("drawn with {peer}"), 256, &prg.ring(DRAWS * N));
            let mut prg = generator(&self.recorder, [party, peer], label);
            let drawn = if look.planes { PLANES_DRAWN } else { 0 };
            let drawn = prg.bit_rows(drawn, N).to_bytes();
            let planes = planes(&format!("planes drawn with {peer}"), &drawn);
            planes.into_iter().chain(words)
        });
        rows.collect()
    }
}

/// Planes of a generator that are looked at.
const PLANES_DRAWN: usize = 30;

/// Words of a generator that are looked at, for each sample.
const DRAWS: usize = 6;

impl Row {
    /// Whether it has a number for each sample.
    pub fn is_whole(&self) -> bool {
        self.values.len() == N
    }

    /// Whether it is a plane of bits of some samples.
    pub fn is_plane_in_part(&self) -> bool {
        self.kinds == 2 && !self.is_whole() && self.values.len() >= N / 4
    }

    /// The same modulo `p`.
    pub fn reduced(&self, p: usize) -> Row {
        let reduce = |v: &u8| (usize::from(*v) % p) as u8;
        Row {
            name: self.name.clone(),
            kinds: p,
            values: self.values.iter().map(reduce).collect(),
        }
    }
}

impl Words {
    fn kinds(self) -> usize {
        match self {
            Words::Field(p) => p.into(),
            _ => 256,
        }
    }
}

/// Steps whose messages are planes of bits, one for each bit of the samples that they are of.
const PLANES: [&str; 5] = [
    "rss sign: ",
    "bicoptor sign: deal products of bits",
    "bicoptor sign: open masked bits",
    "bicoptor sign: open masked groups",
    "bicoptor bit: open masked bit",
];

/// A row for each plane: of all samples, or of a block of them, or of two rows of them, that has a
/// dealer of its own.
fn planes(name: &str, payload: &[u8]) -> Vec<Row> {
    let [one, two] = [1, 2].map(|rows| {
        let block = (rows * N).div_ceil(3).next_multiple_of(64);
        [block, rows * N - 2 * block]
    });
    let lengths = [&[N][..], &one, &two].concat();
    let bits = Bits::from_bytes(payload.len() * 8, payload).expect("packed bits");
    let bits = bits.expand();
    let whole = |n: &&usize| bits.len().is_multiple_of(**n);
    let n = *lengths.iter().find(whole).expect("whole planes");
    let rows = bits.chunks_exact(n).enumerate();
    rows.map(|(i, values)| Row {
        name: format!("{name}, plane {i}"),
        kinds: 2,
        values: values.to_vec(),
    })
    .collect()
}

/// Rows of `N` bytes.
fn cut(name: &str, kinds: usize, bytes: &[u8]) -> Vec<Row> {
    let rows = bytes.chunks_exact(N).enumerate();
    rows.map(|(i, values)| Row {
        name: format!("{name}, row {i}"),
        kinds,
        values: values.to_vec(),
    })
    .collect()
}

/// The rows of a message; of others than those of numbers for all samples none.
fn decode(name: &str, step: &str, words: Words, payload: &[u8]) -> Vec<Row> {
    let is = |parts: &[&str]| parts.iter().any(|part| step.contains(part));
    if is(&["key ", "verify", "copy", "masked entries"]) || step.starts_with("sirnn: ") {
        return vec![];
    }
    if is(&PLANES) {
        return planes(name, payload);
    }
    if is(&["falcon compare"]) {
        let n = payload.len() * 8 / prime::packed_bits(u8::PRIME) as usize;
        let residues = prime::unpack(u8::PRIME, payload, n).expect("residues");
        return cut(name, u8::PRIME.into(), &residues);
    }
    if is(&["masked bit"]) || (is(&["drelu: masked sign"]) && payload.len() < N) {
        let bits = Bits::from_bytes(payload.len() * 8, payload).expect("packed bits");
        return cut(name, 2, &bits.expand());
    }
    // A king's part of an opening is not of all samples.
    if !payload.len().is_multiple_of(N) {
        return vec![Row {
            name: format!("{name}, in part"),
            kinds: words.kinds(),
            values: payload.to_vec(),
        }];
    }
    cut(name, words.kinds(), payload)
}

//! What the parties of a run see and hold: messages, shares, what is opened, and what the
//! assistant puts together from the entries; counted one by one, in pairs and in threes.

use std::collections::BTreeMap;

use super::rows::{Row, Seen};
use super::settings;
use tacit_algebra::Bits;
use tacit_algebra::window::Window;
use tacit_conformance::{Subject, TIMEOUT, run_on};
use tacit_net::testing::{Fate, Recorder, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::bicoptor::{Form, Options, PARTIES};
use tacit_protocols::machine::{Audience, Bilinear, Call, KeyBits, Machine, Operand};
use tacit_protocols::machine::{Erased, Handle};

/// Elements in a run, all of the same value; every one is a sample. They make one message.
pub const N: usize = 1 << 15;
/// Elements whose entries lie together in a message, as documented at `masked_entries`.
const STRIP: usize = 512;

pub const ENTRIES: &str = "bicoptor drelu: masked entries";
const SIGN_BITS: &str = "bicoptor drelu: masked sign";

/// What is run on shares of `N` values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Relu,
    Drelu,
    Maxpool,
    Truncate,
    Square,
    Product,
    Reused,
    /// No step of a protocol: opens the value.
    Leak,
}

impl Program {
    fn run(self, m: &mut Erased, x: Handle, keys: KeyBits) -> Result<(), Error> {
        let map = Bilinear::Elementwise(N);
        let product = |reused, trunc| Call::Product {
            map,
            reused,
            known_to: None,
            trunc,
            bits: None,
        };
        let (windows, size) = (N / 4, 4);
        match self {
            Program::Relu | Program::Leak => {
                m.prepare(&[Call::relu(N).by(keys)])?;
                m.relu(&x, keys)?;
                if self == Program::Leak {
                    m.reveal(&x, Audience::All)?;
                }
            }
            Program::Drelu => {
                m.prepare(&[Call::drelu(N).by(keys), Call::select(N)])?;
                let (bit, zero) = (m.drelu(&x, keys)?, m.constant(&[0; N]));
                m.select(&bit, &zero, &x)?;
            }
            Program::Maxpool => {
                let call = Call::maxpool(windows, size).by(keys);
                m.prepare(&[call])?;
                m.maxpool(&x, windows, size, keys)?;
            }
            Program::Truncate => {
                m.prepare(&[Call::truncate(N, 3)])?;
                m.truncate(&x, 3)?;
            }
            Program::Square => {
                m.prepare(&[product(None, 0)])?;
                m.mul(&x, &Operand::Secret(x.clone()), 0)?;
            }
            Program::Product => {
                m.prepare(&[product(None, 3)])?;
                let one = m.constant(&[1; N]);
                m.mul(&x, &Operand::Secret(one), 3)?;
            }
            Program::Reused => {
                let w = m.reusable(x.clone())?;
                m.prepare(&[product(Some(0), 0), product(Some(0), 3)])?;
                let w = Operand::Secret(w);
                m.mul(&x, &w, 0)?;
                let one = m.constant(&[1; N]);
                m.mul(&one, &w, 3)?;
            }
        }
        Ok(())
    }
}

/// What is the same in runs that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub replicated: bool,
    pub options: Options,
    pub keys: KeyBits,
    pub program: Program,
}

impl Run {
    fn window(&self) -> Window {
        let KeyBits { dropped, kept, .. } = self.keys;
        Window::new::<u8>(dropped, kept, self.options.form).expect("it fits")
    }

    /// Counts what everybody saw of `N` values, of which the quarters are `x`.
    pub fn observe(&self, x: [i64; 4]) -> Seen {
        let values: Vec<i64> = x.iter().flat_map(|x| [*x; N / 4]).collect();
        let [ubl, rss] = settings::<u8>(self.options);
        let recorder = match self.replicated {
            false => self.record(&ubl, &values),
            true => self.record(&rss, &values),
        };
        self.seen(&recorder, &values)
    }

    /// Runs the program on a sum of inputs of all parties, which has uniform shares, and then opens
    /// the input, which shows us the shares.
    fn record(&self, subject: &dyn Subject, values: &[i64]) -> Recorder {
        let recorder = Recorder::new();
        let tap = recorder.clone();
        let mesh = mesh_with(PARTIES, TIMEOUT, move |envelope| {
            tap.record(&envelope);
            Fate::Deliver
        });
        let program = |machine: &mut Erased| {
            let mut sum = machine.constant(&[0; N]);
            for owner in 0..PARTIES {
                let own = match owner {
                    0 => values,
                    _ => &[0; N],
                };
                let owns = machine.party().id() == owner;
                let share = machine.input(owner, N, owns.then_some(own))?;
                sum = machine.add(&sum, &share);
            }
            self.program.run(machine, sum.clone(), self.keys)?;
            machine.reveal(&sum, Audience::All)
        };
        run_on(mesh, |party| {
            let mut machine = subject.machine(party).expect("keys are agreed");
            program(&mut machine).expect("the program runs");
        });
        recorder
    }

    fn seen(&self, recorder: &Recorder, values: &[i64]) -> Seen {
        let mut sent: Vec<Vec<Message>> = (0..PARTIES).map(|to| messages(recorder, to)).collect();
        // The last that each party sends opens the input.
        let mut shares = BTreeMap::new();
        for to in (0..PARTIES).rev() {
            for from in 0..PARTIES {
                let last = sent[to].iter().rposition(|m| m.from == from);
                let is_last = |m: &Message| m.step.contains("reveal");
                if let Some(at) = last.filter(|at| is_last(&sent[to][*at])) {
                    shares.insert(from, sent[to].remove(at).payload);
                }
            }
        }
        let mut seen = Seen::default();
        let flips = self.flips(&sent[2], values);
        for party in 0..PARTIES {
            let held = match self.replicated {
                true => vec![party, (party + 1) % PARTIES],
                false => vec![party],
            };
            let own = held.iter().filter_map(|i| Some((*i, shares.get(i)?)));
            let own = own.map(|(i, share)| Row::of(format!("share {i}"), 256, share.clone()).key());
            let mut rows = self.known(&sent, party, own.collect());
            if party < 2 {
                rows.extend(flips.clone());
            }
            seen.tally(party, &rows);
        }
        seen
    }

    /// The holders' flips, which no message shows, from what the assistant sees and the signs.
    fn flips(&self, assistant: &[Message], values: &[i64]) -> Option<Row> {
        let exact = self.keys.dropped == 0 && self.options.form == Form::Corrected;
        let of_input = [Program::Relu, Program::Drelu].contains(&self.program);
        let seen = self.reconstructed(assistant).into_iter().next();
        let places = seen.filter(|_| exact && of_input)?.values;
        let flip = |(place, x): (&u8, &i64)| u8::from((*place > 0) != (*x >= 0));
        let flips = places.iter().zip(values).map(flip).collect();
        Some(Row::of("flip".into(), 2, flips).key())
    }

    /// What a party knows: its shares, its messages, and what follows.
    fn known(&self, sent: &[Vec<Message>], party: usize, own: Vec<Row>) -> Vec<Row> {
        let mut rows = Vec::new();
        for message in &sent[party] {
            let name = message.name();
            if message.step == ENTRIES {
                rows.extend(self.entries(message));
            } else if message.step == SIGN_BITS {
                let bits = Bits::from_bytes(message.payload.len() * 8, &message.payload);
                let bits = bits.expect("packed bits");
                let bits = (0..bits.len()).map(|i| bits.get(i).into()).collect();
                rows.push(Row::of(name, 2, bits).key());
            } else {
                let row = Row::of(name, 256, message.payload.clone());
                rows.push(if message.step.contains("masked sign") {
                    row.key()
                } else {
                    row
                });
                rows.extend(opened(sent, party, message));
            }
        }
        let addends: Vec<Row> = rows
            .iter()
            .filter(|r| r.name.contains("summand"))
            .chain(&own)
            .cloned()
            .collect();
        for opened in rows.clone().iter().filter(|r| r.name.contains("opened")) {
            rows.extend(addends.iter().filter_map(|addend| opened.plus(addend, 256)));
        }
        // A replicated value is opened by the one summand that a party lacks.
        for revealed in rows.clone().iter().filter(|r| r.name.contains("reveal")) {
            let sum = own
                .iter()
                .try_fold(revealed.clone(), |sum, own| sum.plus(own, 256));
            rows.extend(sum.filter(|_| self.replicated));
        }
        rows.extend(self.reconstructed(&sent[party]));
        rows.extend(own);
        rows
    }

    /// The residues of a message, by position.
    fn entries(&self, message: &Message) -> Vec<Row> {
        let window = self.window();
        let (count, bits) = (window.entries(), window.entry_bits() as usize);
        let n = message.payload.len() * 8 / (count * bits);
        let mut positions = vec![Vec::with_capacity(n); count];
        for start in (0..n).step_by(STRIP) {
            let strip = STRIP.min(n - start);
            let bytes = &message.payload[window.wire_len(start)..];
            for (q, values) in positions.iter_mut().enumerate() {
                values.extend((0..strip).map(|j| {
                    let at = (q * strip + j) * bits;
                    let high = bytes.get(at / 8 + 1).map_or(0, |byte| u16::from(*byte));
                    let word = u16::from(bytes[at / 8]) | high << 8;
                    (word >> (at % 8) & ((1 << bits) - 1)) as u8
                }));
            }
        }
        let p = window.prime() as usize;
        let name = |q: usize| format!("{}, position {q}", message.name());
        let rows = positions.into_iter().enumerate();
        rows.map(|(q, values)| Row::of(name(q), p, values))
            .collect()
    }

    /// What the assistant learns from the entries of both holders: their sums, and where the zero
    /// is.
    fn reconstructed(&self, messages: &[Message]) -> Vec<Row> {
        let of = |from| {
            let all = messages.iter().filter(move |m| m.from == from);
            all.filter(|m| m.step == ENTRIES)
        };
        let mut rows = Vec::new();
        for (first, second) in of(0).zip(of(1)) {
            let p = self.window().prime() as usize;
            let both = [first, second].map(|m| self.entries(m));
            let sums = both[0].iter().zip(&both[1]);
            let sums: Vec<Row> = sums.filter_map(|(a, b)| a.plus(b, p)).collect();
            let place = |i: usize| {
                let mut zeros = (0..sums.len()).filter(|q| sums[*q].values[i] == 0);
                match (zeros.next(), zeros.next()) {
                    (None, _) => 0,
                    (Some(q), None) => 1 + q as u8,
                    _ => 1 + sums.len() as u8,
                }
            };
            let places = (0..sums[0].values.len()).map(place).collect();
            let name = format!("place of the zero #{}", first.nth);
            rows.push(Row::of(name, sums.len() + 2, places).key());
            rows.extend(sums);
        }
        rows
    }
}

/// One message, the `nth` of its sender and step.
struct Message {
    from: usize,
    step: &'static str,
    nth: usize,
    payload: Vec<u8>,
}

impl Message {
    fn name(&self) -> String {
        format!("{} from {} #{}", self.step, self.from, self.nth)
    }
}

/// What `to` was sent after the agreement on keys.
fn messages(recorder: &Recorder, to: usize) -> Vec<Message> {
    let mut nths: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let view = recorder.view(to).into_iter();
    view.filter(|seen| !seen.step.starts_with("key "))
        .map(|seen| {
            let nth = nths.entry((seen.from, seen.step)).or_default();
            *nth += 1;
            Message {
                from: seen.from,
                step: seen.step,
                nth: *nth - 1,
                payload: seen.payload,
            }
        })
        .collect()
}

/// What a party adds up from a message and its own at the same step.
fn opened(sent: &[Vec<Message>], party: usize, message: &Message) -> Option<Row> {
    if !message.step.contains("open") && !message.step.contains("reveal") {
        return None;
    }
    let mut to_peer = sent[message.from].iter();
    let own = to_peer.find(|m| m.from == party && m.step == message.step && m.nth == message.nth);
    let own = Row::of(String::new(), 256, own?.payload.clone());
    let mut row = Row::of(message.name(), 256, message.payload.clone()).plus(&own, 256)?;
    row.name = format!("opened: {}", message.name());
    Some(row.key())
}

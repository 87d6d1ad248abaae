//! The places of the largest values: on every protocol those of clear text, of equal values the first;
//! their calls and cost; and that opening them shows nothing else.

use std::collections::BTreeMap;
use std::sync::{Barrier, OnceLock};

use crate::histograms::{LIMIT, apart_by_cell};
use crate::*;
use tacit_net::Phase;
use tacit_net::testing::{Fate, Recorder, mesh_with};
use tacit_protocols::Cost;
use tacit_protocols::lowered;
use tacit_protocols::machine::KeyBits;
use tacit_protocols::math::TopK;

/// What clear text says, window by window.
fn expected(x: &[i64], size: usize, k: usize) -> Vec<i64> {
    let of_window = |window: &[i64]| {
        let mut places: Vec<usize> = (0..size).collect();
        places.sort_by_key(|&place| (std::cmp::Reverse(window[place]), place));
        places.truncate(k);
        places
    };
    let all = x.chunks(size).flat_map(of_window);
    all.map(|place| place as i64).collect()
}

/// What a search demands; its calls are the same over any bits.
fn searching(top: TopK) -> Vec<Call> {
    let x = noted(top.windows * top.size);
    demand(64, |machine| {
        let x = match top.bits {
            Some(bits) => machine.resize(&x, 0, bits)?,
            None => x,
        };
        top.apply(machine, &x)
    })
}

fn found(s: &dyn Subject, x: &[i64], [size, k]: [usize; 2], keys: KeyBits) {
    let top = TopK {
        windows: x.len() / size,
        size,
        k,
        keys,
        bits: None,
    };
    let opened = apply(s, &searching(top), x, |machine, x| top.apply(machine, x));
    let wanted = expected(x, size, k);
    let wrong = (0..wanted.len()).find(|&i| opened[i] != wanted[i]);
    if let Some(i) = wrong {
        let window = &x[i / k * size..][..size];
        panic!("{k} of {window:?}, {keys:?}, {}: {opened:?}", s.name());
    }
}

/// Every window of so many of the values.
fn windows_of(values: &[i64], size: usize) -> Vec<i64> {
    let n = values.len();
    let digit = |i: usize, j: usize| values[i / n.pow(j as u32) % n];
    let window = |i: usize| (0..size).rev().map(move |j| digit(i, j));
    (0..n.pow(size as u32)).flat_map(window).collect()
}

/// All values with exact differences in pairs, their edges in threes and fours, equal ones included;
/// and larger windows, in which several are equal.
pub fn places(s: &dyn Subject) {
    let half = 1i64 << (s.sign_bits() - 1).min(40);
    let mut edges = vec![-half, 1 - half, -1, 0, 1, half - 2, half - 1];
    edges.sort();
    edges.dedup();
    if s.modulus() <= 256 {
        let all: Vec<i64> = (-half..half).collect();
        for k in 1..=2 {
            found(s, &windows_of(&all, 2), [2, k], KeyBits::ALL);
        }
    }
    for k in 1..=3 {
        found(s, &windows_of(&edges, 3), [3, k], KeyBits::ALL);
    }
    let fours = [-half, 0, 1, half - 1];
    for k in [1, 4] {
        found(s, &windows_of(&fours, 4), [4, k], KeyBits::ALL);
    }
    found(s, &edges, [1, 1], KeyBits::ALL);
    for (size, k) in [(5, 1), (7, 1), (7, 3)] {
        let x = noise(size as u64, 9 * size);
        let x: Vec<i64> = x.into_iter().map(|v| v % half.min(3)).collect();
        found(s, &x, [size, k], KeyBits::ALL);
    }
    // A promise of fewer bits is enough for what keeps it.
    let kept = s.sign_bits().min(3);
    let few = 1i64 << (kept - 1);
    let (values, keys): (Vec<i64>, _) = ((-few..few).collect(), KeyBits::of(0, kept));
    for k in [1, 2] {
        found(s, &windows_of(&values, 2), [2, k], keys);
    }
}

/// Windows of more elements than are ranked together.
pub fn many_values_are_ranked_in_groups(s: &dyn Subject) {
    for (size, k) in [(33, 2), (70, 5), (200, 3), (1000, 5), (129, 32)] {
        let x = noise(size as u64, 2 * size);
        let x: Vec<i64> = x.into_iter().map(|v| v % 50).collect();
        found(s, &x, [size, k], KeyBits::ALL);
    }
}

/// Calls of the search and of opening what it finds: exactly the declared hops and bytes.
pub fn costs(s: &dyn Subject, bits: Option<u32>) {
    for (size, k) in [(1, 1), (2, 1), (10, 1), (10, 3), (40, 2)] {
        let top = TopK {
            windows: 3,
            size,
            k,
            keys: KeyBits::ALL,
            bits,
        };
        let (n, to) = (3 * k, Audience::One(1));
        let calls = [searching(top), vec![Call::Reveal { n, to }]].concat();
        let ends = run(s, |machine| {
            let calls = lowered(&calls, machine.cost_model())?;
            let model = machine.cost_model();
            let online = calls.iter().map(|call| model.online(call));
            let declared = [
                model.offline(&calls),
                online.fold(Cost::default(), |sum, cost| sum + &cost),
            ];
            machine.prepare(&calls)?;
            let x = machine.constant(&vec![1; 3 * size]);
            let x = match bits {
                Some(bits) => machine.resize(&x, 0, bits)?,
                None => x,
            };
            let places = top.apply(machine, &x)?;
            machine.reveal(&places, to)?;
            let meter = machine.party().meter();
            let metered = [Phase::Offline, Phase::Online].map(|phase| meter.total(phase));
            Ok((declared, metered))
        });
        for phase in [0, 1] {
            let metered = ends.iter().map(|end| end.1[phase]);
            let metered = Cost {
                rounds: metered.clone().map(|m| m.rounds).max().unwrap_or(0),
                bytes: metered.map(|m| m.bytes_sent).collect(),
            };
            let declared = &ends[0].0[phase];
            let what = format!("{top:?}, phase {phase}, {}: {metered:?}", s.name());
            assert_eq!(metered.bytes, declared.bytes, "{what}");
            // Of several calls the longest path may be shorter than all of theirs.
            let rounds = declared.rounds / 2..=declared.rounds;
            assert!(rounds.contains(&metered.rounds), "{what}");
        }
    }
}

/// Windows of a run, all alike; every one is a sample.
const N: usize = 1 << 13;

/// How often each byte was seen in what the receiver heard, by stream.
type Histograms = BTreeMap<String, BTreeMap<u32, u64>>;

/// The stream of what is opened.
const LEARNT: &str = "learnt";

/// What party 1, which learns the `k` places alone, hears online of `N` windows of three, the last of
/// which is the largest and the one before it the next.
fn heard(s: &dyn Subject, window: [i64; 3], k: usize, leak: bool) -> Histograms {
    let top = TopK {
        windows: N,
        size: 3,
        k,
        keys: KeyBits::ALL,
        bits: None,
    };
    let recorder = Recorder::new();
    let tap = recorder.clone();
    let mesh = mesh_with(s.parties(), TIMEOUT, move |envelope| {
        tap.record(&envelope);
        Fate::Deliver
    });
    let (everybody, before) = (Barrier::new(s.parties()), OnceLock::new());
    let learnt = run_on(mesh, |party| -> Result<_, Error> {
        let id = party.id();
        let ready = s.machine(party).and_then(|mut machine| {
            machine.prepare(&searching(top))?;
            Ok(machine)
        });
        // What is made before any input may vary in length by chance.
        everybody.wait();
        if id == 1 {
            let sent = |from| recorder.view(1).iter().filter(|s| s.from == from).count();
            let _ = before.set((0..s.parties()).map(sent).collect::<Vec<_>>());
        }
        everybody.wait();
        let mut machine = ready?;
        let own = (id == 0).then(|| window.repeat(N));
        let x = machine.input(0, 3 * N, own.as_deref())?;
        let places = top.apply(&mut machine, &x)?;
        let values = match leak {
            true => machine.reveal(&x, Audience::One(1))?,
            false => None,
        };
        Ok((machine.reveal(&places, Audience::One(1))?, values))
    });
    let learnt = learnt.into_iter().nth(1).and_then(Result::ok);
    let (places, values) = learnt.expect("party 1's end");
    let places = places.expect("party 1 learns the places");
    let right = |places: &[i64]| places == &[2, 1][..k];
    assert!(places.chunks(k).all(right), "{}", s.name());
    let mut histograms = Histograms::new();
    let learnt = histograms.entry(LEARNT.into()).or_default();
    for value in places.into_iter().chain(values.unwrap_or_default()) {
        *learnt.entry(value as u32).or_default() += 1;
    }
    let mut nth: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut skipped = before.get().cloned().unwrap_or_default();
    for seen in recorder.view(1) {
        if skipped[seen.from] > 0 {
            skipped[seen.from] -= 1;
            continue;
        }
        let count = nth.entry((seen.from, seen.step)).or_default();
        // Streams of a few numbers are no samples of a law.
        if seen.payload.len() >= N / 8 {
            let stream = format!("{} #{count} from {}", seen.step, seen.from);
            let histogram = histograms.entry(stream).or_default();
            for &byte in &seen.payload {
                *histogram.entry(byte.into()).or_default() += 1;
            }
        }
        *count += 1;
    }
    histograms
}

/// The stream in which two runs differ most, and by how many standard deviations.
fn widest(a: &Histograms, b: &Histograms) -> (String, f64) {
    let streams: [Vec<&String>; 2] = [a, b].map(|of| of.keys().collect());
    assert_eq!(streams[0], streams[1], "other messages were sent");
    let apart = a
        .iter()
        .map(|(stream, a)| (stream.clone(), apart_by_cell(a, &b[stream])));
    apart
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("some messages")
}

/// Values of one class give the receiver the same view, whatever the values.
pub fn views(s: &dyn Subject) {
    for k in [1, 2] {
        let runs = [[-3, -2, 2], [0, 1, 2], [-4, 0, 3]];
        let views = runs.map(|window| heard(s, window, k, false));
        for other in &views[1..] {
            let (stream, apart) = widest(&views[0], other);
            assert!(apart < LIMIT, "{k}, {}, {stream}: {apart}", s.name());
        }
    }
}

/// The comparison of views is not blind: it sees a program that opens the values beside the places.
pub fn values_beside_the_places_are_seen(s: &dyn Subject) {
    let [a, b] = [[-3, -2, 2], [0, 1, 2]].map(|window| heard(s, window, 1, true));
    let (stream, apart) = widest(&a, &b);
    assert!(apart > 50.0 && stream == LEARNT, "{stream}: {apart}");
}

//! What the parties see does not depend on the inputs: two fixed inputs, every message of ReLU,
//! maxpool and truncation, and what is opened on the way, compared by chi-square.

use std::collections::BTreeMap;

use crate::subjects::{FalconOver, falcon_over, malicious_over};
use tacit_algebra::{Bits, Ring, prime};
use tacit_conformance::histograms::{LIMIT, apart_by_cell};
use tacit_conformance::{Subject, TIMEOUT, demand_of, run_on};
use tacit_net::testing::{Fate, Recorder, mesh_with};
use tacit_protocols::Error;
use tacit_protocols::falcon::PARTIES;
use tacit_protocols::machine::{Call, KeyBits, Machine, Operand};
use tacit_protocols::machine::{Erased, Handle};
use tacit_protocols::math::{Format, Function, Leakage, Power, Span};

/// Elements in a run, all of the same value; every one is a sample.
const N: usize = 1 << 15;

type Variant = FalconOver<u8>;

/// Every security with every comparison.
fn variants() -> Vec<Variant> {
    let paper = [falcon_over, malicious_over].map(|kind| kind().with_paper_comparison());
    let adder = [falcon_over, malicious_over].map(|kind| kind());
    paper.into_iter().chain(adder).collect()
}

type Program = fn(&mut Erased, &Handle) -> Result<(), Error>;

/// Histograms by name: each message stream of each receiver, and each opened value.
type Histograms = BTreeMap<String, BTreeMap<u32, u64>>;

/// A message as numbers, one per element and row, by what its step carries.
fn numbers(step: &str, payload: &[u8]) -> Vec<u32> {
    let bits = |n: usize| {
        let bits = Bits::from_bytes(n, payload).expect("packed bits");
        (0..n).map(|i| u32::from(bits.get(i))).collect()
    };
    if ["masked bit", "adder: carr", " sign: "]
        .iter()
        .any(|s| step.contains(s))
    {
        bits(payload.len() * 8)
    } else if step.contains("compare") || step.contains("residue") {
        let n = payload.len() * 8 / prime::packed_bits(u8::PRIME) as usize;
        let residues = prime::unpack(u8::PRIME, payload, n).expect("residues");
        residues.into_iter().map(u32::from).collect()
    } else {
        payload.iter().map(|&byte| u32::from(byte)).collect()
    }
}

/// Runs `program` on `N` copies of `x`, shared by party 0, and counts what everybody saw.
fn observe(subject: &Variant, x: i64, calls: &[Call], program: Program) -> Histograms {
    let recorder = Recorder::new();
    let tap = recorder.clone();
    let mesh = mesh_with(PARTIES, TIMEOUT, move |envelope| {
        tap.record(&envelope);
        Fate::Deliver
    });
    run_on(mesh, |party| {
        let mut machine = subject.machine(party).expect("keys are agreed");
        machine.prepare(calls).expect("material is made");
        let own = (machine.party().id() == 0).then(|| vec![x; N]);
        let share = machine
            .input(0, N, own.as_deref())
            .expect("the input is shared");
        program(&mut machine, &share).expect("the program runs");
    });

    let mut histograms = Histograms::new();
    let mut opened: BTreeMap<(&str, usize), Vec<Vec<u32>>> = BTreeMap::new();
    for receiver in 0..PARTIES {
        let mut nth: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for seen in recorder.view(receiver) {
            if seen.step.contains("key") {
                continue; // agreed before any input
            }
            let count = nth.entry((seen.from, seen.step)).or_default();
            let values = numbers(seen.step, &seen.payload);
            let name = format!("{} -> {receiver}: {} #{count}", seen.from, seen.step);
            tally(&mut histograms, name, values.iter().copied());
            // Every opening sends each summand to the next party.
            if seen.step.contains("open") && receiver == (seen.from + 1) % PARTIES {
                opened.entry((seen.step, *count)).or_default().push(values);
            }
            *count += 1;
        }
    }
    joint(&mut histograms, &opened);
    histograms
}

fn tally(histograms: &mut Histograms, name: String, values: impl Iterator<Item = u32>) {
    let histogram = histograms.entry(name).or_default();
    values.for_each(|value| *histogram.entry(value).or_default() += 1);
}

/// The opened values themselves and every pair of them, element by element.
fn joint(histograms: &mut Histograms, opened: &BTreeMap<(&str, usize), Vec<Vec<u32>>>) {
    let sums: Vec<(String, Vec<u32>)> = opened
        .iter()
        .map(|((step, nth), parts)| {
            let modulus = match *step {
                s if s.contains("bit") => 2,
                s if s.contains("product") => u32::from(u8::PRIME),
                s if s.contains("wrap3") => 128,
                _ => 256,
            };
            let sum = |i: usize| parts.iter().map(|part| part[i]).sum::<u32>() % modulus;
            (
                format!("opened: {step} #{nth}"),
                (0..parts[0].len()).map(sum).collect(),
            )
        })
        .collect();
    for (i, (name, values)) in sums.iter().enumerate() {
        tally(histograms, name.clone(), values.iter().copied());
        for (other, more) in &sums[..i] {
            // Coarse cells keep the counts high: residues by zero, words by their top bits.
            let cell = |name: &str, v: u32| match name {
                n if n.contains("bit") => v,
                n if n.contains("product") => v.min(3),
                _ => v >> 4,
            };
            let pairs = values
                .iter()
                .zip(more)
                .map(|(&a, &b)| cell(name, a) << 8 | cell(other, b));
            tally(histograms, format!("{name} with {other}"), pairs);
        }
    }
}

/// The stream whose distributions differ most between the two inputs.
fn worst(
    subject: &Variant,
    [x, other]: [i64; 2],
    calls: &[Call],
    program: Program,
) -> (f64, String) {
    let observe = |x| observe(subject, x, calls, program);
    let (a, b) = (observe(x), observe(other));
    assert!(
        a.len() > 3 && a.keys().eq(b.keys()),
        "the same messages must flow"
    );
    a.iter()
        .map(|(name, histogram)| (apart_by_cell(histogram, &b[name]), name.clone()))
        .max_by(|p, q| p.0.total_cmp(&q.0))
        .expect("messages were seen")
}

const PAIRS: [(i64, i64); 4] = [(0, -1), (5, -7), (127, -128), (1, 100)];

fn relu(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.relu(x, KeyBits::ALL).map(drop)
}

fn truncate(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.truncate(x, 3).map(drop)
}

fn square(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.mul(x, &Operand::Secret(x.clone()), 0).map(drop)
}

fn product(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    let one = machine.constant(&vec![1; N]);
    machine.mul(x, &Operand::Secret(one), 4).map(drop)
}

fn maxpool(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    machine.maxpool(x, N / 4, 4, KeyBits::ALL).map(drop)
}

#[test]
fn no_message_of_relu_depends_on_the_input() {
    for kind in &variants() {
        for (x, other) in PAIRS {
            let (off, name) = worst(kind, [x, other], &[Call::relu(N)], relu);
            assert!(off < LIMIT, "{x} and {other} are {off} apart in '{name}'");
        }
    }
}

#[test]
fn no_message_of_other_layers_depends_on_the_input() {
    let maxpool_calls = [Call::maxpool(N / 4, 4)];
    for (x, other) in [(3, -60), (0, 50)] {
        for (calls, program) in [
            (&[Call::truncate(N, 3)][..], truncate as Program),
            (&[Call::elementwise(N, 4)][..], product as Program),
            (&[Call::elementwise(N, 0)][..], square as Program),
            (&maxpool_calls[..], maxpool as Program),
        ] {
            for kind in &variants() {
                let (off, name) = worst(kind, [x, other], calls, program);
                assert!(off < LIMIT, "{x} and {other} are {off} apart in '{name}'");
            }
        }
    }
}

/// The bounding power of numbers from 1/2 to 16, with one fraction bit.
fn power(leakage: Leakage) -> Power {
    let format = Format::new(8, 1).expect("it fits");
    Power::new(format, Span { low: -1, high: 4 }, leakage).expect("a span that fits")
}

/// Elements whose power is taken: each is compared with several thresholds.
const FEW: usize = N / 8;

fn take_power(machine: &mut Erased, x: &Handle, leakage: Leakage) -> Result<(), Error> {
    let few = machine.slice(x, 0..FEW);
    power(leakage).apply(machine, &few).map(drop)
}

/// Falcon's paper opens the magnitude of a divisor; here nobody learns it.
#[test]
fn only_the_paper_s_leakage_tells_magnitudes() {
    let calls = |leakage| demand_of(8, &power(leakage), FEW);
    let kept: Program = |machine, x| take_power(machine, x, Leakage::Nothing);
    let told: Program = |machine, x| take_power(machine, x, Leakage::Magnitude);
    for kind in &variants() {
        let (off, name) = worst(kind, [3, 24], &calls(Leakage::Nothing), kept);
        assert!(off < LIMIT, "3 and 24 are {off} apart in '{name}'");
        let (off, name) = worst(kind, [3, 24], &calls(Leakage::Magnitude), told);
        assert!(off > LIMIT && name.contains("reveal"), "{off} in '{name}'");
        // It tells nothing else: of one magnitude there is no difference.
        let (off, name) = worst(kind, [16, 31], &calls(Leakage::Magnitude), told);
        assert!(off < LIMIT, "16 and 31 are {off} apart in '{name}'");
    }
}

/// The test bites: a program that opens a value, or its sign only, is found out.
#[test]
fn a_leak_is_noticed() {
    fn leaky(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
        machine.relu(x, KeyBits::ALL)?;
        machine
            .reveal(x, tacit_protocols::machine::Audience::All)
            .map(drop)
    }
    for kind in &variants() {
        let (off, name) = worst(kind, [5, -7], &[Call::relu(N)], leaky);
        assert!(off > LIMIT && name.contains("opened"), "{off} in '{name}'");
    }
}

//! Falcon against a party that changes what it sends: no honest party is given a wrong answer.
//!
//! A sample of the messages here; every one in the ignored tests, which `make tampering` runs.

use crate::subjects::{falcon_over, malicious_over};
use tacit_conformance::{Subject, demand, demand_of_norm};
use tacit_net::Party;
use tacit_net::testing::tampering::{Extent, Tampered, Totals};
use tacit_protocols::Error;
use tacit_protocols::falcon::{PARTIES, Truncation};
use tacit_protocols::machine::{
    Audience, BatchMatMul, Bilinear, Call, Conv2d, KeyBits, Machine, MatMul, Operand,
};
use tacit_protocols::machine::{Erased, Handle};
use tacit_protocols::math::{BatchNorm, Channels, Division, Format, Span, Statistics};
use tacit_protocols::record::noted;

/// The step in which an owner says what its input is: whatever it sends is one.
const CHOSEN: [&str; 1] = ["rss input"];

/// A subject with how much of a program is changed.
type Trial<'a> = (&'a dyn Subject, Extent);

/// Shares `x` by party 0 and opens what `op` makes of it to all.
fn tampered(
    (subject, extent): Trial,
    calls: &[Call],
    x: &[i64],
    op: impl Fn(&mut Erased, &Handle) -> Result<Handle, Error> + Sync,
    right: impl Fn(&[i64]) -> bool + Sync,
) -> Totals {
    let program = |party: Party| {
        let mut machine = subject.machine(party)?;
        machine.prepare(calls)?;
        let own = (machine.party().id() == 0).then_some(x);
        let share = machine.input(0, x.len(), own)?;
        let y = op(&mut machine, &share)?;
        machine.reveal(&y, Audience::All)
    };
    let tampered = Tampered {
        parties: PARTIES,
        chosen: &CHOSEN,
        program,
    };
    tampered.tamper(extent, |answer| {
        right(answer.as_deref().unwrap_or_default())
    })
}

const X: [i64; 3] = [5, -7, 0];

fn relu(trial: Trial) -> Totals {
    let relu = |machine: &mut Erased, x: &Handle| machine.relu(x, KeyBits::ALL);
    tampered(trial, &[Call::relu(3)], &X, relu, |y| y == [5, 0, 0])
}

fn truncation(trial: Trial) -> Totals {
    let calls = [Call::truncate(3, 2)];
    let near = |y: &[i64]| {
        let errors = y.iter().zip(X).map(|(y, x)| y - (x >> 2));
        y.len() == 3 && errors.into_iter().all(|e| (0..=1).contains(&e))
    };
    tampered(trial, &calls, &X, |machine, x| machine.truncate(x, 2), near)
}

fn select(trial: Trial) -> Totals {
    let calls = [Call::drelu(3), Call::select(3)];
    let select = |machine: &mut Erased, x: &Handle| {
        let bit = machine.drelu(x, KeyBits::ALL)?;
        let minus = machine.scale(x, -1);
        machine.select(&bit, &minus, x)
    };
    tampered(trial, &calls, &X, select, |y| y == [5, 7, 0])
}

fn maxpool(trial: Trial) -> Totals {
    let maxpool = |machine: &mut Erased, x: &Handle| machine.maxpool(x, 1, 3, KeyBits::ALL);
    tampered(trial, &[Call::maxpool(1, 3)], &X, maxpool, |y| y == [5])
}

/// A matrix product, two side by side, a convolution and an element-wise product, all verified at the end.
fn linear(trial: Trial) -> Totals {
    let shape = MatMul { m: 2, k: 2, n: 1 };
    let conv = Conv2d {
        batch: 1,
        channels: 1,
        height: 2,
        width: 2,
        filters: 1,
        kernel: [2, 1],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: 1,
    };
    let pairs = Bilinear::BatchMatMul(BatchMatMul {
        batch: 2,
        each: MatMul { m: 1, k: 2, n: 1 },
    });
    let product = |map| Call::product(map, 0);
    let calls = [
        Bilinear::MatMul(shape),
        pairs,
        Bilinear::Conv2d(conv),
        Bilinear::Elementwise(4),
    ];
    tampered(
        trial,
        &calls.map(product),
        &[1, -2, 3, 4],
        |machine, x| {
            let w = machine.slice(x, 0..2);
            let norms = machine.linear(x, &Operand::Secret(x.clone()), None, &pairs, 0, None)?;
            let y = machine.matmul(x, &Operand::Secret(w.clone()), None, shape, 0)?;
            let z = machine.conv2d(x, &Operand::Secret(w), None, &conv, 0)?;
            let squares = machine.mul(x, &Operand::Secret(x.clone()), 0)?;
            Ok(machine.concat(&[&y, &norms, &z, &squares]))
        },
        |y| y == [5, -5, 5, 25, -5, -10, 1, 4, 9, 16],
    )
}

/// Two quotients and their divisors: of both signs and of different magnitudes.
fn division(trial: Trial) -> Totals {
    let (bits, format) = (trial.0.bits(), format(trial));
    let span = Span { low: -1, high: 2 };
    let division = Division::new(format, span, 2).expect("a span that fits");
    let (x, y, one) = ([2.5, -0.75], [0.75, 3.0], format.one());
    let operands = x.into_iter().chain(y).map(|v| (v * one) as i64);
    tampered(
        trial,
        &demand(bits, |machine| {
            division.apply(machine, &noted(2), &noted(2))
        }),
        &operands.collect::<Vec<_>>(),
        |machine, operands| {
            let (x, y) = (machine.slice(operands, 0..2), machine.slice(operands, 2..4));
            division.apply(machine, &x, &y)
        },
        |got| {
            let near = |i: usize| {
                (got[i] as f64 - x[i] / y[i] * one).abs() <= division.tolerance(x[i], y[i])
            };
            got.len() == 2 && near(0) && near(1)
        },
    )
}

/// Two elements of a channel, everything secret.
fn batch_norm(trial: Trial) -> Totals {
    let (bits, format) = (trial.0.bits(), format(trial));
    let span = Span { low: -1, high: 2 };
    let norm = BatchNorm::new(format, 1.0 / 64.0, span, 2).expect("a span that fits");
    let shape = Channels {
        batch: 1,
        channels: 1,
        plane: 2,
    };
    let (x, [mean, variance, gamma, beta], one) =
        ([1.5, -2.0], [0.25, 2.5, 0.5, -1.0], format.one());
    let operands = x.into_iter().chain([mean, variance, gamma, beta]);
    let operands: Vec<i64> = operands.map(|v| (v * one) as i64).collect();
    tampered(
        trial,
        &demand_of_norm(bits, &norm, shape),
        &operands,
        |machine, operands| {
            let x = machine.slice(operands, 0..2);
            let [mean, variance, gamma, beta] =
                [2, 3, 4, 5].map(|i| machine.slice(operands, i..i + 1));
            let of = Statistics {
                mean,
                variance,
                gamma,
                beta,
            };
            norm.apply(machine, &x, shape, &of)
        },
        |got| {
            let near = |(&got, x): (&i64, f64)| {
                let normal = (x - mean) / (variance + 1.0 / 64.0).sqrt() * gamma + beta;
                (got as f64 - normal * one).abs() <= norm.tolerance(x - mean, gamma, variance)
            };
            got.len() == 2 && got.iter().zip(x).all(near)
        },
    )
}

/// Fraction bits that suit a ring.
fn format((subject, _): Trial) -> Format {
    let bits = subject.bits();
    Format::new(bits, if bits == 64 { 16 } else { 10 }).expect("it fits")
}

fn over_8_bits(extent: Extent) {
    let subject = malicious_over::<u8>();
    let trial: Trial = (&subject, extent);
    signs_over_8_bits(trial, "adder");
    truncation(trial).assert_caught("truncation, 8 bits");
    linear(trial).assert_caught("linear layers, 8 bits");
    let paper = malicious_over::<u8>().with_paper_comparison();
    signs_over_8_bits((&paper, extent), "paper's comparison");
}

fn signs_over_8_bits(trial: Trial, what: &str) {
    relu(trial).assert_caught(&format!("relu, 8 bits, {what}"));
    select(trial).assert_caught(&format!("select, 8 bits, {what}"));
    maxpool(trial).assert_caught(&format!("maxpool, 8 bits, {what}"));
}

fn over_32_bits(extent: Extent) {
    let subject = malicious_over::<u32>();
    let paper = malicious_over::<u32>().with_paper_comparison();
    for (subject, what) in [(&subject, "adder"), (&paper, "paper's comparison")] {
        let trial: Trial = (subject, extent);
        relu(trial).assert_caught(&format!("relu, 32 bits, {what}"));
        select(trial).assert_caught(&format!("select, 32 bits, {what}"));
    }
    let exact = subject.truncating(Truncation::Exact);
    truncation((&exact, extent)).assert_caught("exact truncation, 32 bits");
}

fn with_narrow_signs(extent: Extent) {
    let subject = malicious_over::<u64>().with_sign_bits(25);
    let trial: Trial = (&subject, extent);
    relu(trial).assert_caught("relu, 64 bits with signs of 25, adder");
    linear(trial).assert_caught("linear layers, 64 bits");
    let paper = malicious_over::<u64>()
        .with_paper_comparison()
        .with_sign_bits(32);
    relu((&paper, extent)).assert_caught("relu, 64 bits with narrow signs, paper's comparison");
}

fn functions(extent: Extent) {
    let (narrow, wide) = (malicious_over::<u32>(), malicious_over::<u64>());
    division((&narrow, extent)).assert_caught("division, 32 bits");
    division((&wide, extent)).assert_caught("division, 64 bits");
    batch_norm((&narrow, extent)).assert_caught("batch norm, 32 bits");
    batch_norm((&wide, extent)).assert_caught("batch norm, 64 bits");
}

/// The harness bites: without checks there are wrong answers.
fn semi_honest(extent: Extent) {
    let subject = falcon_over::<u8>();
    let trial: Trial = (&subject, extent);
    relu(trial).assert_fooled("relu, 8 bits, semi-honest");
    truncation(trial).assert_fooled("truncation, 8 bits, semi-honest");
    select(trial).assert_fooled("select, 8 bits, semi-honest");
    linear(trial).assert_fooled("linear layers, 8 bits, semi-honest");
    let subject = falcon_over::<u32>();
    division((&subject, extent)).assert_fooled("division, 32 bits, semi-honest");
    batch_norm((&subject, extent)).assert_fooled("batch norm, 32 bits, semi-honest");
}

macro_rules! sampled_and_whole {
    ($($program:ident)+) => {
        $(#[test] fn $program() {
            super::$program(Extent::Sample);
        })+
        mod every_message {
            use super::*;
            $(#[test] #[ignore = "minutes: make tampering"] fn $program() {
                super::super::$program(Extent::All);
            })+
        }
    };
}

mod changes_are_caught {
    use super::*;
    sampled_and_whole! { over_8_bits over_32_bits with_narrow_signs functions }
}

mod changes_are_not_caught {
    use super::*;
    sampled_and_whole! { semi_honest }
}

//! Numbers with widths of their own: on SiRnn exactly what integers of these widths give, at its
//! declared cost; on every other protocol what the ring gives.

use crate::common::*;
use crate::cost::declared_equals_metered;
use tacit_algebra::MatMul;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Bilinear, Call, Machine, Operand};
use tacit_protocols::math::{Elementary, Format, Kind, Number, Span};

/// Signed numbers below a quarter of what `bits` bits hold, the ends among them.
fn small(bits: u32, n: usize, seed: i64) -> Vec<i64> {
    let end = 1i64 << (bits - 2);
    let inner = (0..n as i64).map(|i| (i * 0x9e37_79b9 + seed * 77_777).rem_euclid(2 * end) - end);
    [-end, end - 1, 0, -1]
        .into_iter()
        .chain(inner)
        .take(n)
        .collect()
}

/// Resizes `x` and opens it.
fn resized<S: Subject>(s: &S, x: &[i64], (from, trunc, bits): (u32, u32, u32)) -> Vec<i64> {
    let n = x.len();
    let calls: Vec<Call> = [Call::Input { owner: 0, n }]
        .into_iter()
        .chain((trunc > 0 || bits > from).then_some(Call::resize(n, from, trunc, bits)))
        .chain([Call::Reveal {
            n,
            to: Audience::All,
        }])
        .collect();
    let opened = run(s, |machine| {
        let calls = lowered(&calls, machine.cost_model())?;
        machine.prepare(&calls)?;
        let owns = machine.party().id() == 0;
        let x = machine.input(0, n, owns.then_some(x))?;
        let narrow = machine.resize(&x, 0, from)?;
        let y = machine.resize(&narrow, trunc, bits)?;
        machine.reveal(&y, Audience::All)
    });
    opened.into_iter().next().flatten().expect("opened to all")
}

#[test]
fn resizing_between_two_parties_is_exact() {
    for (from, trunc, bits) in [
        (2, 0, 64),
        (8, 0, 9),
        (16, 0, 37),
        (16, 5, 8),
        (16, 3, 13),
        (29, 13, 16),
        (40, 12, 64),
        (64, 17, 20),
        (10, 2, 30),
    ] {
        let x = small(from.min(40), 67, 3);
        // What is left may not fit the fewer bits: then it wraps.
        let wrap = |v: i64| (v << (64 - bits)) >> (64 - bits);
        let expected: Vec<i64> = x.iter().map(|v| wrap(v >> trunc)).collect();
        assert_eq!(
            resized(&sirnn_over(64), &x, (from, trunc, bits)),
            expected,
            "{from} >> {trunc} in {bits}"
        );
    }
}

#[test]
fn resizing_over_a_ring_is_a_truncation() {
    let x = small(24, 50, 1);
    let y = resized(&falcon_over::<u64>(), &x, (24, 7, 17));
    for (x, y) in x.iter().zip(y) {
        assert!((y - (x >> 7)).abs() <= 1, "{x}: {y}");
    }
}

/// `x w` for an `m x k` matrix and weights that party 0 knows, or else nobody.
fn products<S: Subject>(s: &S, bits: [u32; 3], known_to: Option<usize>) {
    let shape = MatMul { m: 3, k: 5, n: 4 };
    let map = Bilinear::MatMul(shape);
    let (x, w) = (
        small(bits[0], map.left(), 1),
        small(bits[1], map.right(), 2),
    );
    let encoded = |v: &[i64]| v.iter().map(|v| *v as u64).collect::<Vec<_>>();
    let mut expected = vec![0u64; map.outputs()];
    map.accumulate(&mut expected, &encoded(&x), &encoded(&w));
    let expected: Vec<i64> = expected.into_iter().map(|v| v as i64).collect();
    let product = Call::Product {
        map,
        fixed: None,
        known_to,
        trunc: 0,
        bits: Some([bits[0], bits[1], bits[2], bits[2]]),
    };
    let opened = run(s, |machine| {
        let inputs = [map.left(), map.right()].map(|n| Call::Input { owner: 0, n });
        let reveal = Call::Reveal {
            n: map.outputs(),
            to: Audience::All,
        };
        let calls = [inputs[0], inputs[1], product, reveal];
        let calls = lowered(&calls, machine.cost_model())?;
        machine.prepare(&calls)?;
        let owns = machine.party().id() == 0;
        let left = machine.input(0, map.left(), owns.then_some(&x))?;
        let left = machine.resize(&left, 0, bits[0])?;
        let right = machine.input(0, map.right(), owns.then_some(&w))?;
        let right = machine.resize(&right, 0, bits[1])?;
        let right = match known_to {
            Some(owner) => machine.known(right, owner),
            None => right,
        };
        let right = Operand::Secret(right);
        let z = machine.linear(&left, &right, None, &map, 0, Some([bits[2]; 2]))?;
        machine.reveal(&z, Audience::All)
    });
    let opened = opened.into_iter().next().flatten().expect("opened to all");
    assert_eq!(opened, expected, "{bits:?} {known_to:?} {}", s.name());
}

#[test]
fn products_of_different_widths_are_exact() {
    for bits in [
        [8, 8, 20],
        [16, 16, 36],
        [16, 9, 30],
        [30, 20, 56],
        [12, 16, 64],
    ] {
        for known_to in [None, Some(0)] {
            products(&sirnn_over(64), bits, known_to);
            products(&falcon_over::<u64>(), bits, known_to);
        }
    }
}

/// A function over the 64-bit ring between two kinds of numbers.
fn between(kind: Kind, from: Number, to: Number) -> Elementary {
    let fraction = from.fraction.max(to.fraction);
    let format = Format::new(64, fraction).expect("a format that fits");
    Elementary::new(format, kind).between(from, to)
}

const ARGUMENT: Number = Number {
    bits: 16,
    fraction: 11,
};
const RESULT: Number = Number {
    bits: 17,
    fraction: 13,
};

#[test]
fn functions_between_widths_are_near() {
    let span = Span { low: -3, high: 3 };
    for (kind, exact, low) in [
        (
            Kind::Sigmoid,
            (|x| 1.0 / (1.0 + f64::exp(-x))) as fn(f64) -> f64,
            -7.0,
        ),
        (Kind::Tanh, f64::tanh, -7.0),
        (Kind::Reciprocal { span }, f64::recip, 0.25),
        (Kind::InverseSqrt { span }, |x| 1.0 / x.sqrt(), 0.25),
        (Kind::Erf, error_function_of, -7.0),
    ] {
        let function = between(kind, ARGUMENT, RESULT);
        let x: Vec<i64> = (0..97)
            .map(|i| ((low + f64::from(i) * (7.0 - low) / 97.0) * 2048.0) as i64)
            .collect();
        near(&sirnn_over(64), function, &x, exact);
        near(&falcon_over::<u64>(), function, &x, exact);
    }
}

/// A bound is one whoever computes the function: by tables, or by pieces over the ring.
#[test]
fn exponentials_end_at_their_bound() {
    for (high, exact) in [
        (0, (|x| x.min(0.0).exp()) as fn(f64) -> f64),
        (-2, |x| x.min(-2.0).exp()),
    ] {
        let function = between(Kind::Exp { high }, ARGUMENT, RESULT);
        let bound = i64::from(high) << ARGUMENT.fraction;
        let powers = (0..14).flat_map(|k| [bound - (1 << k), bound + (1 << k)]);
        let x: Vec<i64> = powers.chain([bound]).collect();
        near(&sirnn_over(64), function, &x, exact);
        near(&falcon_over::<u64>(), function, &x, exact);
        near(&ubl_over::<u64>(Truncation::Gap), function, &x, exact);
    }
}

fn error_function_of(x: f64) -> f64 {
    tacit_protocols::math::error_function(x)
}

fn near<S: Subject>(s: &S, function: Elementary, x: &[i64], exact: fn(f64) -> f64) {
    let n = x.len();
    let opened = run(s, |machine| {
        let calls = [
            Call::Input { owner: 0, n },
            Call::Function { n, function },
            Call::Reveal {
                n,
                to: Audience::All,
            },
        ];
        let calls = lowered(&calls, machine.cost_model())?;
        machine.prepare(&calls)?;
        let owns = machine.party().id() == 0;
        let x = machine.input(0, n, owns.then_some(x))?;
        let x = machine.resize(&x, 0, ARGUMENT.bits)?;
        let y = machine.function(&function, &x)?;
        machine.reveal(&y, Audience::All)
    });
    let opened = opened.into_iter().next().flatten().expect("opened to all");
    for (&x, y) in x.iter().zip(opened) {
        let value = exact(x as f64 / 2048.0) * 8192.0;
        let allowed = 5.0 + value.abs() / 4096.0;
        assert!(
            (y as f64 - value).abs() <= allowed,
            "{:?} of {x}: {y}, not {value}: {}",
            function.kind,
            s.name()
        );
    }
}

#[test]
fn declared_equals_metered_of_every_width() {
    let shape = MatMul { m: 2, k: 3, n: 4 };
    let span = Span { low: -3, high: 3 };
    for n in [1, 129, 1500] {
        let product = |map, known_to, fixed| Call::Product {
            map,
            fixed,
            known_to,
            trunc: 9,
            bits: Some([16, 12, 30, 16]),
        };
        let functions = [
            Kind::Sigmoid,
            Kind::Tanh,
            Kind::Exp { high: 0 },
            Kind::Exp { high: -2 },
            Kind::Reciprocal { span },
            Kind::InverseSqrt { span },
        ]
        .map(|kind| between(kind, ARGUMENT, RESULT));
        let bounded = between(Kind::Exp { high: 0 }, ARGUMENT, RESULT).bounded();
        let functions = functions.into_iter().chain([bounded]);
        let functions = functions.map(|function| Call::Function { n, function });
        let mut calls = vec![
            Call::resize(n, 16, 0, 30),
            Call::resize(n, 30, 14, 16),
            Call::resize(n, 12, 4, 20),
            product(Bilinear::Elementwise(n), None, None),
            product(Bilinear::MatMul(shape), None, None),
            product(Bilinear::MatMul(shape), Some(0), Some(0)),
            Call::drelu(n).of_bits(16),
            Call::select(n).of_bits(5),
            Call::relu(n).of_bits(16),
            Call::maxpool(n, 4).of_bits(11),
        ];
        calls.extend(functions);
        for call in calls {
            declared_equals_metered(&sirnn_over(64), call);
        }
    }
}

//! Numbers with widths of their own: on SiRnn exactly what integers of these widths give, at its
//! declared cost; on every other protocol what the ring gives.

use crate::*;
use tacit_algebra::MatMul;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Bilinear, Operand};
use tacit_protocols::math::{Format, FunctionKind, Number, Span, error_function};

/// Signed numbers below a quarter of what `bits` bits hold, the ends among them.
pub fn small(bits: u32, n: usize, seed: i64) -> Vec<i64> {
    let end = 1i64 << (bits - 2);
    let inner = (0..n as i64).map(|i| (i * 0x9e37_79b9 + seed * 77_777).rem_euclid(2 * end) - end);
    [-end, end - 1, 0, -1]
        .into_iter()
        .chain(inner)
        .take(n)
        .collect()
}

/// Resizes `x` and opens it.
pub fn resized(s: &dyn Subject, x: &[i64], (from, trunc, bits): (u32, u32, u32)) -> Vec<i64> {
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

/// `x w` for an `m x k` matrix and weights that party 0 knows, or else nobody.
fn products(s: &dyn Subject, bits: [u32; 3], known_to: Option<usize>) {
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
        reused: None,
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

/// Products of numbers of different widths, with weights that a party knows and others.
pub fn products_of_different_widths_are_exact(s: &dyn Subject) {
    for bits in [
        [8, 8, 20],
        [16, 16, 36],
        [16, 9, 30],
        [30, 20, 56],
        [12, 16, 64],
    ] {
        for known_to in [None, Some(0)] {
            products(s, bits, known_to);
        }
    }
}

/// A function over the 64-bit ring between two kinds of numbers.
pub fn between(kind: FunctionKind, from: Number, to: Number) -> Elementary {
    let fraction = from.fraction.max(to.fraction);
    let format = Format::new(64, fraction).expect("a format that fits");
    Elementary::new(format, kind).between(from, to)
}

/// What functions here are of.
pub const ARGUMENT: Number = Number {
    bits: 16,
    fraction: 11,
};
/// Numbers that the functions between widths give: 17 bits, 13 of them fraction bits.
pub const RESULT: Number = Number {
    bits: 17,
    fraction: 13,
};

/// Functions from numbers of 16 bits to numbers of 17.
pub fn functions_between_widths_are_near(s: &dyn Subject) {
    let span = Span { low: -3, high: 3 };
    for (kind, exact, low) in [
        (
            FunctionKind::Sigmoid,
            (|x| 1.0 / (1.0 + f64::exp(-x))) as fn(f64) -> f64,
            -7.0,
        ),
        (FunctionKind::Tanh, f64::tanh, -7.0),
        (FunctionKind::Reciprocal { span }, f64::recip, 0.25),
        (FunctionKind::InverseSqrt { span }, |x| 1.0 / x.sqrt(), 0.25),
        (FunctionKind::Erf, error_function, -7.0),
        (FunctionKind::Log { span }, f64::ln, 0.25),
    ] {
        let function = between(kind, ARGUMENT, RESULT);
        let x: Vec<i64> = (0..97)
            .map(|i| ((low + f64::from(i) * (7.0 - low) / 97.0) * 2048.0) as i64)
            .collect();
        near(s, function, &x, exact);
    }
}

/// A bound is one whoever computes the function: by tables, or by pieces over the ring.
pub fn exponentials_end_at_their_bound(s: &dyn Subject) {
    for (high, exact) in [
        (0, (|x| x.min(0.0).exp()) as fn(f64) -> f64),
        (-2, |x| x.min(-2.0).exp()),
    ] {
        let function = between(FunctionKind::Exp { high }, ARGUMENT, RESULT);
        let bound = i64::from(high) << ARGUMENT.fraction;
        let powers = (0..14).flat_map(|k| [bound - (1 << k), bound + (1 << k)]);
        let x: Vec<i64> = powers.chain([bound]).collect();
        near(s, function, &x, exact);
    }
}

fn near(s: &dyn Subject, function: Elementary, x: &[i64], exact: fn(f64) -> f64) {
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

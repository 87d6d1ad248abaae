//! The three truncations in both settings: their error, its mean, the large error that `aby3` and
//! `secureml` have, and the precision that is left if factors are truncated before a product.

use super::in_both_settings;
use crate::subjects::Tested;
use tacit_conformance::histograms::keeps_to_rate;
use tacit_conformance::{Subject, apply, noise, run};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Call, Machine, Operand};

/// How values come to be truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Value,
    /// A product with a secret 1.
    Product,
}

/// `x` truncated by `trunc` bits, minus the floor.
fn errors(subject: &dyn Subject, of: Of, x: &[i64], trunc: u32) -> Vec<i64> {
    let n = x.len();
    let call = match of {
        Of::Value => Call::truncate(n, trunc),
        Of::Product => Call::elementwise(n, trunc),
    };
    let opened = apply(subject, &[call], x, |machine, x| {
        if of == Of::Value {
            return machine.truncate(x, trunc);
        }
        let owns = machine.party().id() == 1;
        let one = machine.input(1, n, owns.then_some(&vec![1; n][..]))?;
        machine.mul(x, &Operand::Secret(one), trunc)
    });
    let pairs = opened.iter().zip(x);
    pairs.map(|(quotient, x)| quotient - (x >> trunc)).collect()
}

#[test]
fn gap_is_off_by_at_most_one_for_every_8_bit_value() {
    fn check(subject: &dyn Subject) {
        for (trunc, of) in (1..=6).flat_map(|d| [(d, Of::Value), (d, Of::Product)]) {
            // The offset that takes the bias away costs this much of the upper end.
            let top = 64 - (1 << trunc >> 2);
            let x: Vec<i64> = (-64..top).flat_map(|x| [x; 512]).collect();
            let wrong = errors(subject, of, &x, trunc);
            let name = || format!("by {trunc} bits, {of:?}, {}", subject.name());
            assert!(wrong.iter().all(|e| [0, 1].contains(e)), "{}", name());
            assert!(wrong.contains(&1), "never rounded up {}", name());
        }
    }
    in_both_settings::<u8>(Truncation::Gap, |s| check(s));
}

/// Values of the whole range of `gap`, every other one near its ends.
fn near_the_ends<R: Tested>(trunc: u32, seed: u64, n: usize) -> Vec<i64> {
    let range = 1i64 << (R::BITS - 2);
    let unit = 1i64 << trunc;
    let value = |(i, v): (usize, i64)| match i % 4 {
        0 => -range + v.rem_euclid(3 * unit),
        1 => range - 1 - (unit >> 2) - v.rem_euclid(3 * unit),
        _ => v >> (65 - R::BITS),
    };
    let x = noise(seed, n).into_iter().enumerate().map(value);
    // The offset that takes the bias away costs this much of the upper end.
    x.map(|v| v.clamp(-range, range - 1 - (unit >> 2)))
        .collect()
}

fn never_large<R: Tested>(total: usize) {
    let truncs = [1, 5, 13, R::BITS / 2 - 6, R::BITS - 8];
    let each = total / truncs.len();
    for (trunc, start) in truncs
        .into_iter()
        .flat_map(|d| (0..each).step_by(200_000).map(move |start| (d, start)))
    {
        let n = (each - start).min(200_000);
        let x = near_the_ends::<R>(trunc, start as u64, n);
        let of = if start % 3 == 0 {
            Of::Value
        } else {
            Of::Product
        };
        in_both_settings::<R>(Truncation::Gap, |s| {
            let wrong = errors(s, of, &x, trunc);
            let at = wrong.iter().position(|e| ![0, 1].contains(e));
            let found = at.map(|at| (x[at], wrong[at]));
            assert_eq!(found, None, "by {trunc} bits, {of:?}, {}", s.name());
        });
    }
}

#[test]
fn gap_never_has_a_large_error_in_a_million_values() {
    never_large::<u32>(1_000_000);
    never_large::<u64>(1_000_000);
}

#[test]
#[ignore = "long"]
fn gap_never_has_a_large_error_in_ten_million_values() {
    never_large::<u32>(10_000_000);
    never_large::<u64>(10_000_000);
}

/// The error against the true quotient has mean 0: its sample mean lies within five standard
/// errors. A truncation that always rounds down would be off by 1/2, that is hundreds of them.
#[test]
fn gap_rounds_without_bias() {
    fn check(subject: &dyn Subject, of: Of, x: &[i64], trunc: u32) {
        let (n, scale) = (x.len() as f64, f64::from(1u32 << trunc));
        let wrong = errors(subject, of, x, trunc);
        let part = |x: i64| x.rem_euclid(1 << trunc) as f64 / scale;
        let off = wrong.iter().zip(x).map(|(e, x)| *e as f64 - part(*x));
        let off: Vec<f64> = off.collect();
        let mean = off.iter().sum::<f64>() / n;
        let variance = off.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / n;
        let name = || format!("by {trunc} bits, {of:?}, {}", subject.name());
        assert!(variance > 0.05, "not random: {variance}, {}", name());
        let confidence = 5.0 * (variance / n).sqrt();
        assert!(mean.abs() < confidence, "mean {mean} {}", name());
    }
    for (trunc, of) in [1, 2, 5, 13]
        .into_iter()
        .flat_map(|d| [(d, Of::Value), (d, Of::Product)])
    {
        let x: Vec<i64> = noise(3, 1 << 16).into_iter().map(|v| v >> 40).collect();
        in_both_settings::<u32>(Truncation::Gap, |s| check(s, of, &x, trunc));
        in_both_settings::<u64>(Truncation::Gap, |s| check(s, of, &x, trunc));
    }
}

/// Counts the large errors of `x`, which add or take `2^(l-d)`.
fn has_large_errors_at_the_stated_rate(subject: &dyn Subject, of: Of, x: i64) {
    let (trials, trunc) = (1 << 16, 3);
    let wrong = errors(subject, of, &vec![x; trials], trunc);
    let name = || format!("{x}, {of:?}, {}", subject.name());
    let known = |e: &i64| [0, 1].contains(e) || (31..=33).contains(&e.abs());
    assert!(wrong.iter().all(known), "{}", name());
    let large = wrong.iter().filter(|e| e.abs() > 1).count();
    let rate = x.unsigned_abs() as f64 / 256.0;
    assert!(
        keeps_to_rate(large, trials, rate),
        "{large} of {trials} are large: {}",
        name()
    );
}

#[test]
fn aby3_and_secureml_have_their_large_error_at_the_stated_rate() {
    for x in [0i64, 1, 5, 20, 63, 100, 127, -1, -5, -20, -64, -128] {
        for kind in [Truncation::Aby3, Truncation::SecureMl] {
            for of in [Of::Value, Of::Product] {
                in_both_settings::<u8>(kind, |s| has_large_errors_at_the_stated_rate(s, of, x));
            }
        }
    }
}

/// What everybody knows has shares that are not random; its truncation errs no more for that.
#[test]
fn constants_are_truncated_like_other_values() {
    fn check(subject: &dyn Subject) {
        let x: Vec<i64> = [-1000, -1, 0, 1, 5, 999].repeat(100);
        let n = x.len();
        let opened = run(subject, |machine| {
            machine.prepare(&[Call::truncate(n, 3)])?;
            let share = machine.constant(&x);
            let share = machine.truncate(&share, 3)?;
            machine.reveal(&share, Audience::All)
        });
        let opened = opened[0].as_ref().expect("all parties hear");
        for (quotient, x) in opened.iter().zip(&x) {
            let error = quotient - (x >> 3);
            assert!([0, 1].contains(&error), "{x}: {error}, {}", subject.name());
        }
    }
    for kind in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
        in_both_settings::<u64>(kind, |s| check(s));
    }
}

/// The root of the mean square error of products of fractions in `(-4, 4)` whose factors are
/// truncated to half of the precision, so that the product is not (Algorithm 3).
fn rms_of_truncated_factors(subject: &dyn Subject, precision: u32) -> f64 {
    let n = 1 << 14;
    let scale = (1u64 << precision) as f64;
    let values = |seed| -> Vec<i64> {
        let fractions = noise(seed, n).into_iter();
        fractions.map(|v| v >> (61 - precision)).collect()
    };
    let (x, y) = (values(1), values(2));
    let (low, high) = (precision / 2, precision.div_ceil(2));
    let truncate = |trunc| Call::truncate(n, trunc);
    let calls = [truncate(low), truncate(high), Call::elementwise(n, 0)];
    let opened = apply(subject, &calls, &x, |machine, x| {
        let owns = machine.party().id() == 1;
        let y = machine.input(1, n, owns.then_some(&y[..]))?;
        let x = machine.truncate(x, low)?;
        let y = machine.truncate(&y, high)?;
        machine.mul(&x, &Operand::Secret(y), 0)
    });
    let square = |((&z, &x), &y): ((&i64, &i64), &i64)| {
        let exact = (x as f64 / scale) * (y as f64 / scale);
        assert!(x.unsigned_abs() <= 4 << precision && exact.abs() <= 16.0);
        (z as f64 / scale - exact).powi(2)
    };
    let squares = opened.iter().zip(&x).zip(&y).map(square);
    (squares.sum::<f64>() / n as f64).sqrt()
}

#[test]
fn truncated_factors_leave_the_stated_precision() {
    for kind in [Truncation::Gap, Truncation::Aby3, Truncation::SecureMl] {
        for (precision, stated) in [(26, 1.6e-4), (20, 1.3e-3), (12, 2.1e-2)] {
            in_both_settings::<u64>(kind, |s| {
                let rms = rms_of_truncated_factors(s, precision);
                assert!(
                    (0.8..1.2).contains(&(rms / stated)),
                    "{rms} at {precision} bits, {}",
                    s.name()
                );
            });
        }
    }
}

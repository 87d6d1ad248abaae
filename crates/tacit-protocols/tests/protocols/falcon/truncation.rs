//! The three truncations: their error, its mean, and the large error that only `aby3` has; and that of
//! malicious security, which rounds each component by itself.

use crate::subjects::Tested;
use crate::subjects::{FalconOver, falcon_over, malicious_over};
use tacit_conformance::{Subject, apply, noise};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Call, Machine};

/// `x` truncated by `trunc` bits on its own, minus the floor.
fn errors<R: Tested>(kind: Truncation, x: &[i64], trunc: u32) -> Vec<i64> {
    errors_of(&falcon_over::<R>().truncating(kind), x, trunc)
}

fn errors_of<R: Tested>(subject: &FalconOver<R>, x: &[i64], trunc: u32) -> Vec<i64> {
    let n = x.len();
    let opened = apply(subject, &[Call::truncate(n, trunc)], x, |machine, x| {
        machine.truncate(x, trunc)
    });
    opened
        .iter()
        .zip(x)
        .map(|(&quotient, &x)| quotient - (x >> trunc))
        .collect()
}

/// Every value with `abs(x) < 2^(l-2)` of the 8-bit ring, `times` over.
fn all_small(times: usize) -> Vec<i64> {
    (-64..64).flat_map(|x| vec![x; times]).collect()
}

#[test]
fn gap_is_off_by_at_most_one_for_every_8_bit_value() {
    for trunc in 1..=6 {
        let wrong = errors::<u8>(Truncation::Gap, &all_small(512), trunc);
        assert!(wrong.iter().all(|&e| e == 0 || e == 1), "by {trunc} bits");
        assert!(
            wrong.contains(&1),
            "by {trunc} bits: the rounding is never up"
        );
    }
}

/// Every value of 8 bits, and the ends of the range of 64 bits, by numbers of bits that reach into those by
/// which wraps are told: off the true quotient by at most 3/2.
#[test]
fn rounded_components_are_off_by_at_most_three_halves() {
    for trunc in 1..=6 {
        let x = all_small(128);
        within_three_halves(&x, &errors_of(&malicious_over::<u8>(), &x, trunc), trunc);
    }
    let top = 1i64 << 62;
    let ends = [-top, 1 - top, -top / 2, -1, 0, 1, top / 2, top - 2, top - 1];
    let x: Vec<i64> = ends.repeat(500);
    for trunc in [1, 13, 32, 33, 60, 61, 62] {
        within_three_halves(&x, &errors_of(&malicious_over::<u64>(), &x, trunc), trunc);
    }
}

fn within_three_halves(x: &[i64], errors: &[i64], trunc: u32) {
    for (x, error) in x.iter().zip(errors) {
        // Against the true quotient, in halves of the last bit dropped.
        let low = i128::from(x.rem_euclid(1 << trunc));
        let off = (i128::from(*error) << trunc) - low;
        assert!(2 * off.abs() <= 3 << trunc, "{x} by {trunc} bits: {error}");
    }
}

#[test]
fn exact_is_the_floor_for_every_8_bit_value() {
    for trunc in 1..=6 {
        let wrong = errors::<u8>(Truncation::Exact, &all_small(256), trunc);
        assert!(wrong.iter().all(|&e| e == 0), "by {trunc} bits");
    }
}

#[test]
fn exact_is_the_floor_on_real_rings() {
    let x32: Vec<i64> = noise(1, 20_000).into_iter().map(|v| v >> 34).collect();
    let x64: Vec<i64> = noise(2, 20_000).into_iter().map(|v| v >> 2).collect();
    for trunc in [1, 12, 13, 30] {
        assert!(
            errors::<u32>(Truncation::Exact, &x32, trunc)
                .iter()
                .all(|&e| e == 0)
        );
        assert!(
            errors::<u64>(Truncation::Exact, &x64, trunc * 2)
                .iter()
                .all(|&e| e == 0)
        );
    }
}

/// The error against the true quotient has mean zero: its sample mean lies within five standard
/// errors. A truncation that always rounds down would be off by 1/2, that is hundreds of them.
#[test]
fn gap_rounds_without_bias() {
    has_no_bias(&falcon_over());
}

/// An input's third component is 0, which a floor of every component would round down by nothing.
#[test]
fn rounded_components_have_no_bias() {
    has_no_bias(&malicious_over());
}

fn has_no_bias(subject: &FalconOver<u32>) {
    let trunc = 13;
    let x: Vec<i64> = noise(3, 1 << 17).into_iter().map(|v| v >> 40).collect();
    let wrong = errors_of(subject, &x, trunc);
    let scale = f64::from(1u32 << trunc);
    let residuals: Vec<f64> = wrong
        .iter()
        .zip(&x)
        .map(|(&e, &x)| e as f64 - (x.rem_euclid(1 << trunc)) as f64 / scale)
        .collect();
    let n = residuals.len() as f64;
    let mean = residuals.iter().sum::<f64>() / n;
    let variance = residuals.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
    assert!(
        variance > 0.05,
        "the rounding must be random, its variance is {variance}"
    );
    assert!(
        mean.abs() < 5.0 * (variance / n).sqrt(),
        "the mean error is {mean} of a unit"
    );
}

/// Ten million random values over the whole range of `gap`: never a large error.
#[test]
fn gap_never_has_the_large_error() {
    for seed in 0..10 {
        let x: Vec<i64> = noise(100 + seed, 1_000_000)
            .into_iter()
            .map(|v| v >> 34)
            .collect();
        assert!(
            errors::<u32>(Truncation::Gap, &x, 12)
                .iter()
                .all(|&e| e == 0 || e == 1)
        );
    }
}

/// `aby3` fails with probability `abs(x) / 2^l` by `2^(l-d)`: the count lies within five standard
/// deviations of the binomial law.
#[test]
fn aby3_has_its_large_error_at_the_stated_rate() {
    let (trials, trunc) = (200_000, 3);
    for x in [0i64, 1, 5, 20, 63, 100, 127, -1, -20, -64, -128] {
        let wrong = errors::<u8>(Truncation::Aby3, &vec![x; trials], trunc);
        let large = wrong.iter().filter(|&&e| e.abs() > 1).count() as f64;
        assert!(
            wrong
                .iter()
                .all(|&e| (0..=1).contains(&e) || [32, 31, 33].contains(&e.abs())),
            "x = {x}"
        );
        let probability = x.abs() as f64 / 256.0;
        let deviation = (trials as f64 * probability * (1.0 - probability)).sqrt();
        let off = (large - trials as f64 * probability).abs();
        assert!(
            off <= 5.0 * deviation,
            "x = {x}: {large} large errors in {trials}"
        );
    }
}

/// A product that is truncated with one opening is off by no more than a truncation may be.
#[test]
fn products_are_truncated_once() {
    use tacit_protocols::machine::Operand;
    let n = 5000;
    let x: Vec<i64> = noise(4, n).into_iter().map(|v| v >> 50).collect();
    let y: Vec<i64> = noise(5, n).into_iter().map(|v| v >> 50).collect();
    for kind in [Truncation::Gap, Truncation::Exact, Truncation::Aby3] {
        for public in [false, true] {
            let call = if public {
                Call::truncate(n, 12)
            } else {
                Call::elementwise(n, 12)
            };
            let subject = falcon_over::<u64>().truncating(kind);
            let (least, most) = subject.rounding();
            let opened = apply(&subject, &[call], &x, |machine, share| {
                let owns = machine.party().id() == 1;
                let y = match public {
                    true => Operand::Public(y.as_slice().into()),
                    false => Operand::Secret(machine.input(1, n, owns.then_some(&y[..]))?),
                };
                machine.mul(share, &y, 12)
            });
            for ((&quotient, &x), &y) in opened.iter().zip(&x).zip(&y) {
                let off = quotient - ((x * y) >> 12);
                assert!(
                    (least..=most).contains(&off),
                    "{kind:?}, public {public}: {x} * {y} is off by {off}"
                );
            }
        }
    }
}

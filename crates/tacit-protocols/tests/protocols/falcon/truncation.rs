//! The three truncations: their error, its mean, and the large error that only `aby3` has.

use crate::subjects::falcon_over;
use tacit_algebra::Ring;
use tacit_conformance::{apply, noise};
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Call, Machine};

/// `x` truncated by `trunc` bits on its own, minus the floor.
fn errors<R: Ring>(kind: Truncation, x: &[i64], trunc: u32) -> Vec<i64> {
    let n = x.len();
    let subject = falcon_over::<R>().truncating(kind);
    let opened = apply(&subject, &[Call::truncate(n, trunc)], x, |machine, x| {
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
    let trunc = 13;
    let x: Vec<i64> = noise(3, 1 << 17).into_iter().map(|v| v >> 40).collect();
    let wrong = errors::<u32>(Truncation::Gap, &x, trunc);
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

/// After a product the same holds, with one opening for both.
#[test]
fn products_are_truncated_once() {
    use tacit_protocols::machine::Operand;
    let n = 5000;
    let x: Vec<i64> = noise(4, n).into_iter().map(|v| v >> 50).collect();
    let y: Vec<i64> = noise(5, n).into_iter().map(|v| v >> 50).collect();
    for (kind, slack) in [
        (Truncation::Gap, 1),
        (Truncation::Exact, 0),
        (Truncation::Aby3, 1),
    ] {
        for public in [false, true] {
            let call = if public {
                Call::truncate(n, 12)
            } else {
                Call::elementwise(n, 12)
            };
            let subject = falcon_over::<u64>().truncating(kind);
            let opened = apply(&subject, &[call], &x, |machine, share| {
                let owns = machine.party().id() == 1;
                let y = match public {
                    true => Operand::Public(y.clone()),
                    false => Operand::Secret(machine.input(1, n, owns.then_some(&y[..]))?),
                };
                machine.mul(share, &y, 12)
            });
            for ((&quotient, &x), &y) in opened.iter().zip(&x).zip(&y) {
                let off = quotient - ((x * y) >> 12);
                assert!(
                    (0..=slack).contains(&off),
                    "{kind:?}, public {public}: {x} * {y} is off by {off}"
                );
            }
        }
    }
}

//! The error of a truncation: its bounds for every value and number of bits, and its mean. Ten
//! million values over the wide fields are truncated by a test inside the crate, which deals the
//! masks itself.

use crate::subjects::TestedField;
use crate::subjects::shamir_over;
use tacit_algebra::mersenne::{F7, F13, F31, F61, Field, finish_truncation};
use tacit_conformance::{Subject, apply, noise};
use tacit_protocols::machine::{Call, Machine, Operand};
use tacit_protocols::shamir::{Comparison, Opening};

/// Every value that may be truncated.
fn range<F: TestedField>() -> std::ops::Range<i64> {
    let top = 1 << (F::BITS - 2);
    -top..top
}

/// The mean error of `a` truncated by `d` bits against the true quotient, in units: the prime is one
/// less than a power of two, and `a` under its mask reaches it with probability `(a + 2^{l-2}) / p`.
fn mean_error<F: TestedField>(a: i64, d: u32) -> f64 {
    let above = (a + (1 << (F::BITS - 2))) as f64;
    above / F::P as f64 * 0.5f64.powi(d as i32)
}

/// `x` truncated by `d` bits between `parties`, minus the floor: on its own, then as a product.
fn errors<F: TestedField>(parties: usize, opening: Opening, x: &[i64], d: u32) -> [Vec<i64>; 2] {
    let (n, trunc) = (x.len(), d);
    let subject = shamir_over::<F>(parties, Comparison::Tree, opening);
    let calls = [Call::truncate(n, trunc), Call::elementwise(n, trunc)];
    let opened = apply(&subject, &calls, x, |machine, x| {
        let plain = machine.truncate(x, d)?;
        let one = Operand::Secret(machine.constant(&vec![1; n]));
        let product = machine.mul(x, &one, d)?;
        Ok(machine.concat(&[&plain, &product]))
    });
    let off = |part: &[i64]| part.iter().zip(x).map(|(&q, &x)| q - (x >> d)).collect();
    [off(&opened[..n]), off(&opened[n..])]
}

fn bounded<F: TestedField>(parties: usize, opening: Opening, times: usize) {
    for d in 1..=F::BITS - 2 {
        let x: Vec<i64> = range::<F>().flat_map(|x| vec![x; times]).collect();
        for (kind, wrong) in ["sharing", "product"]
            .iter()
            .zip(errors::<F>(parties, opening, &x, d))
        {
            let bad = wrong.iter().zip(&x).find(|(e, _)| !(0..=1).contains(*e));
            assert_eq!(bad, None, "a {kind} by {d} bits between {parties}");
            assert!(
                wrong.contains(&0) && wrong.contains(&1),
                "by {d} bits: it never rounds up"
            );
        }
    }
}

#[test]
fn every_value_of_7_bits_is_its_floor_or_the_next() {
    bounded::<F7>(3, Opening::King, 200);
    bounded::<F7>(4, Opening::Direct, 200);
    bounded::<F7>(5, Opening::King, 200);
}

#[test]
fn every_value_of_13_bits_is_its_floor_or_the_next() {
    bounded::<F13>(3, Opening::Direct, 8);
    bounded::<F13>(5, Opening::King, 2);
}

/// The formula itself under every mask below `p`, without parties: errors against the floor.
fn errors_under_every_mask<F: TestedField>(a: i64, d: u32) -> impl Iterator<Item = i64> {
    let top = 1i64 << (F::BITS - 2);
    let b = F::from_i64(a + top);
    let c: Vec<F> = (0..F::P).map(|r| b.add(F::from_u64(r))).collect();
    let shifted = |by: u32| -> Vec<F> { (0..F::P).map(|r| F::from_u64(r >> by)).collect() };
    let back = F::from_i64(top >> d);
    let out = finish_truncation(&c, &shifted(d), &shifted(F::BITS - 1), d, back);
    out.into_iter().map(move |f| f.to_i64() - (a >> d))
}

/// The part of a unit that the floor of `a / 2^d` leaves.
fn part(a: i64, d: u32) -> f64 {
    a.rem_euclid(1 << d) as f64 / f64::from(1u32 << d)
}

/// Over all masks the mean error of a value is exactly what is stated.
#[test]
fn the_mean_error_is_as_stated() {
    for d in [1, 2, 5, 8, 11] {
        for a in range::<F13>().step_by(37) {
            let sum: i64 = errors_under_every_mask::<F13>(a, d).sum();
            let mean = sum as f64 / F13::P as f64 - part(a, d);
            let want = mean_error::<F13>(a, d);
            assert!((mean - want).abs() < 1e-9, "{a} by {d}: {mean}, not {want}");
        }
    }
}

/// Between parties the sample mean of errors lies within five standard errors of what is stated.
fn unbiased_between_parties<F: TestedField>(n: usize, kept: u32) {
    for (d, seed) in [(1, 21), (2, 22), (5, 23), (12, 24)] {
        let x: Vec<i64> = noise(seed, n)
            .into_iter()
            .map(|v| v >> (64 - kept))
            .collect();
        for wrong in errors::<F>(3, Opening::Auto, &x, d) {
            let off = wrong.iter().zip(&x);
            let off = off.map(|(e, &x)| *e as f64 - part(x, d) - mean_error::<F>(x, d));
            let off: Vec<f64> = off.collect();
            let mean = off.iter().sum::<f64>() / n as f64;
            let variance = off.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / n as f64;
            assert!(
                variance > 0.05,
                "the rounding must be random, its variance is {variance}"
            );
            let confidence = 5.0 * (variance / n as f64).sqrt();
            assert!(mean.abs() < confidence, "{d} bits: {mean} of a unit");
        }
    }
}

#[test]
fn truncations_over_31_and_61_bits_have_no_bias() {
    unbiased_between_parties::<F31>(1 << 16, 20);
    unbiased_between_parties::<F61>(1 << 14, 40);
}

/// Where the range ends: nothing large up to its last value.
#[test]
fn the_ends_of_the_range_are_truncated_too() {
    fn ends<F: TestedField>() {
        for d in [1, 2, 12, F::BITS - 3, F::BITS - 2] {
            let range = range::<F>();
            let near = (0..4).flat_map(|i| [range.start + i, range.end - 1 - i, i, -i]);
            let x: Vec<i64> = near.flat_map(|x| [x; 100]).collect();
            for wrong in errors::<F>(5, Opening::King, &x, d) {
                assert!(
                    wrong.iter().all(|e| (0..=1).contains(e)),
                    "{} bits, {d}",
                    F::BITS
                );
            }
        }
    }
    ends::<F31>();
    ends::<F61>();
}

/// A shift that no truncation can make is refused when it is planned.
#[test]
fn a_shift_of_nearly_all_bits_is_refused() {
    let subject = shamir_over::<F7>(3, Comparison::Tree, Opening::King);
    let refused = tacit_conformance::run(&subject, |machine| {
        Ok(machine.prepare(&[Call::truncate(4, 6)]).err())
    });
    for error in refused {
        let words = error.expect("6 of 7 bits are too many").to_string();
        assert!(words.contains("1 to 5"), "{words}, {}", subject.name());
    }
}

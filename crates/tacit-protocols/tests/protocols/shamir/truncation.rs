//! The error of a truncation: its bounds for every value and number of bits, and its mean. Ten
//! million values over the wide fields are truncated by a test inside the crate, which deals the
//! masks itself.

use crate::common::{Subject, apply, noise, shamir_over};
use tacit_algebra::mersenne::{F7, F13, F31, F61, Field, finish_truncation, shift_signed};
use tacit_protocols::machine::{Call, Machine, Operand};
use tacit_protocols::shamir::{Comparison, Opening};

/// The offset that takes the bias away.
fn unbiased(d: u32) -> i64 {
    if d >= 2 { 1 << (d - 2) } else { 0 }
}

/// Every value that may be truncated by `d` bits.
fn range<F: Field>(d: u32) -> std::ops::Range<i64> {
    let top = 1 << (F::BITS - 2);
    -top..top - unbiased(d)
}

/// The mean error against the true quotient of small values, in units: a value wraps around with
/// probability 1/4, which without the offset costs `1/4 (1 - 2^-d)`.
fn mean_error(d: u32, offset: bool) -> f64 {
    let paper = -0.25 * (1.0 - 0.5f64.powi(d as i32));
    paper + if offset && d >= 2 { 0.25 } else { 0.0 }
}

/// `x` truncated by `d` bits between `parties`, minus the floor: on its own, then as a product.
fn errors<F: Field>(parties: usize, opening: Opening, x: &[i64], d: u32) -> [Vec<i64>; 2] {
    let (n, trunc) = (x.len(), d);
    let subject = shamir_over::<F>(parties, Comparison::Tree, opening);
    let calls = [Call::Truncate { n, trunc }, Call::elementwise(n, trunc)];
    let opened = apply(&subject, &calls, x, |machine, x| {
        let plain = machine.truncate(x, d)?;
        let one = Operand::Secret(machine.constant(&vec![1; n]));
        let product = machine.mul(x, &one, d)?;
        Ok(machine.concat(&[&plain, &product]))
    });
    let off = |part: &[i64]| part.iter().zip(x).map(|(&q, &x)| q - (x >> d)).collect();
    [off(&opened[..n]), off(&opened[n..])]
}

fn bounded<F: Field>(parties: usize, opening: Opening, times: usize) {
    for d in 1..=F::BITS - 2 {
        let x: Vec<i64> = range::<F>(d).flat_map(|x| vec![x; times]).collect();
        for (kind, wrong) in ["sharing", "product"]
            .iter()
            .zip(errors::<F>(parties, opening, &x, d))
        {
            let bad = wrong.iter().zip(&x).find(|(e, _)| !(-1..=2).contains(*e));
            assert_eq!(bad, None, "a {kind} by {d} bits between {parties}");
            assert!(
                wrong.contains(&0) && wrong.contains(&1),
                "by {d} bits: it never rounds up"
            );
        }
    }
}

#[test]
fn every_value_of_7_bits_is_off_by_minus_1_to_2() {
    bounded::<F7>(3, Opening::King, 200);
    bounded::<F7>(4, Opening::Direct, 200);
    bounded::<F7>(5, Opening::King, 200);
}

#[test]
fn every_value_of_13_bits_is_off_by_minus_1_to_2() {
    bounded::<F13>(3, Opening::Direct, 8);
    bounded::<F13>(5, Opening::King, 2);
}

/// The formula itself under every mask, without parties: a `b` of the right range, `r` below `p`.
fn errors_under_every_mask<F: Field>(a: i64, d: u32, offset: i64) -> Vec<i64> {
    let top = 1i64 << (F::BITS - 2);
    let r: Vec<F> = (0..F::P).map(F::from_u64).collect();
    let b = F::from_i64(a + top + offset);
    let c: Vec<F> = r.iter().map(|r| b.add(*r)).collect();
    let msb: Vec<F> = r
        .iter()
        .map(|r| F::from_u64(r.to_u64() >> (F::BITS - 1)))
        .collect();
    let back = F::from_i64(top >> d);
    let out = finish_truncation(&c, &shift_signed(&r, d), &msb, d, back);
    out.iter().map(|f| f.to_i64() - (a >> d)).collect()
}

/// The offset mends the paper's bias: exactly, over all masks and the small values.
#[test]
fn the_offset_takes_the_bias_away() {
    for d in 1..=8 {
        // A whole number of units on both sides of 0.
        let small = -(1i64 << d)..1i64 << d;
        for offset in [false, true] {
            let shift = if offset { unbiased(d) } else { 0 };
            let (mut sum, mut n) = (0.0, 0.0);
            for a in small.clone() {
                let part = (a.rem_euclid(1 << d)) as f64 / f64::from(1u32 << d);
                for e in errors_under_every_mask::<F13>(a, d, shift) {
                    assert!((-1..=if offset { 2 } else { 1 }).contains(&e));
                    (sum, n) = (sum + e as f64 - part, n + 1.0);
                }
            }
            let (mean, want) = (sum / n, mean_error(d, offset));
            // A field of 13 bits has a granularity of its own.
            let grain = f64::from(1u32 << d) / f64::from(1u32 << 12) + 0.001;
            assert!(
                (mean - want).abs() < grain,
                "{d} bits, offset {offset}: {mean}, not {want}"
            );
        }
    }
}

/// Of values that are small for the field the error has the stated mean, which from a few bits on
/// is nothing: its sample mean lies within five standard errors.
fn unbiased_between_parties<F: Field>(n: usize, kept: u32) {
    for (d, seed) in [(1, 21), (2, 22), (5, 23), (12, 24)] {
        let x: Vec<i64> = noise(seed, n)
            .into_iter()
            .map(|v| v >> (64 - kept))
            .collect();
        for wrong in errors::<F>(3, Opening::Auto, &x, d) {
            let scale = f64::from(1u32 << d);
            let part = |x: i64| x.rem_euclid(1 << d) as f64 / scale;
            let off: Vec<f64> = wrong
                .iter()
                .zip(&x)
                .map(|(e, x)| *e as f64 - part(*x))
                .collect();
            let mean = off.iter().sum::<f64>() / n as f64;
            let variance = off.iter().map(|o| (o - mean).powi(2)).sum::<f64>() / n as f64;
            assert!(
                variance > 0.05,
                "the rounding must be random, its variance is {variance}"
            );
            let confidence = 5.0 * (variance / n as f64).sqrt();
            let want = mean_error(d, true);
            assert!(
                (mean - want).abs() < confidence,
                "{d} bits: {mean} of a unit, not {want}"
            );
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
    fn ends<F: Field>() {
        for d in [1, 2, 12, F::BITS - 3, F::BITS - 2] {
            let range = range::<F>(d);
            let near = (0..4).flat_map(|i| [range.start + i, range.end - 1 - i, i, -i]);
            let x: Vec<i64> = near.flat_map(|x| [x; 100]).collect();
            for wrong in errors::<F>(5, Opening::King, &x, d) {
                assert!(
                    wrong.iter().all(|e| (-1..=2).contains(e)),
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
    let refused = crate::common::run(&subject, |machine| {
        Ok(machine.prepare(&[Call::Truncate { n: 4, trunc: 6 }]).err())
    });
    for error in refused {
        let words = error.expect("6 of 7 bits are too many").to_string();
        assert!(words.contains("1 to 5"), "{words}, {}", subject.name());
    }
}

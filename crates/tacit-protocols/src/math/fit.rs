//! Polynomials near a function of public numbers: the same on every party, to the last bit.

use std::sync::LazyLock;

use super::public::{cos, exp2, fixed};

/// Samples that an error is measured at: as dense as Chebyshev nodes, so that half a wave of an error that
/// changes its sign 40 times is seen at 13 places or more.
const SAMPLES: usize = 512;
/// What an error may be beyond its largest sample, relatively: `1 - cos(d pi / (2 SAMPLES))` for `d` changes of
/// its sign.
const BETWEEN: f64 = 1.0 / 128.0;

/// The polynomial, lowest power first, at `u`.
pub(super) fn at(polynomial: &[f64], u: f64) -> f64 {
    polynomial.iter().rev().fold(0.0, |sum, c| sum * u + c)
}

/// The largest magnitude that a polynomial's error has on `[-radius, radius]`.
pub(super) fn largest(radius: f64, error: impl Fn(f64) -> f64) -> f64 {
    errors(radius, error).fold(0.0, f64::max)
}

/// Whether [`largest`] times `unit` is at most `most`: of what is not, a few samples tell.
pub(super) fn is_within(most: f64, unit: f64, radius: f64, error: impl Fn(f64) -> f64) -> bool {
    errors(radius, error).all(|error| error * unit <= most)
}

/// The magnitudes of an error all over `[-radius, radius]`, with what it may be between.
fn errors(radius: f64, error: impl Fn(f64) -> f64) -> impl Iterator<Item = f64> {
    static PLACES: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let angle = |i: usize| std::f64::consts::PI * i as f64 / SAMPLES as f64;
        (0..=SAMPLES).map(|i| cos(angle(i))).collect()
    });
    let places = PLACES.iter();
    places.map(move |u| (1.0 + BETWEEN) * error(radius * u).abs())
}

/// The polynomial of this degree through the function at the Chebyshev nodes of `[-radius, radius]`,
/// lowest power first.
pub(super) fn interpolate(function: impl Fn(f64) -> f64, radius: f64, degree: usize) -> Vec<f64> {
    let angle = |i: usize| std::f64::consts::PI * (i as f64 + 0.5) / (degree + 1) as f64;
    let nodes: Vec<f64> = (0..=degree).map(|i| cos(angle(i))).collect();
    let values: Vec<f64> = nodes.iter().map(|u| function(radius * u)).collect();
    let mut polynomial = vec![0.0; degree + 1];
    for (k, t) in chebyshev(degree).iter().enumerate() {
        let terms = nodes.iter().zip(&values);
        let sum: f64 = terms.map(|(&u, v)| v * at(t, u)).sum();
        let weight = sum * if k == 0 { 1.0 } else { 2.0 } / nodes.len() as f64;
        let pairs = polynomial.iter_mut().zip(t);
        pairs.for_each(|(p, t)| *p += weight * t);
    }
    let mut stretch = 1.0;
    for coefficient in &mut polynomial {
        *coefficient /= stretch;
        stretch *= radius;
    }
    polynomial
}

/// The Chebyshev polynomials up to a degree: the next is `2 u T_k - T_{k-1}`.
fn chebyshev(degree: usize) -> Vec<Vec<f64>> {
    let unit = |k: usize| (0..=degree).map(|i| f64::from(i == k)).collect();
    let next = |(last, now): &(Vec<f64>, Vec<f64>)| {
        let shifted = std::iter::once(&0.0).chain(now);
        let after = shifted.zip(last).map(|(n, l)| 2.0 * n - l).collect();
        Some((now.clone(), after))
    };
    std::iter::successors(Some((unit(0), unit(1))), next)
        .map(|(now, _)| now)
        .take(degree + 1)
        .collect()
}

/// Changes a polynomial's constant and linear term so that it has the values `low` at -1 and `high` at 1.
pub(super) fn pinned(mut polynomial: Vec<f64>, [low, high]: [f64; 2]) -> Vec<f64> {
    let off = [at(&polynomial, -1.0) - low, at(&polynomial, 1.0) - high];
    polynomial[0] -= (off[1] + off[0]) / 2.0;
    polynomial[1] -= (off[1] - off[0]) / 2.0;
    polynomial
}

/// The coefficients with so many fraction bits, pinned to values at -1 and 1 to the last bit: powers of
/// -1 and 1 are without rounding, and so is the sum.
pub(super) fn fixed_and_pinned(polynomial: &[f64], places: u32, ends: [f64; 2]) -> Vec<i64> {
    let mut coefficients: Vec<i64> = polynomial.iter().map(|&c| fixed(c, places)).collect();
    // Even numbers, so that their mean and half of their difference are whole.
    let [low, high] = ends.map(|end| 2 * fixed(end / 2.0, places));
    for (first, want) in [(0, (high + low) / 2), (1, (high - low) / 2)] {
        let has: i64 = coefficients[first..].iter().step_by(2).sum();
        coefficients[first] += want - has;
    }
    coefficients
}

/// The numbers that coefficients with so many fraction bits are.
pub(super) fn real(coefficients: &[i64], places: u32) -> Vec<f64> {
    let unit = exp2(-(places as i32));
    coefficients.iter().map(|&c| c as f64 * unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::public::exp;

    #[test]
    fn an_error_is_within_its_largest() {
        let polynomial = interpolate(exp, 1.0, 6);
        let error = |u| at(&polynomial, u) - exp(u);
        for unit in [1.0, 3.0, exp2(18)] {
            let most = largest(1.0, error) * unit;
            assert!(is_within(most, unit, 1.0, error));
            assert!(!is_within(most * (1.0 - 1e-9), unit, 1.0, error));
        }
        assert!(!is_within(1.0, 1.0, 1.0, |_| f64::NAN));
    }

    #[test]
    fn polynomials_are_near_and_go_through_their_ends() {
        for radius in [1.0, 0.75] {
            let polynomial = interpolate(exp, radius, 12);
            let error = largest(radius, |u| at(&polynomial, u) - exp(u));
            assert!(error < 1e-12, "{error}");
        }
        let ends = [0.0, exp(1.0)];
        let rough = pinned(interpolate(exp, 1.0, 5), ends);
        let coefficients = fixed_and_pinned(&rough, 20, ends);
        let signed = |(i, c): (usize, &i64)| if i % 2 == 0 { *c } else { -c };
        assert_eq!(coefficients.iter().enumerate().map(signed).sum::<i64>(), 0);
        let top: i64 = coefficients.iter().sum();
        assert!((top - fixed(exp(1.0), 20)).abs() <= 1, "{top}");
        let near = |(a, b): (f64, &f64)| (a - b).abs() < 8.0 * exp2(-20);
        assert!(real(&coefficients, 20).into_iter().zip(&rough).all(near));
    }
}

//! Functions by pieces: on each piece a polynomial, whose coefficients are chosen in secret
//! (docs/spec/functions.md, section 7).
//!
//! A piece has its centre `c` and half its width `h`; with `u = (x - c) / h` in `[-1, 1)` the result
//! is the inner product of the piece's coefficients with the powers of `u`, truncated once. Beyond
//! the pieces the result is a constant: `u` is multiplied by 0 there, so that no power overflows.

use super::public::{cos, exp2, fixed};
use super::steps::Steps;
use super::{Format, Function, ROUNDING};
use crate::Error;
use crate::machine::{Conv2d, Machine, Operand};

/// The largest degree of a piece.
const MOST_DEGREE: usize = 24;
/// Samples of a piece that its error is measured at.
const SAMPLES: usize = 256;

/// What is to be approximated.
pub(super) struct Shape<F> {
    pub name: &'static str,
    pub function: F,
    /// Where the first piece begins.
    pub low: i32,
    /// The number of pieces.
    pub pieces: i32,
    /// The width of a piece is `2^width`.
    pub width: u32,
    /// The constant below the pieces.
    pub below: f64,
    /// The constant above; if there is none, `x` does not lie there.
    pub above: Option<f64>,
}

/// A function by pieces, with polynomials of the least degree that is wrong by less than a quarter
/// of `2^-f`.
///
/// Hops: a comparison and a selection of `n` times the thresholds, and `2 + ceil(log2 degree)`
/// products. The error is at most 2 units of `2^-f`, the approximation's quarter and what the
/// coefficients and powers are rounded by: see [`Piecewise::tolerance`].
#[derive(Clone, Debug)]
pub struct Piecewise {
    format: Format,
    steps: Steps,
    degree: usize,
    /// Fraction bits of the powers and of the coefficients.
    inner: u32,
    places: u32,
    /// By interval: its centre, the factor that makes `u`, the constant term, the coefficients.
    centres: Vec<Vec<i64>>,
    factors: Vec<Vec<i64>>,
    constants: Vec<Vec<i64>>,
    coefficients: Vec<Vec<i64>>,
    tolerance: f64,
}

impl Piecewise {
    pub(super) fn fit<F: Fn(f64) -> f64>(format: Format, shape: &Shape<F>) -> Result<Self, Error> {
        let (degree, polynomials, error) = shape.polynomials(format)?;
        let magnitude = |p: &Vec<f64>| p.iter().map(|c| c.abs()).sum::<f64>();
        let largest = polynomials.iter().map(magnitude).fold(1.0, f64::max);
        let inner = format.room() / 2;
        let places = (format.room() - inner).saturating_sub(bits_of(largest));
        if places < format.fraction {
            return Err(Error::Invalid(format!(
                "{} reaches {largest:.1}, which leaves its coefficients {places} fraction bits over {} bits, fewer than the {} of the numbers",
                shape.name, format.bits, format.fraction
            )));
        }
        let by_interval = |inside: &dyn Fn(usize) -> Vec<i64>, outside: [Vec<i64>; 2]| {
            let [below, above] = outside;
            let mut rows = vec![below];
            rows.extend((0..polynomials.len()).map(inside));
            rows.extend(shape.above.map(|_| above));
            rows
        };
        let zeros = |n: usize| [vec![0; n], vec![0; n]];
        let factor = 1 << (inner + 1 - format.fraction - shape.width);
        let constant = |value: f64| vec![fixed(value, inner + places)];
        let coefficients = |p: &[f64]| p[1..].iter().map(|&c| fixed(c, places)).collect();
        Ok(Piecewise {
            format,
            steps: Steps::new(shape.thresholds(format), format.bits, format.bits),
            degree,
            inner,
            places,
            centres: by_interval(&|i| vec![fixed(shape.centre(i), format.fraction)], zeros(1)),
            factors: by_interval(&|_| vec![factor], zeros(1)),
            constants: by_interval(
                &|i| constant(polynomials[i][0]),
                [shape.below, shape.above.unwrap_or(0.0)].map(constant),
            ),
            coefficients: by_interval(&|i| coefficients(&polynomials[i]), zeros(degree)),
            tolerance: tolerance(
                format,
                [inner, places],
                &polynomials,
                error.max(shape.jump()),
            ),
        })
    }

    /// The same of arguments that `bits` bits hold, the sign included.
    pub(super) fn within(self, bits: u32) -> Self {
        let steps = self.steps.within(bits, self.format.bits);
        Piecewise { steps, ..self }
    }

    /// `u, u^2, ..., u^degree`, each hop twice as many.
    fn powers<M: Machine>(&self, machine: &mut M, u: M::Share) -> Result<M::Share, Error> {
        let n = machine.len(&u);
        let mut powers = u;
        for (known, more) in doublings(self.degree) {
            let lower = machine.slice(&powers, 0..more * n);
            let top = machine.slice(&powers, (known - 1) * n..known * n);
            let tops = machine.concat(&vec![&top; more]);
            let higher = machine.mul(&lower, &Operand::Secret(tops), self.inner)?;
            powers = machine.concat(&[&powers, &higher]);
        }
        Ok(powers)
    }

    /// Of `n` rows of coefficients and `degree` rows of powers the `n` inner products and the
    /// constants, truncated: a convolution with one group for each element.
    fn evaluate<M: Machine>(
        &self,
        machine: &mut M,
        coefficients: &M::Share,
        constants: M::Share,
        powers: &M::Share,
    ) -> Result<M::Share, Error> {
        let (n, degree) = (machine.len(&constants), self.degree);
        let transposed = |at: usize| (at % degree * n + at / degree) as u32;
        let index = || (0..n * degree).map(transposed).collect();
        let powers = machine.gather_by(powers, n * degree, index);
        let constants = Operand::Secret(constants);
        machine.conv2d(
            coefficients,
            &Operand::Secret(powers),
            Some(&constants),
            &self.rows(n),
            self.last_trunc(),
        )
    }

    /// `n` sums over the powers: a convolution of as many groups.
    fn rows(&self, n: usize) -> Conv2d {
        Conv2d {
            batch: 1,
            channels: n,
            height: 1,
            width: self.degree,
            filters: n,
            kernel: [1, self.degree],
            stride: [1, 1],
            pad: [0; 4],
            dilation: [1, 1],
            groups: n,
        }
    }

    /// Bits dropped from these sums.
    fn last_trunc(&self) -> u32 {
        self.inner + self.places - self.format.fraction
    }
}

impl Function for Piecewise {
    fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        self.format.check(machine)?;
        let reached = self.steps.reached(machine, x)?;
        let centre = reached.pick(machine, &self.centres)?;
        let factor = reached.pick(machine, &self.factors)?;
        let constants = reached.pick(machine, &self.constants)?;
        let coefficients = reached.pick(machine, &self.coefficients)?;
        let offset = machine.sub(x, &centre);
        let u = machine.mul(&offset, &Operand::Secret(factor), 0)?;
        let powers = self.powers(machine, u)?;
        self.evaluate(machine, &coefficients, constants, &powers)
    }

    fn tolerance(&self, _value: f64) -> f64 {
        self.tolerance
    }
}

/// From 1 known power to `degree`: how many are known, and how many are added.
fn doublings(degree: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut known = 1;
    std::iter::from_fn(move || {
        let more = known.min(degree - known);
        known += more;
        (more > 0).then_some((known - more, more))
    })
}

/// The truncation, the approximation, the rounding of the coefficients, and of the powers: of the
/// `i`-th at most `2 (i - 1)` units.
fn tolerance(
    format: Format,
    [inner, places]: [u32; 2],
    polynomials: &[Vec<f64>],
    error: f64,
) -> f64 {
    let weigh = |p: &Vec<f64>| -> f64 {
        let terms = p[1..].iter().enumerate();
        terms.map(|(i, c)| ROUNDING * i as f64 * c.abs()).sum()
    };
    let powers = polynomials.iter().map(weigh).fold(0.0, f64::max);
    let coefficients = polynomials[0].len() as f64 / 2.0;
    ROUNDING
        + format.one()
            * (error + powers * exp2(-(inner as i32)) + coefficients * exp2(-(places as i32)))
}

/// The least `k` for which `value` is at most `2^k`.
fn bits_of(value: f64) -> u32 {
    let fits = |k: &u32| exp2(*k as i32) >= value;
    (0..64).find(fits).unwrap_or(64)
}

/// The polynomial, lowest power first, at `u`.
fn at(polynomial: &[f64], u: f64) -> f64 {
    polynomial.iter().rev().fold(0.0, |sum, c| sum * u + c)
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

impl<F: Fn(f64) -> f64> Shape<F> {
    fn half(&self) -> f64 {
        exp2(self.width as i32 - 1)
    }

    fn centre(&self, piece: usize) -> f64 {
        f64::from(self.low) + self.half() * (2 * piece + 1) as f64
    }

    /// Where the pieces begin, and where they end if a constant follows.
    fn thresholds(&self, format: Format) -> Vec<i64> {
        (0..self.pieces + i32::from(self.above.is_some()))
            .map(|i| i64::from(self.low + (i << self.width)) << format.fraction)
            .collect()
    }

    /// The polynomials of all pieces, of one degree, and their largest error.
    fn polynomials(&self, format: Format) -> Result<(usize, Vec<Vec<f64>>, f64), Error> {
        (2..=MOST_DEGREE)
            .map(|degree| {
                let pieces = 0..self.pieces as usize;
                let fitted: Vec<Vec<f64>> = pieces
                    .map(|piece| self.interpolate(piece, degree))
                    .collect();
                let error = self.error(&fitted);
                (degree, fitted, error)
            })
            .find(|(_, _, error)| error * format.one() <= 0.25)
            .ok_or_else(|| {
                Error::Invalid(format!(
                    "{} with {} fraction bits needs polynomials of a degree beyond {MOST_DEGREE}",
                    self.name, format.fraction
                ))
            })
    }

    /// The polynomial in `u` through the Chebyshev nodes of a piece, lowest power first.
    fn interpolate(&self, piece: usize, degree: usize) -> Vec<f64> {
        let angle = |i: usize| std::f64::consts::PI * (i as f64 + 0.5) / (degree + 1) as f64;
        let nodes: Vec<f64> = (0..=degree).map(|i| cos(angle(i))).collect();
        let value = |u: &f64| (self.function)(self.centre(piece) + self.half() * u);
        let values: Vec<f64> = nodes.iter().map(value).collect();
        let chebyshev = chebyshev(degree);
        let mut polynomial = vec![0.0; degree + 1];
        for (k, t) in chebyshev.iter().enumerate() {
            let terms = nodes.iter().zip(&values);
            let sum: f64 = terms.map(|(&u, v)| v * at(t, u)).sum();
            let weight = sum * if k == 0 { 1.0 } else { 2.0 } / nodes.len() as f64;
            polynomial
                .iter_mut()
                .zip(t)
                .for_each(|(p, t)| *p += weight * t);
        }
        polynomial
    }

    /// The error of the constants where they begin: it shrinks from there on.
    fn jump(&self) -> f64 {
        let high = self.low + (self.pieces << self.width);
        let error = |x: i32, value: f64| ((self.function)(f64::from(x)) - value).abs();
        let above = self.above.map_or(0.0, |value| error(high, value));
        above.max(error(self.low, self.below))
    }

    /// The largest error of the polynomials.
    fn error(&self, polynomials: &[Vec<f64>]) -> f64 {
        let inside = polynomials.iter().enumerate().flat_map(|(piece, p)| {
            (0..=SAMPLES).map(move |i| {
                let u = 2.0 * i as f64 / SAMPLES as f64 - 1.0;
                (at(p, u) - (self.function)(self.centre(piece) + self.half() * u)).abs()
            })
        });
        inside.fold(0.0, f64::max)
    }
}

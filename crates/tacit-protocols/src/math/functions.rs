//! The exponential function, the sigmoids and the error function (docs/spec/functions.md, section 7).
//!
//! Comparisons cost most, so an odd function is computed of magnitudes, and what is constant from
//! somewhere on of numbers that are clipped there: two comparisons, or one of an exponential whose
//! arguments are bounded. What lies between is one polynomial where the numbers are long.

use std::f64::consts::LN_2;

use super::piecewise::{Pieces, Shape};
use super::steps::promise;
use super::{Format, Function, constant_minus, exp2, fixed, public};
use crate::Error;
use crate::machine::{Erased, Handle, KeyBits, Machine};

/// A function of every number: of magnitudes if it is odd, and clipped to where it is not constant.
///
/// Hops: a comparison and a selection before, if odd, and a selection after; a ReLU, if there is
/// anything to clip; then those of the polynomial.
#[derive(Clone, Debug)]
pub struct Smooth {
    format: Format,
    /// The value at 0 of a function that is odd about it.
    odd: Option<i64>,
    /// Whether arguments below and above the pieces are possible.
    clipped: [bool; 2],
    keys: KeyBits,
    pieces: Pieces,
}

/// What is promised of the arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promised {
    /// Bits that hold every argument, the sign included.
    pub bits: u32,
    /// Whether no argument is above an exponential's bound.
    pub bounded: bool,
}

impl Promised {
    /// The promise of nothing beyond the format: arguments of all its bits.
    fn nothing(format: Format) -> Self {
        Promised {
            bits: format.bits,
            bounded: false,
        }
    }

    /// The largest magnitude that an argument may have.
    fn most(self, format: Format) -> f64 {
        exp2(self.bits as i32 - 1 - format.fraction as i32)
    }
}

/// `e^x` for every `x` up to `high`, and `e^high` above; below `-(f+1) ln 2`, where it is less than
/// half of `2^-f`, 0.
///
/// `e^high` must leave the coefficients `f` fraction bits: `high` up to 0 suits every format; more is
/// refused where it does not fit.
pub fn exp(format: Format, high: i32) -> Result<Smooth, Error> {
    exp_of(format, high, Promised::nothing(format))
}

pub(super) fn exp_of(format: Format, high: i32, promised: Promised) -> Result<Smooth, Error> {
    let (cut, top) = (-vanishing(format), f64::from(high));
    let lowest = cut.max(-promised.most(format));
    let shape = Shape {
        name: "exp",
        function: public::exp,
        from: high,
        above: false,
        reach: top - lowest,
        ends: [(lowest == cut).then_some(0.0), None],
        units: 4.5 * public::exp(top).max(1.0),
    };
    // What the format does not hold takes no look at polynomials, of which there are many.
    if top / LN_2 + f64::from(format.fraction) > f64::from(format.room()) {
        return Err(shape.refused(format));
    }
    Smooth::of(format, &shape, None, promised)
}

/// `1 / (1 + e^-x)` for every `x`; 0 or 1 where the difference is less than half of `2^-f`.
pub fn sigmoid(format: Format) -> Result<Smooth, Error> {
    sigmoid_of(format, Promised::nothing(format))
}

pub(super) fn sigmoid_of(format: Format, promised: Promised) -> Result<Smooth, Error> {
    let function = |x: f64| 1.0 / (1.0 + public::exp(-x)) - 0.5;
    let limit = (vanishing(format), 0.5);
    Smooth::odd(format, ("sigmoid", function), limit, 8.0, 0.5, promised)
}

/// `tanh x` for every `x`; -1 or 1 where the difference is less than half of `2^-f`.
pub fn tanh(format: Format) -> Result<Smooth, Error> {
    tanh_of(format, Promised::nothing(format))
}

pub(super) fn tanh_of(format: Format, promised: Promised) -> Result<Smooth, Error> {
    let function = |x: f64| 2.0 / (1.0 + public::exp(-2.0 * x)) - 1.0;
    let limit = (0.5 * (vanishing(format) + LN_2), 1.0);
    Smooth::odd(format, ("tanh", function), limit, 10.0, 0.0, promised)
}

/// The error function for every `x`; -1 or 1 where the difference is less than half of `2^-f`:
/// `1 - erf x` is less than `e^(-x^2)`.
pub fn erf(format: Format) -> Result<Smooth, Error> {
    erf_of(format, Promised::nothing(format))
}

pub(super) fn erf_of(format: Format, promised: Promised) -> Result<Smooth, Error> {
    let limit = (vanishing(format).sqrt(), 1.0);
    let function = public::error_function;
    Smooth::odd(format, ("erf", function), limit, 9.0, 0.0, promised)
}

/// Where `e^-x` is half of the last place to which functions are near.
fn vanishing(format: Format) -> f64 {
    f64::from(format.near + 1) * LN_2
}

impl Smooth {
    /// A function that is odd about its value `middle` at 0, less that value; from `limit` on a constant.
    fn odd(
        format: Format,
        (name, function): (&'static str, impl Fn(f64) -> f64),
        (end, constant): (f64, f64),
        units: f64,
        middle: f64,
        promised: Promised,
    ) -> Result<Self, Error> {
        let highest = end.min(promised.most(format));
        let shape = Shape {
            name,
            function,
            from: 0,
            above: true,
            reach: highest,
            ends: [Some(0.0), (highest == end).then_some(constant)],
            units,
        };
        Self::of(format, &shape, Some(middle), promised)
    }

    fn of<F: Fn(f64) -> f64>(
        format: Format,
        shape: &Shape<F>,
        middle: Option<f64>,
        promised: Promised,
    ) -> Result<Self, Error> {
        let pieces = Pieces::fit(format, shape)?;
        let most = 1i128 << (promised.bits - 1);
        let [low, high] = [pieces.low, pieces.low + pieces.width].map(i128::from);
        let least = if middle.is_some() { 0 } else { -most };
        let farthest = most + low.abs().max(high.abs());
        let keys = match promised.bits < format.bits {
            true => promise(farthest as u64, format.bits),
            false => KeyBits::ALL,
        };
        Ok(Smooth {
            format,
            odd: middle.map(|value| fixed(value, format.fraction)),
            clipped: [
                least < low,
                most > high && !(promised.bounded && middle.is_none()),
            ],
            keys,
            pieces,
        })
    }

    /// How far `x` is above the lower end, from 0 to the width of the pieces.
    fn distance(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        let n = machine.len(x);
        let (low, width) = (self.pieces.low, self.pieces.width);
        let low = machine.constant_by(n, || vec![low; n]);
        let above = machine.sub(x, &low);
        match self.clipped {
            [false, false] => Ok(above),
            [true, false] => machine.relu(&above, self.keys),
            [false, true] => {
                let missing = constant_minus(machine, width, &above);
                let missing = machine.relu(&missing, self.keys)?;
                Ok(constant_minus(machine, width, &missing))
            }
            [true, true] => {
                let high = machine.constant_by(n, || vec![width; n]);
                let beyond = machine.sub(&above, &high);
                let both = machine.concat(&[&above, &beyond]);
                let both = machine.relu(&both, self.keys)?;
                let [above, beyond] = [0, n].map(|at| machine.slice(&both, at..at + n));
                Ok(machine.sub(&above, &beyond))
            }
        }
    }
}

impl Function for Smooth {
    fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        self.format.check(machine)?;
        let Some(middle) = self.odd else {
            let distance = self.distance(machine, x)?;
            return self.pieces.apply(machine, &distance);
        };
        let positive = machine.drelu(x, self.keys)?;
        let opposite = machine.scale(x, -1);
        let magnitude = machine.select(&positive, &opposite, x)?;
        let distance = self.distance(machine, &magnitude)?;
        let y = self.pieces.apply(machine, &distance)?;
        let opposite = machine.scale(&y, -1);
        let y = machine.select(&positive, &opposite, &y)?;
        let n = machine.len(&y);
        let middle = machine.constant_by(n, || vec![middle; n]);
        Ok(machine.add(&y, &middle))
    }

    fn tolerance(&self, _value: f64) -> f64 {
        self.pieces.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a plan takes the largest number to be that a function compares (`compared` of tacit-nn), and
    /// that errors are no larger than with the narrow pieces that functions had before.
    #[test]
    fn intervals_end_near_0_and_errors_stay() {
        for (bits, most) in [(31, 13), (32, 13), (61, 28), (64, 29)] {
            for fraction in 1..=most {
                let format = Format::new(bits, fraction).expect("a format that fits");
                let odd = [sigmoid(format), tanh(format), erf(format)];
                for function in odd {
                    let pieces = function.expect("a function that fits").pieces;
                    assert!(pieces.low == 0 && pieces.width <= 32 << fraction);
                }
                for high in [-64, -20, -3, 0, 2, 4, 8, 12, 20] {
                    let Ok(function) = exp(format, high) else {
                        assert!(high > 0, "{high} of {format:?}");
                        continue;
                    };
                    let (width, low) = (function.pieces.width, function.pieces.low);
                    assert!(width <= 32 << fraction, "{high} of {format:?}");
                    assert_eq!(low + width, i64::from(high) << fraction);
                }
            }
        }
        for (bits, fraction, stated) in [
            (64, 16, [2.4, 2.4, 2.2, 2.2]),
            (61, 18, [2.2, 2.3, 2.5, 2.2]),
            (31, 12, [3.6, 4.5, 5.0, 4.8]),
        ] {
            let format = Format::new(bits, fraction).expect("a format that fits");
            let all = [exp(format, 0), sigmoid(format), tanh(format), erf(format)];
            for (function, most) in all.into_iter().zip(stated) {
                let tolerance = function.expect("it fits").tolerance(1.0);
                assert!(tolerance <= most, "{format:?}: {tolerance}");
            }
        }
    }
}

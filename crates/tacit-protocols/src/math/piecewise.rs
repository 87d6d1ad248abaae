//! Functions by pieces of a bounded interval: on each piece a polynomial (docs/spec/functions.md,
//! section 7). One piece is enough where the numbers are long: its coefficients are public. Of several
//! the coefficients are chosen in secret.
//!
//! A piece has its centre `c` and half its width `h`, a power of two, so that `u = (x - c) / h` in
//! `[-1, 1]` is exact. At the ends of the interval the polynomials have their values to the last bit:
//! powers of -1 and 1 are without rounding.

use super::fit::{at, fixed_and_pinned, interpolate, is_within, largest, pinned, real};
use super::polynomial::{Blocks, Coefficients, MOST_DEGREE, places};
use super::public::exp2;
use super::steps::Steps;
use super::{Format, ROUNDING};
use crate::Error;
use crate::machine::{Erased, Handle, Machine};

/// Halves of pieces' widths that are tried, as powers of two.
const HALVES: std::ops::RangeInclusive<i32> = -2..=4;
/// The error that the approximation may have, in units of the places to which it is near, and beyond that of
/// a constant where it begins.
const NEAR: f64 = 0.25;
const BEYOND: f64 = 0.03;
/// The error that a result may have beyond a truncation's with all that is rounded, if the numbers are long, in units
/// of a number's coarseness.
const ENOUGH: f64 = 0.45;

/// What is to be approximated.
pub(super) struct Shape<F> {
    pub name: &'static str,
    pub function: F,
    /// Where the pieces begin or end; they lie above or below.
    pub from: i32,
    pub above: bool,
    /// The least that they reach.
    pub reach: f64,
    /// The values at the two ends, the lower first, where they are not the function's.
    pub ends: [Option<f64>; 2],
    /// What may be lost besides, in units of the last place inside.
    pub units: f64,
}

/// A function of numbers from 0 to [`Pieces::width`], the distances from the lower end.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    format: Format,
    /// The lower end and the width, of numbers of the format.
    pub low: i64,
    pub width: i64,
    blocks: Blocks,
    /// What makes `u` of a distance from a centre.
    factor: i64,
    /// Where the pieces after the first begin.
    steps: Option<Steps>,
    centres: Vec<Vec<i64>>,
    coefficients: Vec<Vec<i64>>,
    /// The largest error, in units of the result.
    pub tolerance: f64,
}

/// A way to divide the interval.
#[derive(Clone, Copy)]
struct Layout {
    pieces: usize,
    /// Half the width of each.
    half: i32,
    low: f64,
}

impl Pieces {
    /// The approximation by as few pieces as hold the error; where none do, by those with the least.
    pub fn fit<F: Fn(f64) -> f64>(format: Format, shape: &Shape<F>) -> Result<Self, Error> {
        let inner = format.room() / 2;
        let lost = shape.units * exp2(format.fraction as i32 - inner as i32);
        let most = ROUNDING + ENOUGH * format.coarseness() + lost;
        let (mut best, mut refused) = (None::<Pieces>, None);
        for layout in shape.layouts(format) {
            let found = Self::by(format, shape, layout);
            let found = match found {
                Ok(found) => found,
                Err(why) => {
                    refused = Some(why);
                    continue;
                }
            };
            if best
                .as_ref()
                .is_none_or(|best| found.tolerance < best.tolerance)
            {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.tolerance <= most) {
                break;
            }
        }
        best.ok_or_else(|| refused.unwrap_or_else(|| shape.refused(format)))
    }

    fn by<F: Fn(f64) -> f64>(
        format: Format,
        shape: &Shape<F>,
        layout: Layout,
    ) -> Result<Self, Error> {
        let polynomials = shape.polynomials(format, layout)?;
        let most = format.room() / 2;
        let of = |inner| Self::with(format, shape, layout, &polynomials, inner);
        // Fewer bits inside take fewer bytes to truncate.
        let best = of(most)?;
        let least = format.fraction + layout.half.max(0) as u32;
        let near = best.tolerance + ENOUGH / 8.0 * format.coarseness();
        let fewer = (least..most).filter_map(|inner| of(inner).ok());
        Ok(fewer
            .into_iter()
            .find(|found| found.tolerance <= near)
            .unwrap_or(best))
    }

    fn with<F: Fn(f64) -> f64>(
        format: Format,
        shape: &Shape<F>,
        layout: Layout,
        polynomials: &[Vec<f64>],
        inner: u32,
    ) -> Result<Self, Error> {
        let fraction = format.fraction;
        let left = polynomials
            .iter()
            .map(|p| places(p, 1.0, format.room(), inner));
        let places = left.min().flatten().unwrap_or(0).min(inner + 1);
        if places < fraction {
            return Err(shape.refused(format));
        }
        let degree = polynomials[0].len() - 1;
        let blocks = Blocks::new(degree, inner, places);
        let ends = |piece| shape.ends_of(layout, piece);
        let coefficients: Vec<Vec<i64>> = (polynomials.iter().enumerate())
            .map(|(piece, p)| fixed_and_pinned(p, places, ends(piece)))
            .collect();
        let errors = coefficients.iter().enumerate().map(|(piece, c)| {
            let polynomial = real(c, places);
            shape.error(layout, piece, &polynomial) + blocks.rounding(&polynomial, 1.0)
        });
        let error = errors.fold(shape.jump(layout), f64::max);
        let unit = |x: f64| (x * exp2(fraction as i32)) as i64;
        let half = unit(exp2(layout.half));
        let width = 2 * half * layout.pieces as i64;
        let thresholds: Vec<i64> = (1..layout.pieces as i64).map(|i| 2 * half * i).collect();
        Ok(Pieces {
            format,
            low: unit(layout.low),
            width,
            blocks,
            factor: 1 << (inner as i32 - fraction as i32 - layout.half),
            steps: (!thresholds.is_empty()).then(|| Steps::between(thresholds, width, format.bits)),
            centres: (0..layout.pieces as i64)
                .map(|i| vec![half * (2 * i + 1)])
                .collect(),
            coefficients,
            tolerance: ROUNDING + format.one() * error,
        })
    }

    /// The function of every element.
    pub fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        let (n, inner) = (machine.len(x), self.blocks.inner);
        let dropped = inner + self.blocks.places - self.format.fraction;
        let Some(steps) = &self.steps else {
            let centre = machine.constant_by(n, || vec![self.centres[0][0]; n]);
            let u = machine.sub(x, &centre);
            let u = machine.scale(&u, self.factor);
            let coefficients = Coefficients::Public(&self.coefficients[0]);
            return self.blocks.evaluate(machine, &u, &coefficients, dropped);
        };
        let reached = steps.reached(machine, x)?;
        let centre = reached.pick(machine, &self.centres)?;
        let rows = reached.pick(machine, &self.coefficients)?;
        let u = machine.sub(x, &centre);
        let u = machine.scale(&u, self.factor);
        let coefficients = Coefficients::Chosen(rows);
        self.blocks.evaluate(machine, &u, &coefficients, dropped)
    }
}

impl<F: Fn(f64) -> f64> Shape<F> {
    /// Fewer and wider pieces first; of as many, the narrowest.
    fn layouts(&self, format: Format) -> impl Iterator<Item = Layout> {
        let fraction = format.fraction as i32;
        let most = (format.room() / 2) as i32 - fraction;
        let pieces = |half: i32| (self.reach / exp2(half + 1)).ceil().max(1.0) as usize;
        let of = move |half: i32| {
            let (pieces, width) = (pieces(half), exp2(half + 1));
            let low = match self.above {
                true => f64::from(self.from),
                false => f64::from(self.from) - width * pieces as f64,
            };
            Layout { pieces, half, low }
        };
        let all = HALVES
            .rev()
            .filter(move |half| (-fraction..=most).contains(half));
        let fewer = move |half: i32| pieces(half) < pieces(half - 1);
        all.filter(move |&half| fewer(half) || half == *HALVES.start().max(&-fraction))
            .map(of)
    }

    /// The function on a piece.
    fn on(&self, layout: Layout, piece: usize) -> impl Fn(f64) -> f64 {
        let half = exp2(layout.half);
        let centre = layout.low + half * (2 * piece + 1) as f64;
        move |u| (self.function)(centre + half * u)
    }

    /// The values at the ends of a piece.
    fn ends_of(&self, layout: Layout, piece: usize) -> [f64; 2] {
        let function = self.on(layout, piece);
        let [low, high] = self.ends;
        let last = piece + 1 == layout.pieces;
        [
            low.filter(|_| piece == 0).unwrap_or_else(|| function(-1.0)),
            high.filter(|_| last).unwrap_or_else(|| function(1.0)),
        ]
    }

    /// The polynomials of all pieces, of the least degree of which all are near.
    fn polynomials(&self, format: Format, layout: Layout) -> Result<Vec<Vec<f64>>, Error> {
        let (one, coarse) = (format.one(), format.coarseness());
        let near = (NEAR * coarse).max(self.jump(layout) * one + BEYOND * coarse);
        let mut hardest = layout.pieces - 1;
        let of_degree = |degree| {
            let fitted = |piece| {
                let polynomial = interpolate(self.on(layout, piece), 1.0, degree);
                let polynomial = pinned(polynomial, self.ends_of(layout, piece));
                let error = self.difference(layout, piece, &polynomial);
                is_within(near, one, 1.0, error).then_some(polynomial)
            };
            // What one degree does not reach the next seldom does: of many pieces one is looked at for most degrees.
            fitted(hardest)?;
            let fitted = (0..layout.pieces).map(|piece| {
                hardest = piece;
                fitted(piece)
            });
            fitted.collect::<Option<Vec<_>>>()
        };
        (2..=MOST_DEGREE).find_map(of_degree).ok_or_else(|| {
            Error::Invalid(format!(
                "{} with {} fraction bits needs polynomials of a degree beyond {MOST_DEGREE}",
                self.name, format.fraction
            ))
        })
    }

    fn error(&self, layout: Layout, piece: usize, polynomial: &[f64]) -> f64 {
        largest(1.0, self.difference(layout, piece, polynomial))
    }

    /// What a polynomial has more than the function on a piece.
    fn difference(&self, layout: Layout, piece: usize, polynomial: &[f64]) -> impl Fn(f64) -> f64 {
        let function = self.on(layout, piece);
        move |u| at(polynomial, u) - function(u)
    }

    /// The error of the values at the two ends: it shrinks from there on.
    fn jump(&self, layout: Layout) -> f64 {
        let ends = [
            (0, -1.0, self.ends[0]),
            (layout.pieces - 1, 1.0, self.ends[1]),
        ];
        let errors = ends.map(|(piece, u, end)| {
            let error = |value: f64| (value - self.on(layout, piece)(u)).abs();
            end.map_or(0.0, error)
        });
        errors[0].max(errors[1])
    }

    pub(super) fn refused(&self, format: Format) -> Error {
        let far = if self.above { self.reach } else { -self.reach };
        let ends = [0.0, far].map(|by| f64::from(self.from) + by);
        let largest = ends
            .map(|x| (self.function)(x).abs())
            .into_iter()
            .fold(1.0, f64::max);
        Error::Invalid(format!(
            "{} reaches {largest:.1}, which leaves its coefficients fewer fraction bits over {} bits than the {} of the numbers",
            self.name, format.bits, format.fraction
        ))
    }
}

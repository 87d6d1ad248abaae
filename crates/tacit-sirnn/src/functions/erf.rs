//! The error function, beyond the paper: a polynomial on each of equal intervals, chosen by look-up.
//!
//! `erf` is odd, and 1 from [`END`] on to far less than a unit. Below it a magnitude's upper bits name
//! its interval, in which `erf(a + u) = c0 + u (c1 - u c2)`: with no `c2` for results of few fraction
//! bits, and where the interval has only one number, `c0` alone. No factor is negative, since `erf`
//! grows, ever less, so that no wrap costs more than one small OT.
//!
//! Error: measured over all 16-bit inputs, 1.27 units with results of up to 23 fraction bits, 1.98 with 24.

use tacit_algebra::Bits;
use tacit_algebra::ot::words;
use tacit_protocols::Error;
use tacit_protocols::math::error_function;

use super::clear::Number;
use super::{Format, POSITIVE, reflect, require, resize_positive, shift_up};
use crate::compare::Question;
use crate::sum::Sum;
use crate::{Engine, Shared};

/// `log2` of the magnitude from which the result is 1.
const END: u32 = 2;
/// The most fraction bits of a result: `1 - erf 4` is a quarter of a unit then.
const MAX_SCALE: u32 = 24;
/// The most fraction bits of results that chords are near enough to: their tables have 7 index bits.
const LINEAR: u32 = 13;
/// The most bits of an index.
const INDEX: u32 = 8;
/// Fraction bits that coefficients have beyond those which a result shows.
const GUARD: u32 = 3;

/// `erf(x)`.
#[derive(Clone, Debug)]
pub struct Erf {
    input: Format,
    output: Format,
    /// Intervals are `2^-g` long.
    g: u32,
    /// Coefficients by interval: `c0` with [`GUARD`] fraction bits more than the result, `c1` with `g` fewer than it,
    /// `c2` with `g` fewer again.
    coefficients: Vec<Vec<u64>>,
}

impl Erf {
    /// The error function. The result has 4 to 24 fraction bits and needs two bits more.
    pub fn new(input: Format, output: Format) -> Result<Self, Error> {
        let (scale, most) = (output.scale, input.scale);
        let g = match scale <= LINEAR {
            true => scale.saturating_sub(3).div_ceil(2),
            false => (scale - 5).div_ceil(3).min(INDEX - END),
        };
        let g = g.min(most);
        let mut erf = Erf {
            input,
            output,
            g,
            coefficients: Vec::new(),
        };
        let fits = (4..=MAX_SCALE).contains(&scale)
            && (scale + 2..=64).contains(&output.bits)
            && (2..=64).contains(&input.bits)
            && input.bits > erf.rest()
            && erf.whole() <= 64;
        require(fits, || {
            format!(
                "the error function of {} bits, {} of them fraction, with {scale} fraction bits in {}",
                input.bits, input.scale, output.bits
            )
        })?;
        erf.coefficients = erf.fitted();
        Ok(erf)
    }

    /// Bits of a number below those that name its interval.
    fn rest(&self) -> u32 {
        self.input.scale - self.g
    }

    /// Bits that name an interval.
    fn index_bits(&self) -> u32 {
        (self.g + END).min(self.input.bits - self.rest())
    }

    /// How many coefficients an interval has.
    fn terms(&self) -> usize {
        match self.rest() {
            0 => 1,
            _ if self.output.scale <= LINEAR => 2,
            _ => 3,
        }
    }

    /// Fraction bits of `c0`.
    fn fine(&self) -> u32 {
        self.output.scale + GUARD
    }

    /// Widths of the coefficients: of numbers below 2, the last below 1, and with a top bit that is 0.
    fn widths(&self) -> Vec<u32> {
        let (fine, g) = (self.fine(), self.g);
        let all = [fine + 2, fine + 2 - g, (fine + 1).saturating_sub(2 * g)];
        all[..self.terms()].to_vec()
    }

    /// The width of the polynomial before it is rounded.
    fn whole(&self) -> u32 {
        self.fine() + 2 + self.rest()
    }

    /// Bits by which the polynomial is rounded.
    fn dropped(&self) -> u32 {
        GUARD + self.rest()
    }

    /// Whether some numbers lie beyond the intervals.
    fn ends(&self) -> bool {
        self.input.bits > self.input.scale + END
    }

    fn fitted(&self) -> Vec<Vec<u64>> {
        let intervals = 0..1u64 << self.index_bits();
        let each: Vec<[u64; 3]> = intervals.map(|interval| self.on(interval)).collect();
        (0..self.terms())
            .map(|term| each.iter().map(|c| c[term]).collect())
            .collect()
    }

    /// The coefficients on an interval: of both parties the same, since powers of two are exact.
    fn on(&self, interval: u64) -> [u64; 3] {
        let (fine, g) = (self.fine(), self.g);
        let length = 1.0 / (1u64 << g) as f64;
        let a = interval as f64 * length;
        let fixed = |c: f64, fraction: u32| (c * (1u64 << fraction) as f64).round() as u64;
        let at = |u: f64| error_function(a + u);
        match self.terms() {
            1 => [fixed(at(0.0), fine), 0, 0],
            2 => {
                let slope = (at(length) - at(0.0)) / length;
                let above = at(length / 2.0) - (at(0.0) + at(length)) / 2.0;
                [
                    fixed(at(0.0) + above / 2.0, fine),
                    fixed(slope, fine - g),
                    0,
                ]
            }
            _ => {
                // Chebyshev's nodes.
                let apart = 0.75f64.sqrt() / 2.0;
                let [u, v, w] = [0.5 - apart, 0.5, 0.5 + apart].map(|part| part * length);
                let [first, second] = [(at(v) - at(u)) / (v - u), (at(w) - at(v)) / (w - v)];
                let bend = (second - first) / (w - u);
                let slope = fixed(first - bend * (u + v), fine - g);
                // The slope at an interval's end must not fall below 0.
                let bend_fixed = fixed(-bend, fine - 2 * g).min(slope);
                [
                    fixed(at(u) - first * u + bend * u * v, fine),
                    slope,
                    bend_fixed,
                ]
            }
        }
    }

    /// The error function, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let x = Number::new(self.input.bits, x);
        let negative = x.msb();
        let magnitude = x.reflect(negative, 0);
        let y = self.inside_clear(magnitude);
        let missing = y.scale(u64::MAX).add_public(self.one());
        let below = !self.ends() || magnitude.value >> (self.input.scale + END) == 0;
        let y = missing.select(below).scale(u64::MAX).add_public(self.one());
        y.extend_positive(self.output.bits)
            .reflect(negative, 0)
            .value
    }

    /// The polynomial of a magnitude's interval, in two bits more than the scale.
    fn inside_clear(&self, magnitude: Number) -> Number {
        let (rest, widths) = (self.rest(), self.widths());
        let index = magnitude
            .reduce(rest + self.index_bits())
            .truncate_reduce(rest);
        let found: Vec<_> = (self.coefficients.iter().zip(&widths))
            .map(|(table, width)| index.lookup(table, *width))
            .collect();
        let mut height = found[0].shift_up(rest);
        if let Some(slope) = found.get(1) {
            let inside = magnitude.reduce(rest).zero_extend(rest + 1);
            let slope = match found.get(2) {
                None => *slope,
                Some(bend) => {
                    let width = slope.bits + rest;
                    let fall = bend.multiply(inside, bend.bits + rest);
                    let slope = slope.shift_up(rest).sub(fall.resize_positive(width));
                    slope.truncate_reduce(rest)
                }
            };
            let rise = slope
                .resize_positive(slope.bits)
                .multiply(inside, slope.bits + rest);
            height = height.add(rise.resize_positive(self.whole()));
        }
        let half = 1 << (self.dropped() - 1);
        height.add_public(half).truncate_reduce(self.dropped())
    }

    /// The error function, of shares: a sign and a MUX; the carry into the interval's bits beside the
    /// comparison with the end; a look-up, and for each coefficient but the first a product and a
    /// truncation; two MUXes.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let negative = engine.msb(x)?;
        let magnitude = reflect(engine, &negative, x, 0)?;
        let [carry, below] = self.compared(engine, &magnitude)?;
        let mut y = self.polynomial(engine, &magnitude, carry.as_ref())?;
        if let Some(below) = below {
            let missing = engine.add_public(&y.scale(u64::MAX), self.one());
            let missing = engine.mux(&below, &missing)?;
            y = engine.add_public(&missing.scale(u64::MAX), self.one());
        }
        let y = resize_positive(engine, &y, self.output.bits)?;
        reflect(engine, &negative, &y, 0)
    }

    /// The carry into the bits that name an interval, and whether the magnitude lies below the end; of
    /// each nothing if it is known.
    fn compared(
        &self,
        engine: &mut Engine,
        magnitude: &Shared,
    ) -> Result<[Option<Bits>; 2], Error> {
        let (rest, under) = (self.rest(), self.input.bits - 1);
        let mut questions = Vec::new();
        if rest > 0 {
            let low = words::field(&magnitude.values, 0, rest);
            questions.push(Question::wrap(engine, &low, rest));
        }
        let mut from_end = None;
        if self.ends() {
            let end = 1u64 << (self.input.scale + END);
            let distance = engine.add_public(magnitude, end.wrapping_neg());
            let low = words::field(&distance.values, 0, under);
            questions.push(Question::wrap(engine, &low, under));
            from_end = Some(words::bit(&distance.values, under));
        }
        let mut answers = match questions.is_empty() {
            true => Vec::new(),
            false => engine.ask(&questions, &[])?.0,
        }
        .into_iter();
        let mut next = || answers.next().unwrap_or_default().less;
        let carry = (rest > 0).then(&mut next);
        Ok([carry, from_end.map(|top| top.xor(&next()))])
    }

    /// The polynomial of the magnitude's interval, in two bits more than the scale.
    fn polynomial(
        &self,
        engine: &mut Engine,
        magnitude: &Shared,
        carry: Option<&Bits>,
    ) -> Result<Shared, Error> {
        let rest = self.rest();
        let Some(carry) = carry else {
            let found = self.look_up(engine, &magnitude.reduce(self.index_bits()))?;
            return self.rounded(engine, &found[0]);
        };
        let low = words::field(&magnitude.values, 0, rest);
        let high = words::field(&magnitude.values, rest, self.index_bits());
        let mut index = Sum::new(engine, self.index_bits(), high);
        index.bit(carry, 1);
        let mut inside = Sum::new(engine, rest + 1, low);
        inside.bit(carry, (1u64 << rest).wrapping_neg());
        let parts = engine.sums("sirnn: interval", vec![index, inside])?;
        let [index, inside] = &parts[..] else {
            unreachable!("two sums");
        };
        let found = self.look_up(engine, index)?;
        let mut slope = found[1].clone();
        if let Some(bend) = found.get(2) {
            let fall = times(engine, bend, inside, slope.bits + rest)?;
            slope = engine.truncate_reduce(&shift_up(&slope, rest).sub(&fall), rest)?;
        }
        let rise = times(engine, &slope, inside, self.whole())?;
        self.rounded(engine, &shift_up(&found[0], rest).add(&rise))
    }

    /// A polynomial in two bits more than the scale, rounded to the nearest.
    fn rounded(&self, engine: &mut Engine, height: &Shared) -> Result<Shared, Error> {
        let height = engine.add_public(height, 1 << (self.dropped() - 1));
        engine.truncate_reduce(&height, self.dropped())
    }

    /// The coefficients of an interval.
    fn look_up(&self, engine: &mut Engine, index: &Shared) -> Result<Vec<Shared>, Error> {
        let tables: Vec<(u32, &[u64])> = (self.widths().into_iter())
            .zip(self.coefficients.iter().map(Vec::as_slice))
            .collect();
        engine.lookups(&tables, index)
    }

    fn one(&self) -> u64 {
        1 << self.output.scale
    }
}

/// A coefficient times a number of an interval, whose top bits are 0, in `bits` bits.
fn times(engine: &mut Engine, c: &Shared, inside: &Shared, bits: u32) -> Result<Shared, Error> {
    let width = c.bits + inside.bits - 1;
    let product = engine.multiply_unsigned(c, inside, width, &POSITIVE, &POSITIVE)?;
    resize_positive(engine, &product, bits)
}

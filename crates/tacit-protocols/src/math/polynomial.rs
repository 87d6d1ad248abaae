//! Polynomials of secret arguments in few products (docs/spec/functions.md, section 7).
//!
//! Paterson and Stockmeyer's scheme ("On the number of nonscalar multiplications necessary to evaluate
//! polynomials", SIAM Journal on Computing 2, 1973): with the powers of `u` up to `u^b` a polynomial is
//! a polynomial in `u^b` whose coefficients, the blocks, are sums over these powers. Public coefficients
//! make the blocks local; the truncation of a step is that of the block as well. `d` is then reached
//! with about `2 sqrt(d)` products instead of `d`.

use super::fit::{at, interpolate, largest, real};
use super::{ROUNDING, exp2, fixed};
use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::{Conv2d, Erased, Handle, Machine, Operand};

/// The largest degree.
pub(super) const MOST_DEGREE: usize = 40;

/// What a sum may exceed a power of two by.
const LITTLE: f64 = 1.015625;

/// A polynomial near a function of `[-radius, radius]`, as near as was asked in the fewest products, and of
/// the highest degree that these reach.
#[derive(Clone, Debug)]
pub(super) struct Polynomial {
    blocks: Blocks,
    coefficients: Vec<i64>,
    /// Bits dropped at the end.
    dropped: u32,
    /// The largest error but for the last truncation's.
    pub error: f64,
}

impl Polynomial {
    /// A polynomial of `u` with `inner` fraction bits, whose result has `fraction`, by products below
    /// `2^room`; its coefficients have as many bits as these leave. `None` where they leave fewer than the
    /// result's but one.
    pub fn near(
        function: impl Fn(f64) -> f64,
        radius: f64,
        near: f64,
        [room, inner, fraction]: [u32; 3],
    ) -> Option<Self> {
        let of_degree = |degree: usize| interpolate(&function, radius, degree);
        let error = |p: &[f64]| largest(radius, |u| at(p, u) - function(u));
        let is_near = |&degree: &usize| error(&of_degree(degree)) <= near;
        let least = (2..=MOST_DEGREE).find(is_near)?;
        let degree = Blocks::new(least, inner, fraction).reach();
        let polynomial = of_degree(degree);
        let places = places(&polynomial, radius, room, inner).filter(|&p| p + 1 >= fraction)?;
        let blocks = Blocks::new(degree, inner, places);
        let coefficients: Vec<i64> = polynomial.iter().map(|&c| fixed(c, places)).collect();
        let rounded = real(&coefficients, places);
        Some(Polynomial {
            error: error(&rounded) + blocks.rounding(&rounded, radius),
            blocks,
            coefficients,
            dropped: inner + places - fraction,
        })
    }

    /// The polynomial of every element.
    pub fn apply(&self, machine: &mut Erased, u: &Handle) -> Result<Handle, Error> {
        let coefficients = Coefficients::Public(&self.coefficients);
        self.blocks
            .evaluate(machine, u, &coefficients, self.dropped)
    }
}

/// Fraction bits that the room of products leaves to the coefficients of a polynomial. (What comes a
/// little above the room is still far below what truncations are right for.)
pub(super) fn places(polynomial: &[f64], radius: f64, room: u32, inner: u32) -> Option<u32> {
    let sum = polynomial
        .iter()
        .rev()
        .fold(0.0, |sum, c| sum * radius + c.abs());
    let whole = (0..64).find(|&k| exp2(k as i32) * LITTLE >= sum)?;
    (room - inner).checked_sub(whole)
}

/// The coefficients that the powers of a polynomial are multiplied with.
pub(super) enum Coefficients<'a> {
    /// Known to all, and the same for every element.
    Public(&'a [i64]),
    /// Secret: a row of coefficients for each element.
    Chosen(Handle),
}

/// How polynomials of a degree are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    degree: usize,
    /// The power that the blocks are the coefficients of.
    width: usize,
    /// Fraction bits of the powers.
    pub inner: u32,
    /// Fraction bits of the coefficients, and of the sums between.
    pub places: u32,
}

impl Blocks {
    /// The way to compute a polynomial of `degree` in the fewest products, and of such the fewest hops.
    pub fn new(degree: usize, inner: u32, places: u32) -> Self {
        let blocks = |width| Blocks {
            degree,
            width,
            inner,
            places,
        };
        let all = (1..=degree).map(blocks);
        let best = all.min_by_key(|blocks| (blocks.products(), blocks.depth()));
        best.unwrap_or(blocks(1))
    }

    /// Blocks below the highest.
    fn steps(&self) -> usize {
        self.degree.div_ceil(self.width).max(1) - 1
    }

    /// Products with public coefficients; there is a truncation besides.
    pub fn products(&self) -> usize {
        self.width - 1 + self.steps()
    }

    /// The highest degree in as many products.
    fn reach(&self) -> usize {
        self.width * (self.steps() + 1)
    }

    /// Products one after the other.
    fn depth(&self) -> usize {
        self.width.next_power_of_two().ilog2() as usize + self.steps()
    }

    /// The exponents in a block.
    fn exponents(&self, block: usize) -> std::ops::RangeInclusive<usize> {
        let first = block * self.width;
        match block == self.steps() {
            true => first..=self.degree,
            false => first..=first + self.width - 1,
        }
    }

    /// The polynomial of `u` with so many bits dropped at the end: `inner + places` are fraction.
    pub fn evaluate(
        &self,
        machine: &mut Erased,
        u: &Handle,
        coefficients: &Coefficients,
        dropped: u32,
    ) -> Result<Handle, Error> {
        let powers = self.powers(machine, u)?;
        let mut above = None;
        for block in (1..=self.steps()).rev() {
            let of = (block, above);
            above = Some(self.step(machine, &powers, coefficients, of, self.inner)?);
        }
        self.step(machine, &powers, coefficients, (0, above), dropped)
    }

    /// `u, u^2, ..., u^width`, each hop twice as many.
    fn powers(&self, machine: &mut Erased, u: &Handle) -> Result<Vec<Handle>, Error> {
        let n = machine.len(u);
        let mut powers = vec![u.clone()];
        for (known, more) in doublings(self.width) {
            let lower: Vec<&Handle> = powers[..more].iter().collect();
            let (lower, tops) = (machine.concat(&lower), vec![&powers[known - 1]; more]);
            let tops = Operand::Secret(machine.concat(&tops));
            let higher = machine.mul(&lower, &tops, self.inner)?;
            let part = |i: usize| machine.slice(&higher, i * n..(i + 1) * n);
            powers.extend((0..more).map(part));
        }
        Ok(powers)
    }

    /// A block, and what is above it times the highest power, truncated once.
    fn step(
        &self,
        machine: &mut Erased,
        powers: &[Handle],
        coefficients: &Coefficients,
        (block, above): (usize, Option<Handle>),
        dropped: u32,
    ) -> Result<Handle, Error> {
        match coefficients {
            Coefficients::Public(all) => {
                let sum = self.block(machine, powers, &all[self.exponents(block)]);
                let Some(above) = above else {
                    return machine.truncate(&sum, dropped);
                };
                let map = Bilinear::Elementwise(machine.len(&above));
                let top = Operand::Secret(powers[self.width - 1].clone());
                let sum = Operand::Secret(sum);
                machine.linear(&above, &top, Some(&sum), &map, dropped, None)
            }
            Coefficients::Chosen(rows) => {
                self.chosen(machine, powers, rows, (block, above), dropped)
            }
        }
    }

    /// The sum over the powers. Local.
    fn block(&self, machine: &mut Erased, powers: &[Handle], coefficients: &[i64]) -> Handle {
        let n = machine.len(&powers[0]);
        let constant = coefficients[0] << self.inner;
        let sum = machine.constant_by(n, || vec![constant; n]);
        let terms = powers.iter().zip(&coefficients[1..]);
        terms.fold(sum, |sum, (power, &c)| {
            let term = machine.scale(power, c);
            machine.add(&sum, &term)
        })
    }

    /// One block of the polynomial with secret coefficients: an inner product for every element, which is a
    /// convolution with one group for each.
    fn chosen(
        &self,
        machine: &mut Erased,
        powers: &[Handle],
        rows: &Handle,
        (block, above): (usize, Option<Handle>),
        dropped: u32,
    ) -> Result<Handle, Error> {
        let (n, row, exponents) = (
            machine.len(&powers[0]),
            self.degree + 1,
            self.exponents(block),
        );
        let (first, terms) = (*exponents.start(), exponents.count() - 1);
        let constant = |i: usize| (i * row + first) as u32;
        let constants = machine.gather_by(rows, n, || (0..n).map(constant).collect());
        let constants = Operand::Secret(machine.scale(&constants, 1 << self.inner));
        let (mut left, mut right) = (vec![rows], powers[..terms].iter().collect::<Vec<_>>());
        if let Some(above) = &above {
            left.push(above);
            right.push(&powers[self.width - 1]);
        }
        let k = right.len();
        let of_left = |i: usize, term: usize| match term < terms {
            true => i * row + first + 1 + term,
            false => n * row + i,
        };
        let of_right = |i: usize, term: usize| term * n + i;
        let (left, right) = (machine.concat(&left), machine.concat(&right));
        let left = machine.gather_by(&left, n * k, || woven(n, k, of_left));
        let right = machine.gather_by(&right, n * k, || woven(n, k, of_right));
        let shape = groups(n, k);
        machine.conv2d(
            &left,
            &Operand::Secret(right),
            Some(&constants),
            &shape,
            dropped,
        )
    }

    /// The largest error by rounding of these polynomials on `[-radius, radius]`, but for the last
    /// truncation's.
    pub fn rounding(&self, polynomial: &[f64], radius: f64) -> f64 {
        let unit = exp2(-(self.inner as i32));
        let mut powers = vec![0.0];
        for (known, more) in doublings(self.width) {
            let power = |k: usize| radius.powi(k as i32);
            let of = |i: usize| {
                let product = powers[i] * power(known) + powers[known - 1] * power(i + 1);
                product + ROUNDING * unit
            };
            let higher: Vec<f64> = (0..more).map(of).collect();
            powers.extend(higher);
        }
        let error = |block: usize, above: f64| {
            let coefficients = &polynomial[self.exponents(block)];
            let terms = coefficients[1..].iter().zip(&powers);
            let sum: f64 = terms.map(|(c, e)| c.abs() * e).sum();
            let next = (block + 1) * self.width;
            let tail = match block == self.steps() {
                true => 0.0,
                false => largest(radius, |u| at(&polynomial[next..], u)),
            };
            let width = self.width as i32;
            sum + tail * powers[self.width - 1] + radius.powi(width) * above
        };
        let truncated = ROUNDING * exp2(-(self.places as i32));
        let above = (1..=self.steps()).rev();
        error(
            0,
            above.fold(0.0, |above, block| error(block, above) + truncated),
        )
    }
}

/// Where the `k` terms of `n` elements stand, those of each element side by side.
fn woven(n: usize, k: usize, of: impl Fn(usize, usize) -> usize) -> Vec<u32> {
    let mut places = Vec::with_capacity(n * k);
    (0..n).for_each(|i| places.extend((0..k).map(|term| of(i, term) as u32)));
    places
}

/// `n` inner products of `k` terms: a convolution of as many groups.
fn groups(n: usize, k: usize) -> Conv2d {
    Conv2d {
        batch: 1,
        channels: n,
        height: 1,
        width: k,
        filters: n,
        kernel: [1, k],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: n,
    }
}

/// How many powers are known, and how many are added, step by step from 1 known power to `degree`.
fn doublings(degree: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut known = 1;
    std::iter::from_fn(move || {
        let more = known.min(degree - known);
        known += more;
        (more > 0).then_some((known - more, more))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products of degree 16, and that every exponent is in one block.
    #[test]
    fn blocks_hold_every_exponent_in_few_products() {
        let of = |degree| Blocks::new(degree, 30, 30);
        let products = [2, 4, 6, 9, 12, 16, 20, 25].map(|degree| of(degree).products());
        assert_eq!(products, [1, 2, 3, 4, 5, 6, 7, 8]);
        for degree in 1..=MOST_DEGREE {
            let blocks = of(degree);
            let all = (0..=blocks.steps()).flat_map(|block| blocks.exponents(block));
            assert!(all.eq(0..=degree), "{blocks:?}");
            let highest = blocks.exponents(blocks.steps()).count();
            assert!((2..=blocks.width + 1).contains(&highest), "{blocks:?}");
        }
    }
}

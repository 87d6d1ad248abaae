//! Exponentials of non-positive numbers (SiRnn, Figure 3, section V-A; docs/spec/sirnn.md,
//! section 10), and of any with a bound.
//!
//! `exp(-z)` is the product over the digits of `z` of exponentials looked up in tables. The numbers
//! in between are at most 1 and have two bits more than their scale, so that no wrap costs more
//! than one small OT.
//!
//! Beyond the paper, which promises `x <= 0`: `exp(high)` above a bound `high <= 0`, without a
//! comparison. There `z`, counted from the last number below the bound, is negative as a signed
//! number, which its top digit tells: the exponential looked up of it is 0, and `exp(high)`, looked up
//! in the same message, is added to the product.
//!
//! Error: 2 (int) and 2.97 (real) at 16 bits and three digits, where the paper, with two, states 3;
//! with more digits every product adds up to 1: measured 4.3 at 32 bits.

use tacit_algebra::vec;
use tacit_protocols::Error;

use super::clear::Number;
use super::{Format, POSITIVE, concat, exact, multiply_shift, require, split};
use crate::digits::digit_bits;
use crate::{Engine, Gate, Shared};

/// The largest scale of a result: products of two have 64 bits.
pub(super) const MAX_SCALE: u32 = 30;
/// The largest scale of a result with a bound: the two values of a top digit, looked up together,
/// have `2 scale + 6` bits, and at most 64.
const MAX_BOUNDED_SCALE: u32 = 29;

/// `exp(x)` of `x <= 0`, or of any `x` with a bound.
#[derive(Clone, Debug)]
pub struct Exp {
    input: Format,
    output: Format,
    digit: u32,
    /// What `z` is counted from, down: units below 0.
    first: u64,
    /// Entry `u` of table `i` is `floor(2^scale exp(-u 2^(digit i - input.scale)))`, of table 0 with
    /// `first` added to `u`.
    tables: Vec<Vec<u64>>,
    /// What is added to the product by top digit; nothing without a bound.
    above: Option<Vec<u64>>,
}

impl Exp {
    /// Exponentials by tables for digits of equal widths of at most `digit` bits, itself at most 8.
    /// The result may have up to 30 fraction bits and needs two bits more.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
        Self::with_rate(input, output, digit, (1, 0))
    }

    /// `exp(x)` for any `x` up to `high`, and `exp(high)` above, for a `high` of 0 or less. Numbers of
    /// `input.bits` bits must hold `x - high`. For `high` = 0 they do for every `x`; else for every `x`
    /// below a quarter of their range, and `-high` must be within that quarter, too. The result may have
    /// up to 29 fraction bits.
    pub fn up_to(input: Format, output: Format, digit: u32, high: i32) -> Result<Self, Error> {
        let quarter = 1u128.checked_shl(input.bits.saturating_sub(2)).unwrap_or(0);
        let below = u128::from(high.unsigned_abs()).checked_shl(input.scale);
        let below = below.filter(|below| high <= 0 && *below <= quarter);
        let bounded = below.filter(|_| output.scale <= MAX_BOUNDED_SCALE);
        let Some(below) = bounded.map(|below| below as u64) else {
            return Err(Error::Invalid(format!(
                "exponentials up to exp({high}) of numbers of {} bits, {} of them fraction, with {} fraction bits",
                input.bits, input.scale, output.scale
            )));
        };
        let mut exp = Self::counted_from(input, output, digit, below + 1, (1, 0))?;
        let largest = exact::exp_table(0, below, 1, -(input.scale as i32), output.scale);
        let largest = largest.ok_or_else(near_an_integer)?[0];
        if let Some(top) = exp.tables.last_mut() {
            let half = top.len() / 2;
            top[half..].fill(0);
            exp.above = Some([vec![0; half], vec![largest; half]].concat());
        }
        Ok(exp)
    }

    /// `exp(rate x)`, the rate given with its fraction bits: it costs nothing, since it is in the tables.
    pub(super) fn with_rate(
        input: Format,
        output: Format,
        digit: u32,
        rate: (u64, u32),
    ) -> Result<Self, Error> {
        Self::counted_from(input, output, digit, 0, rate)
    }

    fn counted_from(
        input: Format,
        output: Format,
        digit: u32,
        first: u64,
        (rate, rate_scale): (u64, u32),
    ) -> Result<Self, Error> {
        let (bits, scale) = (output.bits, output.scale);
        require((1..=64).contains(&input.bits) && input.scale <= 64, || {
            format!(
                "an exponential of {} bits and {} fraction bits",
                input.bits, input.scale
            )
        })?;
        require(
            (2..=MAX_SCALE).contains(&scale) && (scale + 2..=64).contains(&bits),
            || {
                format!(
                    "exponentials have 2 to {MAX_SCALE} fraction bits and at least two bits more, up to 64; {scale} fraction bits of {bits} do not fit"
                )
            },
        )?;
        require((1..=8).contains(&digit), || {
            format!("tables are indexed by 1 to 8 bits, not {digit}")
        })?;
        let digit = digit_bits(input.bits, digit);
        let tables = (0..input.bits)
            .step_by(digit as usize)
            .map(|at| {
                let exponent = at as i32 - input.scale as i32 - rate_scale as i32;
                let (bits, first) = (digit.min(input.bits - at), if at == 0 { first } else { 0 });
                exact::exp_table(bits, first, rate, exponent, scale)
            })
            .collect::<Option<_>>()
            .ok_or_else(near_an_integer)?;
        Ok(Exp {
            input,
            output,
            digit,
            first,
            tables,
            above: None,
        })
    }

    /// The width of exponentials in between: a sign and the bit of 1 above the fraction.
    fn width(&self) -> u32 {
        self.output.scale + 2
    }

    /// The width of products of `n` factors in pairs: of the last one that of the result, as far as
    /// the product of their widths goes.
    fn product_width(&self, n: usize) -> u32 {
        match n {
            2 => self.output.bits.min(self.width() + 2),
            _ => self.width(),
        }
    }

    /// The width of the whole product.
    fn last_width(&self) -> u32 {
        self.product_width(self.tables.len().min(2))
    }

    /// What is looked up of digit `i`, with its width.
    fn looked_up(&self, i: usize) -> Vec<(u32, &[u64])> {
        let table = (self.width(), &self.tables[i][..]);
        let top = i + 1 == self.tables.len();
        let above = self.above.iter().filter(|_| top);
        let above = above.map(|above| (self.last_width(), &above[..]));
        std::iter::once(table).chain(above).collect()
    }

    /// `exp(x)`, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let z = Number::new(self.input.bits, x).scale(u64::MAX);
        let z = z.add_public(self.first.wrapping_neg());
        self.clear_of_negated(z).value
    }

    /// `exp(-z)` of an unsigned `z`; with a bound that of a number so far below `first`.
    pub(super) fn clear_of_negated(&self, z: Number) -> Number {
        let scale = self.output.scale;
        let digits = z.digits(self.digit);
        let mut factors: Vec<_> = (digits.iter().zip(&self.tables))
            .map(|(digit, table)| digit.lookup(table, self.width()))
            .collect();
        while factors.len() > 1 {
            let width = self.product_width(factors.len());
            factors = factors
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => a.multiply_shift(*b, scale, width),
                    _ => pair[0],
                })
                .collect();
        }
        let above = digits.last().zip(self.above.as_ref());
        let above = above.map(|(top, above)| top.lookup(above, self.last_width()));
        let product = above.map_or(factors[0], |above| factors[0].add(above));
        product.extend_positive(self.output.bits)
    }

    /// `exp(x)`, of shares.
    ///
    /// At 16 bits, scales of 12 and digits of 6: 28 hops, 2661 bytes with OTs of 128 bits and 1005 with
    /// OTs of 32. With digits of 8: 17 hops, 2251 (the paper: 2.12 KB, since it has 1-of-256 OTs for
    /// the price of 2) and 1315. With a bound and a top digit of `t` bits, `2^t - 1` numbers of the
    /// result's width more: 30 bytes, and no hop.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        let z = engine.add_public(&x.scale(u64::MAX), self.first.wrapping_neg());
        self.of_negated(engine, &z)
    }

    /// `exp(-z)` of an unsigned `z`; with a bound that of a number so far below `first`.
    pub(super) fn of_negated(&self, engine: &mut Engine, z: &Shared) -> Result<Shared, Error> {
        let scale = self.output.scale;
        let digits = engine.digits(z, self.digit)?;
        let gates: Vec<_> = (digits.iter().enumerate())
            .map(|(i, digit)| Gate::lookups(digit.bits, &self.looked_up(i)))
            .collect();
        let asked: Vec<_> = (gates.iter().zip(&digits))
            .map(|(gate, digit)| (gate, digit.values.as_slice()))
            .collect();
        let found = engine.gates("sirnn: exponentials", &asked)?;
        let mut factors: Vec<_> = found
            .iter()
            .map(|values| Shared::new(self.width(), values))
            .collect();
        while factors.len() > 1 {
            let pairs = factors.chunks_exact(2);
            let rest = pairs.remainder().to_vec();
            let (left, right): (Vec<_>, Vec<_>) = pairs.map(|pair| (&pair[0], &pair[1])).unzip();
            let (left, right) = (concat(&left), concat(&right));
            let width = self.product_width(factors.len());
            let products = multiply_shift(engine, &left, &right, scale, width)?;
            factors = split(&products, factors.len() / 2);
            factors.extend(rest);
        }
        let product = match (&self.above, found.last()) {
            (Some(_), Some(top)) => {
                let above = vec::shr(top, self.width());
                factors[0].add(&Shared::new(self.last_width(), &above))
            }
            _ => factors.remove(0),
        };
        engine.zero_extend(&product, self.output.bits, &POSITIVE)
    }
}

fn near_an_integer() -> Error {
    Error::Invalid("an exponential is too near to an integer".into())
}

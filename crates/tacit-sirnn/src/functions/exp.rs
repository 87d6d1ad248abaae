//! Exponentials of non-positive numbers (section V-A).
//!
//! `exp(-z)` is the product over the digits of `z` of exponentials looked up in tables. The numbers
//! in between are at most 1 and have two bits more than their scale, so that no wrap costs more
//! than one small OT.
//!
//! Error: 2 (int) and 2.97 (real) at 16 bits and three digits, where the paper, with two, states 3;
//! with more digits every product adds up to 1: measured 4.3 at 32 bits.

use tacit_protocols::Error;

use super::clear::Number;
use super::{Format, POSITIVE, concat, exact, multiply_shift, require, split};
use crate::digits::digit_bits;
use crate::{Engine, Gate, Shared};

/// The largest scale of a result: products of two have 64 bits.
pub(super) const MAX_SCALE: u32 = 30;

/// `exp(x)` of `x <= 0`.
#[derive(Clone, Debug)]
pub struct Exp {
    input: Format,
    output: Format,
    digit: u32,
    /// Entry `u` of table `i` is `floor(2^scale exp(-u 2^(digit i - input.scale)))`.
    tables: Vec<Vec<u64>>,
}

impl Exp {
    /// Exponentials by tables for digits of equal widths of at most `digit` bits, itself at most 8.
    /// The result may have up to 30 fraction bits and needs two bits more.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
        Self::with_rate(input, output, digit, (1, 0))
    }

    /// `exp(rate x)`, the rate given with its fraction bits: it costs nothing, since it is in the tables.
    pub(super) fn with_rate(
        input: Format,
        output: Format,
        digit: u32,
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
                exact::exp_table(digit.min(input.bits - at), rate, exponent, scale)
            })
            .collect::<Option<_>>()
            .ok_or_else(|| Error::Invalid("an exponential is too near to an integer".into()))?;
        Ok(Exp {
            input,
            output,
            digit,
            tables,
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

    /// `exp(x)`, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let z = Number::new(self.input.bits, x).scale(u64::MAX);
        self.clear_of_negated(z).value
    }

    /// `exp(-z)` of an unsigned `z`.
    pub(super) fn clear_of_negated(&self, z: Number) -> Number {
        let scale = self.output.scale;
        let mut factors: Vec<_> = (z.digits(self.digit).iter().zip(&self.tables))
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
        factors[0].extend_positive(self.output.bits)
    }

    /// `exp(x)`, of shares.
    ///
    /// At 16 bits, scales of 12 and digits of 6: 28 hops, 2661 bytes with OTs of 128 bits and 1005 with
    /// OTs of 32. With digits of 8: 17 hops, 2251 (the paper: 2.12 KB, since it has 1-of-256 OTs for
    /// the price of 2) and 1315.
    pub fn apply(&self, engine: &mut Engine, x: &Shared) -> Result<Shared, Error> {
        self.of_negated(engine, &x.scale(u64::MAX))
    }

    /// `exp(-z)` of an unsigned `z`.
    pub(super) fn of_negated(&self, engine: &mut Engine, z: &Shared) -> Result<Shared, Error> {
        let scale = self.output.scale;
        let digits = engine.digits(z, self.digit)?;
        let gates: Vec<_> = (digits.iter().zip(&self.tables))
            .map(|(digit, table)| Gate::lookup(digit.bits, self.width(), table))
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
        engine.zero_extend(&factors[0], self.output.bits, &POSITIVE)
    }
}

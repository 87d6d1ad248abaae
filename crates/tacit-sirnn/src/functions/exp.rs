//! Exponentials of non-positive numbers (section V-A).
//!
//! `exp(-z)` is the product over the digits of `z` of exponentials looked up in tables. The numbers
//! in between are at most 1 and have two bits more than their scale, so that no wrap costs more
//! than one small OT.

use tacit_protocols::Error;

use super::clear::Number;
use super::{Format, exact, require};

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
    /// Exponentials by tables for digits of `digit` bits, at most 8. The result may have up to 30
    /// fraction bits and needs two bits more.
    pub fn new(input: Format, output: Format, digit: u32) -> Result<Self, Error> {
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
        let tables = (0..input.bits)
            .step_by(digit as usize)
            .map(|at| {
                let exponent = at as i32 - input.scale as i32;
                exact::exp_table(digit.min(input.bits - at), exponent, scale)
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

    /// `exp(x)`, in the clear.
    pub fn clear(&self, x: u64) -> u64 {
        let z = Number::new(self.input.bits, x).scale(u64::MAX);
        self.clear_of_negated(z)
            .extend_positive(self.output.bits)
            .value
    }

    /// `exp(-z)` of an unsigned `z`, in two bits more than the scale, of which the first is 0.
    pub(super) fn clear_of_negated(&self, z: Number) -> Number {
        let scale = self.output.scale;
        let mut factors: Vec<_> = (z.digits(self.digit).iter().zip(&self.tables))
            .map(|(digit, table)| digit.lookup(table, self.width()))
            .collect();
        while factors.len() > 1 {
            factors = factors
                .chunks(2)
                .map(|pair| match pair {
                    [a, b] => a
                        .multiply_positive(*b, 2 * scale + 2)
                        .truncate_reduce(scale),
                    _ => pair[0],
                })
                .collect();
        }
        factors[0]
    }
}

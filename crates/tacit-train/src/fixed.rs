//! Numbers of a training: fixed point over the machine's ring.

use tacit_protocols::math::Format;

use serde::Serialize;

use crate::Error;

/// The fixed-point format of all numbers of a training: how many bits they have, and how many of these are fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FixedPoint {
    /// Bits of the ring or field.
    pub bits: u32,
    /// Fraction bits of every number.
    pub fraction: u32,
}

/// A number that a training does not take: NaN, infinite or too large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beyond {
    /// The place of the number among those given, from 0.
    pub index: usize,
    /// The number itself.
    pub value: f32,
    /// Magnitudes are below this.
    pub limit: f64,
}

impl std::fmt::Display for Beyond {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Beyond { value, limit, .. } = self;
        write!(
            f,
            "{value}; a training takes finite numbers of magnitudes below {limit}: scale them, or take fewer fraction_bits"
        )
    }
}

/// The most that is taken of the magnitude of a number, whatever the ring has room for.
const LARGEST: f64 = 1024.0;
/// Bits of a product above the point, its sign and a truncation's gap included.
const HEADROOM: u32 = 12;

impl FixedPoint {
    /// `fraction` bits after the point over a ring of `bits`; a product must keep 12 bits before
    /// it.
    pub fn new(bits: u32, fraction: u32) -> Result<Self, Error> {
        let most = bits.saturating_sub(HEADROOM) / 2;
        if !(8..=most).contains(&fraction) {
            return Err(Error::setting(
                "fraction_bits",
                format!(
                    "{fraction} over {bits} bits; a training needs 8 to {most}, so that a product keeps {HEADROOM} bits before the point (the 64-bit ring has room for 26)"
                ),
            ));
        }
        Ok(FixedPoint { bits, fraction })
    }

    /// `value` in units of `2^-f`, rounded; of a number that is known to fit.
    pub fn encode(&self, value: f64) -> i64 {
        (value * self.one()).round() as i64
    }

    /// Magnitudes of the numbers that a training is given, items, targets and weights, are below this:
    /// the product of two of them is below a quarter of the ring, which a truncation takes.
    pub fn limit(&self) -> f64 {
        let room = self.bits.saturating_sub(2 + 2 * self.fraction) / 2;
        f64::from(room).exp2().min(LARGEST)
    }

    /// Refuses the first number that is NaN, infinite or not below the limit.
    pub fn check(&self, values: &[f32]) -> Result<(), Beyond> {
        let limit = self.limit();
        let beyond = |value: &f32| value.is_nan() || f64::from(value.abs()) >= limit;
        match values.iter().position(beyond) {
            None => Ok(()),
            Some(index) => Err(Beyond {
                index,
                value: values[index],
                limit,
            }),
        }
    }

    /// Encodes all numbers, if each is within the limit.
    pub fn encode_all(&self, values: &[f32]) -> Result<Vec<i64>, Beyond> {
        self.check(values)?;
        Ok(values.iter().map(|v| self.encode(f64::from(*v))).collect())
    }

    /// The number that stands for so many units.
    pub fn decode(&self, units: i64) -> f32 {
        (units as f64 / self.one()) as f32
    }

    /// `2^f`.
    pub fn one(&self) -> f64 {
        f64::from(self.fraction).exp2()
    }

    pub(crate) fn format(&self) -> Result<Format, Error> {
        Ok(Format::new(self.bits, self.fraction)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_up_to_the_limit_and_not_at_it() {
        for (bits, fraction, limit) in [
            (64, 20, 1024.0),
            (64, 26, 32.0),
            (32, 10, 32.0),
            (61, 20, 512.0),
        ] {
            let fixed = FixedPoint::new(bits, fraction).expect("valid");
            assert_eq!(fixed.limit(), limit);
            let limit = limit as f32;
            let below = limit.next_down();
            for fits in [below, -below, 0.0, f32::MIN_POSITIVE] {
                assert!(fixed.encode_all(&[1.0, fits]).is_ok(), "{fits}");
            }
            // A product of two, encoded, is below a quarter of the ring.
            let product = f64::from(below).powi(2) * fixed.one().powi(2);
            assert!(product < f64::from(bits - 2).exp2());
            for value in [
                limit,
                -limit,
                1e30,
                f32::MAX,
                f32::INFINITY,
                f32::NEG_INFINITY,
                f32::NAN,
            ] {
                let refused = fixed.encode_all(&[1.0, value]).expect_err("refused");
                assert_eq!((refused.index, refused.limit), (1, f64::from(limit)));
                assert_eq!(refused.value.to_bits(), value.to_bits());
            }
        }
    }
}

//! Secret powers of two, and the way back from normalised numbers: products with them
//! (docs/spec/functions.md, section 4).

use super::normal::Intervals;
use super::{ROUNDING, exp2};
use crate::Error;
use crate::machine::{Erased, Handle, Machine, Operand};

/// Inner fraction bits with which one product is preferred to two: a relative error of `2^-20` is
/// kept.
const ENOUGH: u32 = 26;

/// A secret power of two, or 0: one for each interval.
#[derive(Clone, Debug)]
pub(super) struct Powers {
    /// `None` is 0.
    exponents: Vec<Option<i32>>,
    /// Bits that are truncated so that negative exponents become factors.
    trunc: u32,
}

impl Powers {
    /// One of `exponents` for each interval.
    pub fn new(exponents: Vec<Option<i32>>) -> Self {
        let least = exponents.iter().flatten().copied().min().unwrap_or(0);
        Powers {
            exponents,
            trunc: least.min(0).unsigned_abs(),
        }
    }

    /// The exponent of the largest factor.
    fn largest(&self) -> i32 {
        let largest = self.exponents.iter().flatten().copied().max();
        largest.unwrap_or(0) + self.trunc as i32
    }

    /// `x` times the power of its interval. 1 product.
    pub fn scale(
        &self,
        machine: &mut Erased,
        intervals: &Intervals,
        x: &Handle,
    ) -> Result<Handle, Error> {
        let trunc = self.trunc as i32;
        let factor = |&e: &Option<i32>| e.map_or(0, |exponent| 1i64 << (exponent + trunc));
        let factors: Vec<i64> = self.exponents.iter().map(factor).collect();
        let factors = match intervals {
            Intervals::Shared(reached) => {
                let rows: Vec<Vec<i64>> = factors.into_iter().map(|factor| vec![factor]).collect();
                Operand::Secret(reached.pick(machine, &rows)?)
            }
            Intervals::Opened { rows, .. } => {
                Operand::Public(rows.iter().map(|&row| factors[row]).collect())
            }
        };
        machine.mul(x, &factors, self.trunc)
    }
}

/// The way back: a product with a power of two, or where that leaves the ring two, a coarse one that
/// only makes small results smaller, and a fine one.
#[derive(Clone, Debug)]
pub(super) struct Back {
    coarse: Option<Powers>,
    fine: Powers,
    /// Bits that the fine one truncates.
    kept: u32,
}

impl Back {
    /// The way back for numbers up to `2^(inner + whole)` and these exponents of their powers, whose products stay
    /// below `2^room`: the largest `inner` for which there is one, with `exponents(inner)`.
    ///
    /// One product is taken if it leaves `ENOUGH` inner bits, or half of the room if that is less.
    pub fn widest(
        room: u32,
        whole: u32,
        exponents: impl Fn(u32) -> Vec<Option<i32>>,
    ) -> Option<(u32, Back)> {
        let all = |least: u32| (least..=room / 2).rev();
        let once = |inner| Some((inner, Self::once(room, inner + whole, exponents(inner))?));
        let twice = |inner| Some((inner, Self::twice(room, inner + whole, exponents(inner))?));
        let enough = all(ENOUGH.min(room / 2)).find_map(once);
        enough.or_else(|| all(1).find_map(twice))
    }

    /// What stays below half a unit becomes 0.
    fn once(room: u32, magnitude: u32, mut exponents: Vec<Option<i32>>) -> Option<Self> {
        let magnitude = magnitude as i32;
        for exponent in &mut exponents {
            *exponent = exponent.filter(|&e| e >= -magnitude);
        }
        let fine = Powers::new(exponents);
        (magnitude + fine.largest() <= room as i32).then_some(Back {
            coarse: None,
            kept: fine.trunc,
            fine,
        })
    }

    /// A way back by two products: with `t` bits for the fine one to truncate, the coarse one divides by what exceeds
    /// `2^t`; what stays below a unit becomes 0.
    fn twice(room: u32, magnitude: u32, exponents: Vec<Option<i32>>) -> Option<Self> {
        let (room, magnitude) = (room as i32, magnitude as i32);
        let most = exponents.iter().flatten().copied().max()?;
        let left = room - magnitude;
        let kept = left - most;
        if kept < 0 || magnitude - kept > left {
            return None;
        }
        let coarse = |e: Option<i32>| e.map(|e| (e + kept).min(0)).filter(|e| -e <= left);
        let divided: Vec<_> = exponents.iter().map(|&e| coarse(e)).collect();
        let rest = exponents.iter().zip(&divided);
        let rest = rest.map(|(e, by)| Some((*e)? - (*by)?)).collect();
        Some(Back {
            coarse: Some(Powers::new(divided)),
            fine: Powers::new(rest),
            kept: kept as u32,
        })
    }

    /// `y` times the power of its interval. 1 or 2 products.
    pub fn scale(
        &self,
        machine: &mut Erased,
        intervals: &Intervals,
        y: &Handle,
    ) -> Result<Handle, Error> {
        match &self.coarse {
            None => self.fine.scale(machine, intervals, y),
            Some(coarse) => {
                let y = coarse.scale(machine, intervals, y)?;
                self.fine.scale(machine, intervals, &y)
            }
        }
    }

    /// The error in units of the result, and in units of the last place inside.
    pub fn rounding(&self) -> [f64; 2] {
        match self.coarse {
            None => [ROUNDING, 0.0],
            Some(_) => [ROUNDING * (1.0 + exp2(-(self.kept as i32))), ROUNDING],
        }
    }
}

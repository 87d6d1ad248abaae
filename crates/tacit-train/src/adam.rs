//! Adam (Kingma and Ba: "Adam: a method for stochastic optimization", 2015) in fixed point.
//!
//! The square of a gradient is small where the gradient is, so both have scales of their own: mean
//! gradients `g` have `p = (bits - 14) / 2` fraction bits (25 of 64), their squares and the mean `v` of
//! these `2 p`, the mean `m` of gradients `p + 8`. Every mean gradient is clipped to 16, so that `v` is
//! below `2^8` and nothing leaves the ring.
//!
//! Differs from the paper: `epsilon` stands inside the root, `m / sqrt(v + eps^2)`, which needs one
//! function instead of two; and `v` counts as `2^(6 - 2 p)` at least. Of 64 bits a gradient is known to
//! `2^-25`, `sqrt(v)` to `2^-20`, and the inverse root to a relative `2^-12`.

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::{Erased, Handle, KeyBits, Machine, Operand};
use tacit_protocols::math::{Elementary, FunctionKind, Span};

use crate::sgd::{LARGEST_RATE, RATE_BITS, Schedule, unit};
use crate::{Error, FixedPoint};

/// The optimiser, as PyTorch's `Adam` has its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    /// The learning rate of the first epoch.
    pub learning_rate: f64,
    /// How much of the mean of gradients is kept.
    pub beta1: f64,
    /// How much of the mean of squares is kept.
    pub beta2: f64,
    /// The least that a gradient is divided by.
    pub epsilon: f64,
    /// How much weights are drawn to 0, as a part of the gradient.
    pub weight_decay: f64,
    /// How the learning rate changes.
    pub schedule: Schedule,
}

impl Default for Adam {
    fn default() -> Self {
        Adam {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-6,
            weight_decay: 0.0,
            schedule: Schedule::Constant,
        }
    }
}

/// Mean gradients are clipped to this.
pub(crate) const CLIP: f64 = 16.0;
/// Bits of the numbers for whose squares there is room.
const FEWEST_BITS: u32 = 60;
/// Fraction bits that the mean of gradients has more than these.
const FINER: u32 = 8;
/// Bits that a square loses while it is weighed.
const LOST: u32 = 10;
/// Bits by which the correction of the first steps makes a rate smaller at most.
const CORRECTED: i32 = 4;
/// The inverse root is right to so many bits.
const NEAR: u32 = 12;
/// The least epsilon.
const LEAST_EPSILON: f64 = 1e-6;

/// The state of a parameter that a step changes.
pub(crate) struct Moved<'a> {
    pub weight: &'a mut Handle,
    /// The mean of gradients.
    pub mean: &'a mut Handle,
    /// The mean of their squares.
    pub square: &'a mut Handle,
}

impl Adam {
    /// Refuses settings outside their ranges.
    pub fn check(&self) -> Result<(), Error> {
        unit("learning_rate", self.learning_rate, LARGEST_RATE)?;
        unit("weight_decay", self.weight_decay, 1.0)?;
        unit("beta1", self.beta1, 1.0)?;
        if !(0.5..=0.9999).contains(&self.beta2) || self.beta1.powi(2) >= self.beta2 {
            let why = format!(
                "{}; it must be 0.5 to 0.9999 and above the square of beta1, {}",
                self.beta2, self.beta1
            );
            return Err(Error::setting("beta2", why));
        }
        if !(LEAST_EPSILON..=1.0).contains(&self.epsilon) {
            let why = format!(
                "{:e}; it must be {LEAST_EPSILON:e} to 1, since a root of the mean square is known to about 2^-20",
                self.epsilon
            );
            return Err(Error::setting("epsilon", why));
        }
        self.schedule.check()
    }

    /// Refuses numbers that squares of gradients do not fit, and rates that become 0, in a training of so
    /// many epochs with mini-batches of so many items.
    pub fn check_fixed(&self, fixed: FixedPoint, epochs: usize, batch: usize) -> Result<(), Error> {
        if fixed.bits < FEWEST_BITS {
            let why = format!(
                "the squares of gradients need {FEWEST_BITS} bits, and there are {}; take a larger ring, or sgd",
                fixed.bits
            );
            return Err(Error::setting("adam", why));
        }
        for epoch in [0, epochs.saturating_sub(1)] {
            let rate = self.rate(epoch);
            let falls = matches!(self.schedule, Schedule::Cosine { .. }) && epoch > 0;
            if !(0.0..LARGEST_RATE).contains(&rate) || (!falls && rate * fixed.one() < 1.0) {
                let why = format!(
                    "it is {rate:e} in epoch {} of {epochs}; it must be below {LARGEST_RATE}, and at least 2^-{}, a unit of the weights",
                    epoch + 1,
                    fixed.fraction
                );
                return Err(Error::setting("learning_rate", why));
            }
        }
        let decay = self.weight_decay * batch as f64;
        if decay >= fixed.limit() || (decay > 0.0 && fixed.encode(decay) == 0) {
            let why = format!(
                "{decay:e} over a batch of {batch} is 0 in fixed point, or not below {}",
                fixed.limit()
            );
            return Err(Error::setting("weight_decay", why));
        }
        Ok(())
    }

    /// The learning rate of an epoch, from 0.
    pub fn rate(&self, epoch: usize) -> f64 {
        self.learning_rate * self.schedule.factor(epoch)
    }

    /// The factor of the rate in step `t`, from 1, and the summand of the mean of squares. They take the
    /// place of dividing both means, which begin at 0, by how much of them there is.
    pub(crate) fn correction(&self, t: usize) -> (f64, f64) {
        let missing = |beta: f64| 1.0 - beta.powi(t.min(i32::MAX as usize) as i32);
        let (first, second) = (missing(self.beta1), missing(self.beta2));
        (second.sqrt() / first, self.epsilon.powi(2) * second)
    }

    /// Step `t` of a parameter from the sum `g` of its gradients over `batch` items, of `2 f` fraction
    /// bits: two comparisons, an inverse root, two products and seven truncations for every element.
    pub(crate) fn update(
        &self,
        machine: &mut Erased,
        fixed: FixedPoint,
        moved: Moved,
        g: &Handle,
        (rate, batch, t): (f64, usize, usize),
    ) -> Result<(), Error> {
        let (f, places) = (fixed.fraction, places(fixed));
        let mut sum = g.clone();
        let decay = self.weight_decay * batch as f64;
        if decay != 0.0 {
            let drawn = machine.scale(moved.weight, fixed.encode(decay));
            sum = machine.add(&sum, &drawn);
        }
        let g = clipped_mean(machine, fixed, &sum, batch)?;
        follow_mean(machine, moved.mean, &g, self.beta1)?;
        follow_square(machine, moved.square, &g, self.beta2)?;
        let (corrected, epsilon) = self.correction(t);
        let n = machine.len(&g);
        let epsilon = (epsilon * f64::from(2 * places).exp2()).round() as i64;
        let epsilon = machine.constant(&vec![epsilon; n]);
        let square = machine.add(moved.square, &epsilon);
        let span = Span {
            low: 6 - 2 * places as i32,
            high: 9,
        };
        let inverse = Elementary::new(fixed.format()?, FunctionKind::InverseSqrt { span });
        let inverse = inverse.with_argument(2 * places).near(NEAR);
        let inverse = Operand::Secret(machine.function(&inverse, &square)?);
        let step = machine.mul(moved.mean, &inverse, places + FINER)?;
        let most = fixed.bits as i32 - 4 - f as i32;
        // A rate may have fallen to 0.
        let trunc = (RATE_BITS + CORRECTED).saturating_sub(rate.log2().ceil() as i32);
        let trunc = trunc.clamp(0, most) as u32;
        let factor = (rate * corrected * f64::from(trunc).exp2()).round() as i64;
        let step = machine.scale(&step, factor);
        let step = machine.truncate(&step, trunc)?;
        *moved.weight = machine.sub(moved.weight, &step);
        Ok(())
    }
}

/// Fraction bits of a mean gradient.
fn places(fixed: FixedPoint) -> u32 {
    (fixed.bits - 14) / 2
}

/// The mean of `batch` gradients, of whose sum there is one with `2 f` fraction bits, clipped: two
/// comparisons and two truncations.
fn clipped_mean(
    machine: &mut Erased,
    fixed: FixedPoint,
    sum: &Handle,
    batch: usize,
) -> Result<Handle, Error> {
    let places = places(fixed);
    // As many bits more as the sum is larger, while they have room.
    let larger = batch.max(1).next_power_of_two().ilog2();
    let more = larger.min(20u32.saturating_sub(larger));
    let at = places + more;
    let sum = match (2 * fixed.fraction).checked_sub(at) {
        Some(0) => sum.clone(),
        Some(trunc) => machine.truncate(sum, trunc)?,
        None => machine.scale(sum, 1 << (at - 2 * fixed.fraction)),
    };
    let n = machine.len(&sum);
    let bound = (CLIP * batch as f64 * f64::from(at).exp2()) as i64;
    let bound = machine.constant(&vec![bound; n]);
    let [up, down] = [machine.add(&sum, &bound), machine.sub(&sum, &bound)];
    let both = machine.concat(&[&up, &down]);
    let both = machine.relu(&both, KeyBits::ALL)?;
    let [up, down] = [0..n, n..2 * n].map(|part| machine.slice(&both, part));
    let clipped = machine.sub(&up, &down);
    let clipped = machine.sub(&clipped, &bound);
    let trunc = larger + RATE_BITS as u32;
    let factor = (f64::from(trunc).exp2() / batch as f64).round() as i64;
    let scaled = machine.scale(&clipped, factor);
    Ok(machine.truncate(&scaled, trunc + more)?)
}

/// `m += (1 - beta) (g - m)`. 1 truncation.
fn follow_mean(
    machine: &mut Erased,
    mean: &mut Handle,
    g: &Handle,
    beta: f64,
) -> Result<(), Error> {
    let (factor, trunc) = part(beta);
    let g = machine.scale(g, 1 << FINER);
    let away = machine.sub(&g, mean);
    let step = machine.scale(&away, factor);
    let step = machine.truncate(&step, trunc)?;
    *mean = machine.add(mean, &step);
    Ok(())
}

/// `v += (1 - beta) (g^2 - v)`: a product and two truncations, in which `v` loses bits for what is added
/// only.
fn follow_square(
    machine: &mut Erased,
    square: &mut Handle,
    g: &Handle,
    beta: f64,
) -> Result<(), Error> {
    let (factor, trunc) = part(beta);
    let new = machine.mul(g, &Operand::Secret(g.clone()), LOST)?;
    let old = machine.truncate(square, LOST)?;
    let away = machine.sub(&new, &old);
    let step = machine.scale(&away, factor);
    let step = machine.truncate(&step, trunc - LOST)?;
    *square = machine.add(square, &step);
    Ok(())
}

/// `1 - beta` as a factor of 10 to 11 bits and a truncation.
fn part(beta: f64) -> (i64, u32) {
    let part = 1.0 - beta;
    let trunc = (RATE_BITS as u32 + 1).max((f64::from(RATE_BITS) - part.log2()).ceil() as u32);
    ((part * f64::from(trunc).exp2()).round() as i64, trunc)
}

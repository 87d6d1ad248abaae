//! Batch normalisation at inference, with everything secret: one inverse square root for each
//! channel, and one product for each element (Falcon, Algorithm 7, section 3.7;
//! docs/spec/functions.md, section 8).

use super::normal::Arguments;
use super::{Format, Function, InverseSqrt, ROUNDING, Span, exp2, fixed};
use crate::Error;
use crate::machine::{Erased, Handle, Machine, Operand};

/// The layout of the elements: `batch` items of `channels` planes of `plane` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channels {
    /// Items of a batch.
    pub batch: usize,
    /// Channels of an item.
    pub channels: usize,
    /// Elements of a channel.
    pub plane: usize,
}

impl Channels {
    fn len(&self) -> usize {
        self.batch * self.channels * self.plane
    }

    /// One value for each channel spread over the elements. Local.
    fn spread(&self, machine: &mut Erased, x: &Handle) -> Handle {
        let channel = |i: usize| (i / self.plane % self.channels) as u32;
        machine.gather_by(x, self.len(), || (0..self.len()).map(channel).collect())
    }
}

/// What a normalisation has learnt of each channel.
#[derive(Clone)]
pub struct Statistics {
    /// The mean of each channel.
    pub mean: Handle,
    /// The variance of each channel.
    pub variance: Handle,
    /// The factor of each channel.
    pub gamma: Handle,
    /// The summand of each channel.
    pub beta: Handle,
}

/// `(x - mean) / sqrt(variance + eps) * gamma + beta`.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    format: Format,
    epsilon: i64,
    /// Fraction bits of variances with epsilon.
    scale: u32,
    rsqrt: InverseSqrt,
    /// Fraction bits of `gamma / sqrt(variance + eps)`.
    places: u32,
}

impl BatchNorm {
    /// For `variance + eps` in `span`, where it has all the fraction bits that its largest value leaves,
    /// so that a small epsilon counts for what it is, and results of a magnitude below `2^bound` before `beta` is
    /// added; so must `gamma / sqrt(variance + eps)` be.
    ///
    /// Each channel's factor has `p = min(bits - 3 - f - bound, F)` fraction bits, `F` being those
    /// inside [`InverseSqrt`]; fewer than `f` are refused.
    pub fn new(format: Format, epsilon: f64, span: Span, bound: u32) -> Result<Self, Error> {
        let left = format.room().saturating_sub(format.fraction + bound);
        let places = left.min(format.room() / 2);
        if places < format.fraction {
            return Err(Error::Invalid(format!(
                "normalised values up to 2^{bound} leave each channel's factor {left} fraction bits over {} bits, fewer than the {} of the numbers",
                format.bits, format.fraction
            )));
        }
        let fraction = format.fraction as i32;
        // A variance is widened by a factor of 64 bits.
        let scale = (format.room() as i32 - span.high).clamp(fraction, fraction + 62) as u32;
        let arguments = Arguments {
            fraction: scale,
            ..Arguments::new(format, span)
        };
        Ok(BatchNorm {
            format,
            epsilon: fixed(epsilon, scale),
            scale,
            rsqrt: InverseSqrt::of(arguments, places)?,
            places,
        })
    }

    /// Normalises `x`, laid out as `shape` says.
    pub fn apply(
        &self,
        machine: &mut Erased,
        x: &Handle,
        shape: Channels,
        of: &Statistics,
    ) -> Result<Handle, Error> {
        let epsilon = machine.constant_by(shape.channels, || vec![self.epsilon; shape.channels]);
        let variance = machine.scale(&of.variance, 1 << (self.scale - self.format.fraction));
        let variance = machine.add(&variance, &epsilon);
        let inverse = self.rsqrt.apply(machine, &variance)?;
        let gamma = Operand::Secret(of.gamma.clone());
        let factor = machine.mul(&inverse, &gamma, self.format.fraction)?;
        let [mean, factor, beta] =
            [&of.mean, &factor, &of.beta].map(|value| shape.spread(machine, value));
        let centred = machine.sub(x, &mean);
        let normalised = machine.mul(&centred, &Operand::Secret(factor), self.places)?;
        Ok(machine.add(&normalised, &beta))
    }

    /// The largest error of a result, in units of `2^-f`, for `centred = x - mean`.
    pub fn tolerance(&self, centred: f64, gamma: f64, variance: f64) -> f64 {
        let inverse = 1.0 / (variance + self.epsilon as f64 * exp2(-(self.scale as i32))).sqrt();
        let factor = ROUNDING + gamma.abs() * self.rsqrt.tolerance(inverse);
        let places = self.format.fraction as i32 - self.places as i32;
        ROUNDING + centred.abs() * factor * exp2(places)
    }
}

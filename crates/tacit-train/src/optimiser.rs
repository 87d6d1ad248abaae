//! How gradients change parameters.

use tacit_protocols::machine::{Erased, Handle};

use crate::adam::Moved;
use crate::{Adam, Error, FixedPoint, Sgd};

/// An optimiser with its settings.
#[derive(Clone, Copy, Debug)]
pub enum Optimiser<'a> {
    /// Stochastic gradient descent.
    Sgd(&'a Sgd),
    /// Adam.
    Adam(&'a Adam),
}

impl<'a> From<&'a Sgd> for Optimiser<'a> {
    fn from(sgd: &'a Sgd) -> Self {
        Optimiser::Sgd(sgd)
    }
}

impl<'a> From<&'a Adam> for Optimiser<'a> {
    fn from(adam: &'a Adam) -> Self {
        Optimiser::Adam(adam)
    }
}

impl Optimiser<'_> {
    /// Whether the optimiser follows the squares of gradients.
    pub fn has_squares(&self) -> bool {
        matches!(self, Optimiser::Adam(_))
    }

    /// Refuses settings outside their ranges, or that do not fit the numbers.
    pub fn check(&self, fixed: FixedPoint, epochs: usize, batch: usize) -> Result<(), Error> {
        match self {
            Optimiser::Sgd(sgd) => {
                sgd.check()?;
                sgd.check_fixed(fixed, epochs, batch)
            }
            Optimiser::Adam(adam) => {
                adam.check()?;
                adam.check_fixed(fixed, epochs, batch)
            }
        }
    }

    /// The rate of an epoch that is really used in a mini-batch of `sizes[0]` items, where a whole one has `sizes[1]`: of
    /// SGD over the number of items that its sums are over.
    pub fn rate(&self, fixed: FixedPoint, epoch: usize, sizes: [usize; 2]) -> f64 {
        match self {
            Optimiser::Sgd(sgd) => sgd.step_rate(fixed, epoch, sgd.counted(sizes)).value(),
            Optimiser::Adam(adam) => adam.rate(epoch),
        }
    }

    /// Step `t`, from 1, of a parameter from the sum `g` of its gradients over `sizes[0]` items; a whole batch has
    /// `sizes[1]`.
    pub(crate) fn update(
        &self,
        machine: &mut Erased,
        fixed: FixedPoint,
        (weight, velocity, square): (&mut Handle, &mut Handle, Option<&mut Handle>),
        g: &Handle,
        (epoch, sizes, t): (usize, [usize; 2], usize),
    ) -> Result<(), Error> {
        match (self, square) {
            (Optimiser::Sgd(sgd), _) => {
                sgd.update(machine, fixed, (weight, velocity), g, (epoch, sizes))
            }
            (Optimiser::Adam(adam), Some(square)) => {
                let moved = Moved {
                    weight,
                    mean: velocity,
                    square,
                };
                adam.update(machine, fixed, moved, g, (adam.rate(epoch), sizes[0], t))
            }
            (Optimiser::Adam(_), None) => {
                let why = "the state has no means of squares";
                Err(Error::setting("adam", why))
            }
        }
    }
}

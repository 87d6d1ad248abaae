//! What a training makes small, and its gradient with respect to the network's outputs.

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::{KeyBits, Machine, Operand};
use tacit_protocols::math::{Elementary, Kind, Span};

use crate::layers::{row_sums, spread};
use crate::{Error, Fixed};

/// A loss; of a batch it is the mean over the items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// `-log softmax(z)` of the right class. The gradient is `softmax(z) - y` with the softmax
    /// itself, exp and the quotient of `math/` within a few units of `2^-f`; Falcon's paper takes
    /// `relu(z) / sum relu(z)` for it.
    #[default]
    CrossEntropy,
    /// Half the sum of `(z - y)^2`, whose gradient is `z - y`.
    MeanSquaredError,
}

impl Loss {
    /// The gradient of every item's loss; `target` is one-hot, or the values.
    pub(crate) fn gradient<M: Machine>(
        self,
        machine: &mut M,
        fixed: Fixed,
        z: &M::Share,
        target: &M::Share,
        [batch, classes]: [usize; 2],
    ) -> Result<M::Share, Error> {
        let y = match self {
            Loss::CrossEntropy => softmax(machine, fixed, z, [batch, classes])?,
            Loss::MeanSquaredError => z.clone(),
        };
        Ok(machine.sub(&y, target))
    }
}

/// `exp(z - max z)` over its sum, for every item. A maximum of `classes`, an exponential of every
/// element, a reciprocal of every item and a product of every element.
fn softmax<M: Machine>(
    machine: &mut M,
    fixed: Fixed,
    z: &M::Share,
    [batch, classes]: [usize; 2],
) -> Result<M::Share, Error> {
    let format = fixed.format()?;
    let largest = maxima(machine, z, [batch, classes])?;
    let wide = spread(machine, &largest, [1, batch, classes]);
    let shifted = machine.sub(z, &wide);
    let exp = Elementary::new(format, Kind::Exp { high: 0 });
    let e = machine.function(&exp, &shifted)?;
    let columns = machine.gather(&e, &by_class(batch, classes));
    let sum = row_sums(machine, &columns, classes, batch);
    // At least one exponential is 1, up to its error.
    let span = Span {
        low: -1,
        high: classes.ilog2() as i32 + 1,
    };
    let reciprocal = Elementary::new(format, Kind::Reciprocal { span });
    let inverse = machine.function(&reciprocal, &sum)?;
    let inverse = Operand::Secret(spread(machine, &inverse, [1, batch, classes]));
    Ok(machine.mul(&e, &inverse, fixed.fraction)?)
}

/// The largest output of every item.
fn maxima<M: Machine>(
    machine: &mut M,
    z: &M::Share,
    [batch, classes]: [usize; 2],
) -> Result<M::Share, Error> {
    let columns = machine.gather(z, &by_class(batch, classes));
    Ok(machine.maxpool(&columns, batch, classes, KeyBits::ALL)?)
}

/// Class `j` of item `i` at place `j batch + i`.
fn by_class(batch: usize, classes: usize) -> Vec<u32> {
    let items = |j: usize| (0..batch).map(move |i| (i * classes + j) as u32);
    (0..classes).flat_map(items).collect()
}

/// How many items have their largest output at the right class, for one-hot targets: a maximum, a
/// product and a comparison. Of equal outputs any counts.
pub(crate) fn hits<M: Machine>(
    machine: &mut M,
    z: &M::Share,
    target: &M::Share,
    fixed: Fixed,
    [batch, classes]: [usize; 2],
) -> Result<M::Share, Error> {
    let largest = maxima(machine, z, [batch, classes])?;
    let right = machine.mul(z, &Operand::Secret(target.clone()), fixed.fraction)?;
    let columns = machine.gather(&right, &by_class(batch, classes));
    let right = row_sums(machine, &columns, classes, batch);
    // Each of the products may be a few units above or below; so may not be what is the largest.
    let slack = machine.constant(&vec![4 * classes as i64; batch]);
    let difference = machine.sub(&right, &largest);
    let difference = machine.add(&difference, &slack);
    let hit = machine.drelu(&difference, KeyBits::ALL)?;
    let [zero, one] = [0, 1].map(|v| machine.constant(&vec![v; batch]));
    let hit = machine.select(&hit, &zero, &one)?;
    Ok(row_sums(machine, &hit, batch, 1))
}

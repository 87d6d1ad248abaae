//! The loss that a training minimises, and its gradient with respect to the network's outputs.

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::{
    BatchMatMul, Bilinear, Erased, Handle, KeyBits, Machine, MatMul, Operand,
};
use tacit_protocols::math::{Elementary, Function, FunctionKind, Logarithm, Span};

use crate::layers::{row_sums, spread};
use crate::{Error, FixedPoint};

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
    /// How many sums [`crate::Training::evaluate`] gives, that of the items' losses and that of those classified right.
    pub fn score_count(self) -> usize {
        match self {
            Loss::CrossEntropy => 2,
            Loss::MeanSquaredError => 1,
        }
    }

    /// The gradient of every item's loss; `target` is one-hot, or the values.
    pub(crate) fn gradient(
        self,
        machine: &mut Erased,
        fixed: FixedPoint,
        z: &Handle,
        target: &Handle,
        [batch, classes]: [usize; 2],
    ) -> Result<Handle, Error> {
        let y = match self {
            Loss::CrossEntropy => softmax(machine, fixed, z, [batch, classes])?,
            Loss::MeanSquaredError => z.clone(),
        };
        Ok(machine.sub(&y, target))
    }

    /// Sums over the items of a batch that say how good outputs are, as [`Scores`] reads them.
    pub(crate) fn scores(
        self,
        machine: &mut Erased,
        fixed: FixedPoint,
        z: &Handle,
        target: &Handle,
        [batch, classes]: [usize; 2],
    ) -> Result<Handle, Error> {
        let sizes = [batch, classes];
        match self {
            Loss::CrossEntropy => {
                let exp = exponentials(machine, fixed, z, sizes)?;
                let right = products_by_item(machine, fixed, [z, target], sizes)?;
                let hits = hits(machine, &exp.largest, &right, batch)?;
                let format = fixed.format()?;
                let log = Logarithm::new(format, exp.span.high)?.apply(machine, &exp.sum)?;
                let total = machine.add(&exp.largest, &log);
                let losses = machine.sub(&total, &right);
                let losses = row_sums(machine, &losses, batch, 1);
                let losses = machine.truncate(&losses, Scores::DROPPED)?;
                Ok(machine.concat(&[&losses, &hits]))
            }
            Loss::MeanSquaredError => {
                let error = machine.sub(z, target);
                let again = Operand::Secret(error.clone());
                let squares = machine.mul(&error, &again, fixed.fraction)?;
                let sum = row_sums(machine, &squares, batch * classes, 1);
                Ok(machine.truncate(&sum, Scores::DROPPED)?)
            }
        }
    }
}

/// How good a network is on some items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The sum of the items' losses; of squared errors without the half.
    pub loss: f64,
    /// How many are classified right, for cross-entropy.
    pub hits: Option<i64>,
}

impl Scores {
    /// Bits that a sum loses, so that it stays in the ring.
    const DROPPED: u32 = 8;

    /// Reads what [`crate::Training::evaluate`] made of all batches together.
    pub fn of(opened: &[i64], fixed: FixedPoint) -> Self {
        let sum = opened.first().copied().unwrap_or_default();
        Scores {
            loss: sum as f64 * f64::from(Self::DROPPED).exp2() / fixed.one(),
            hits: opened.get(1).copied(),
        }
    }
}

/// `exp(z - max z)` of every output, and of every item the maximum and the sum.
struct Exponentials {
    largest: Handle,
    exp: Handle,
    sum: Handle,
    /// Where the sums lie: at least one exponential is 1, up to its error.
    span: Span,
}

/// A maximum of `classes` and an exponential of every element.
fn exponentials(
    machine: &mut Erased,
    fixed: FixedPoint,
    z: &Handle,
    [batch, classes]: [usize; 2],
) -> Result<Exponentials, Error> {
    let largest = maxima(machine, z, [batch, classes])?;
    let wide = spread(machine, &largest, [1, batch, classes]);
    let shifted = machine.sub(z, &wide);
    let exp = Elementary::new(fixed.format()?, FunctionKind::Exp { high: 0 }).bounded();
    let exp = machine.function(&exp, &shifted)?;
    let columns = machine.gather(&exp, &by_class(batch, classes));
    let sum = row_sums(machine, &columns, classes, batch);
    let high = classes.ilog2() as i32 + 1;
    Ok(Exponentials {
        largest,
        exp,
        sum,
        span: Span { low: -1, high },
    })
}

/// `exp(z - max z)` over its sum, for every item: a reciprocal of every item and a product of every
/// element beside the exponentials.
fn softmax(
    machine: &mut Erased,
    fixed: FixedPoint,
    z: &Handle,
    [batch, classes]: [usize; 2],
) -> Result<Handle, Error> {
    let Exponentials { exp, sum, span, .. } = exponentials(machine, fixed, z, [batch, classes])?;
    let reciprocal = Elementary::new(fixed.format()?, FunctionKind::Reciprocal { span });
    let inverse = machine.function(&reciprocal, &sum)?;
    let inverse = Operand::Secret(spread(machine, &inverse, [1, batch, classes]));
    Ok(machine.mul(&exp, &inverse, fixed.fraction)?)
}

/// The largest output of every item.
fn maxima(machine: &mut Erased, z: &Handle, [batch, classes]: [usize; 2]) -> Result<Handle, Error> {
    let columns = machine.gather(z, &by_class(batch, classes));
    Ok(machine.maxpool(&columns, batch, classes, KeyBits::ALL)?)
}

/// Class `j` of item `i` at place `j batch + i`.
fn by_class(batch: usize, classes: usize) -> Vec<u32> {
    let items = |j: usize| (0..batch).map(move |i| (i * classes + j) as u32);
    (0..classes).flat_map(items).collect()
}

/// The sum, for every item, of its products over the classes: truncated once.
fn products_by_item(
    machine: &mut Erased,
    fixed: FixedPoint,
    [z, target]: [&Handle; 2],
    [batch, classes]: [usize; 2],
) -> Result<Handle, Error> {
    let each = MatMul {
        m: 1,
        k: classes,
        n: 1,
    };
    let map = Bilinear::BatchMatMul(BatchMatMul { batch, each });
    let target = Operand::Secret(target.clone());
    Ok(machine.linear(z, &target, None, &map, fixed.fraction, None)?)
}

/// How many items have their `largest` output at the `right` class: a comparison. Of equal outputs
/// any counts.
fn hits(
    machine: &mut Erased,
    largest: &Handle,
    right: &Handle,
    batch: usize,
) -> Result<Handle, Error> {
    // A product with a single 1 may be a unit or two above or below; the largest is exact.
    let slack = machine.constant(&vec![2; batch]);
    let difference = machine.sub(right, largest);
    let difference = machine.add(&difference, &slack);
    let hit = machine.drelu(&difference, KeyBits::ALL)?;
    let [zero, one] = [0, 1].map(|v| machine.constant(&vec![v; batch]));
    let hit = machine.select(&hit, &zero, &one)?;
    Ok(row_sums(machine, &hit, batch, 1))
}

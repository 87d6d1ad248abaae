//! Batch normalisation with learnt `gamma` and `beta` (Falcon, Algorithm 7, section 3.7;
//! docs/spec/falcon.md, section 7).
//!
//! Differs from the paper: the variance's magnitude is not opened (`math::InverseSqrt`); the backward
//! pass needs `1 / sqrt(variance + eps)` and the normalised values only, so nothing is divided.
//! With `c = x - mean`, `s = 1 / sqrt(variance + eps)` and `n = c s`: `y = gamma n + beta`,
//! `dgamma = sum dy n`, `dbeta = sum dy`, `dx = gamma s (dy - dbeta / m - n dgamma / m)` for the `m`
//! elements of a channel.

use tacit_protocols::machine::{
    BatchMatMul, Bilinear, Erased, Handle, Machine, MatMul, Operand, PAD,
};
use tacit_protocols::math::{Elementary, FunctionKind, Span};

use super::{Gradients, Mode, Saved, channel_sums, mean_of, row_sums, spread};
use crate::{Error, FixedPoint, Layer};

/// Variances plus epsilon lie below this power of two.
const HIGH: i32 = 10;
/// The fewest elements whose squares are summed before a truncation, as a power of two. Where the ring has less room
/// beside [`HIGH`], variances must be below `2^(bits - 2 - 2 f)` over so many.
const LEAST_ROOM: u32 = 6;

/// The values that the backward pass needs.
pub(crate) struct Normal {
    /// The values after they were normalised.
    values: Handle,
    /// Each channel's `1 / sqrt(variance + eps)`.
    scale: Handle,
}

/// `y` of `batch` x `channels` x `plane`; the parameters are gamma, beta and the running mean and
/// variance, which a training pass moves.
///
/// Training: for every element a product for the variance, one for `n` and one for `y`; for every
/// channel an inverse square root and seven truncations, of a large mini-batch one more for each part of the
/// sum of squares ([`variances`]). Prediction: for every element one product.
pub(super) fn forward(
    machine: &mut Erased,
    fixed: FixedPoint,
    (x, batch): (&Handle, usize),
    parameters: &mut [Handle],
    layer: &Layer,
    mode: Mode,
) -> Result<(Handle, Saved), Error> {
    let f = fixed.fraction;
    let (shape, [epsilon, momentum]) = numbers(layer, batch)?;
    let (mean, variance) = match mode {
        Mode::Predict => (parameters[2].clone(), parameters[3].clone()),
        Mode::Train(..) => {
            let mean = means(machine, fixed, x, shape)?;
            let wide = spread(machine, &mean, shape);
            let centred = machine.sub(x, &wide);
            let variance = variances(machine, fixed, &centred, shape)?;
            // As PyTorch: the running variance is that of all items, of which the batch is a sample.
            let m = shape[0] * shape[2];
            let sample = m as f64 / (m - 1).max(1) as f64;
            let parts = [(&mean, momentum), (&variance, momentum * sample)];
            for (running, part) in parameters[2..].iter_mut().zip(parts) {
                *running = followed(machine, fixed, (running, momentum), part)?;
            }
            (mean, variance)
        }
    };
    let units = fixed.encode(epsilon).max(1);
    let low = units.ilog2() as i32 - f as i32;
    let units = machine.constant(&vec![units; shape[1]]);
    let shifted = machine.add(&variance, &units);
    let span = Span { low, high: HIGH };
    let kind = FunctionKind::InverseSqrt { span };
    let scale = machine.function(&Elementary::new(fixed.format()?, kind), &shifted)?;
    let wide = spread(machine, &mean, shape);
    let centred = machine.sub(x, &wide);
    let gamma = Operand::Secret(parameters[0].clone());
    let beta = spread(machine, &parameters[1], shape);
    if mode == Mode::Predict {
        let factor = machine.mul(&scale, &gamma, f)?;
        let factor = Operand::Secret(spread(machine, &factor, shape));
        let y = machine.mul(&centred, &factor, f)?;
        return Ok((machine.add(&y, &beta), Saved::Nothing));
    }
    let wide = Operand::Secret(spread(machine, &scale, shape));
    let values = machine.mul(&centred, &wide, f)?;
    let gamma = Operand::Secret(spread(machine, &parameters[0], shape));
    let y = machine.mul(&values, &gamma, f)?;
    let y = machine.add(&y, &beta);
    Ok((y, Saved::Normal(Normal { values, scale })))
}

/// `dx`, and the gradients of gamma and beta. For every element three products.
pub(super) fn backward(
    machine: &mut Erased,
    fixed: FixedPoint,
    (normal, dy): (Normal, &Handle),
    gamma: &Handle,
    (layer, batch): (&Layer, usize),
) -> Result<Gradients, Error> {
    let (shape, _) = numbers(layer, batch)?;
    let (f, m) = (fixed.fraction, shape[0] * shape[2]);
    let dgamma = channel_products(machine, [&normal.values, dy], shape, 1)?;
    let dbeta = channel_sums(machine, dy, shape);
    let along = machine.truncate(&dgamma, f)?;
    let [along, across] = [along, dbeta.clone()].map(|sum| (sum, m));
    let along = mean_of(machine, fixed, along)?;
    let across = mean_of(machine, fixed, across)?;
    let along = Operand::Secret(spread(machine, &along, shape));
    let projected = machine.mul(&normal.values, &along, f)?;
    let across = spread(machine, &across, shape);
    let rest = machine.sub(dy, &across);
    let rest = machine.sub(&rest, &projected);
    let factor = machine.mul(gamma, &Operand::Secret(normal.scale), f)?;
    let factor = Operand::Secret(spread(machine, &factor, shape));
    let dx = machine.mul(&rest, &factor, f)?;
    let dbeta = machine.scale(&dbeta, 1 << f);
    Ok((Some(dx), vec![dgamma, dbeta]))
}

/// The mean of every channel.
fn means(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    shape: [usize; 3],
) -> Result<Handle, Error> {
    let sum = channel_sums(machine, x, shape);
    mean_of(machine, fixed, (sum, shape[0] * shape[2]))
}

/// The mean of the squares of centred values. Sums of them have `2 f` fraction bits, which leaves room for those of some
/// thousand: of more elements there are several, each truncated by itself. What is asked of the variance is asked of the
/// mean square of each.
fn variances(
    machine: &mut Erased,
    fixed: FixedPoint,
    centred: &Handle,
    shape: [usize; 3],
) -> Result<Handle, Error> {
    let m = shape[0] * shape[2];
    let room = fixed
        .bits
        .saturating_sub(2 + 2 * fixed.fraction + HIGH as u32);
    let parts = m.div_ceil(1 << room.clamp(LEAST_ROOM, 31));
    let sums = channel_products(machine, [centred, centred], shape, parts)?;
    let sums = machine.truncate(&sums, fixed.fraction)?;
    let sum = row_sums(machine, &sums, parts, shape[1]);
    mean_of(machine, fixed, (sum, m))
}

/// For every part of the elements, and in it for every channel, the sum of products, with `2 f` fraction bits: a row
/// times a column for each, so that one element of each is sent. A part has one of every `parts` elements, so as much of a bright image as of others.
fn channel_products(
    machine: &mut Erased,
    factors: [&Handle; 2],
    [batch, channels, plane]: [usize; 3],
    parts: usize,
) -> Result<Handle, Error> {
    let m = batch * plane;
    let k = m.div_ceil(parts);
    let place = |c: usize, at: usize| match at < m {
        true => ((at / plane * channels + c) * plane + at % plane) as u32,
        false => PAD,
    };
    let row = |part: usize, c: usize| (0..k).map(move |t| place(c, t * parts + part));
    let rows = |part: usize| (0..channels).flat_map(move |c| row(part, c));
    let order: Vec<u32> = (0..parts).flat_map(rows).collect();
    let [x, y] = factors.map(|v| machine.gather(v, &order));
    let each = MatMul { m: 1, k, n: 1 };
    let shape = BatchMatMul {
        batch: parts * channels,
        each,
    };
    let map = Bilinear::BatchMatMul(shape);
    Ok(machine.linear(&x, &Operand::Secret(y), None, &map, 0, None)?)
}

/// A running statistic, of which so much is lost, and that of a batch, of which so much is gained. 1
/// truncation.
fn followed(
    machine: &mut Erased,
    fixed: FixedPoint,
    (running, lost): (&Handle, f64),
    (batch, gained): (&Handle, f64),
) -> Result<Handle, Error> {
    let gained = machine.scale(batch, fixed.encode(gained));
    let lost = machine.scale(running, fixed.encode(lost));
    let moved = machine.sub(&gained, &lost);
    let moved = machine.truncate(&moved, fixed.fraction)?;
    Ok(machine.add(running, &moved))
}

/// Items, channels and the elements of a channel; epsilon and momentum.
fn numbers(layer: &Layer, batch: usize) -> Result<([usize; 3], [f64; 2]), Error> {
    match *layer {
        Layer::BatchNorm {
            channels,
            plane,
            epsilon,
            momentum,
        } => Ok(([batch, channels, plane], [epsilon, momentum])),
        _ => Err(Error::network("batch normalisation", "it is another layer")),
    }
}

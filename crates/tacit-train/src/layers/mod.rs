//! The layers' passes. Each file has a `forward`, which keeps what its `backward` needs; gradients of
//! parameters are sums over the batch, with `2 f` fraction bits.

mod batch_norm;
mod conv;
mod dropout;
mod linear;
mod pool;
mod relu;
mod smooth;
mod sums;

use tacit_protocols::machine::{Erased, Handle, Machine, Operand};

use crate::{Error, FixedPoint, Layer};

pub use dropout::Coin;
pub(crate) use dropout::kept;
pub(crate) use sums::{channel_sums, mean_of, row_sums, spread};

/// What a forward pass keeps for the backward pass.
pub(crate) enum Saved {
    /// The layer's input.
    Input(Handle),
    /// The value that the slope of a function is computed from.
    One(Handle),
    /// Both inputs of the layer.
    Two(Handle, Handle),
    /// The signs of its input.
    Signs(Handle),
    /// The places of the elements that were not dropped.
    Kept(Vec<u32>),
    /// The comparisons of a maximum's tree, level by level: 1 where the first of two was at least as
    /// large.
    Tree(Vec<Handle>),
    /// The values that a normalisation's backward pass needs.
    Normal(batch_norm::Normal),
    /// Nothing is kept.
    Nothing,
}

/// The gradient of a layer's input, if it is wanted, and those of its learnt parameters.
pub(crate) type Gradients = (Option<Handle>, Vec<Handle>);

/// The gradients of all inputs of a layer, none if they are not wanted, and of its learnt parameters.
pub(crate) type All = (Vec<Handle>, Vec<Handle>);

/// How a forward pass is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A pass for a backward pass: normalisations use the batch's own statistics and follow them, and elements are
    /// dropped by this coin, in the step after so many.
    Train(Coin, usize),
    /// A pass for a prediction: normalisations use the statistics that they followed, and nothing is dropped.
    Predict,
}

/// The pass of a layer, by its number, over `batch` items of its inputs `xs` with its parameters; those
/// that it follows are replaced.
pub(crate) fn forward(
    machine: &mut Erased,
    layer: &Layer,
    fixed: FixedPoint,
    (xs, batch): (Vec<Handle>, usize),
    parameters: &mut [Handle],
    (mode, number): (Mode, usize),
) -> Result<(Handle, Saved), Error> {
    let mut xs = xs.into_iter();
    let (Some(x), other) = (xs.next(), xs.next()) else {
        return Err(Error::network("forward pass", "a layer reads nothing"));
    };
    Ok(match (layer, other) {
        (
            Layer::Linear {
                inputs, outputs, ..
            },
            _,
        ) => {
            let shape = [batch, *inputs, *outputs];
            let y = linear::forward(machine, fixed, &x, parameters, shape)?;
            (y, Saved::Input(x))
        }
        (Layer::Conv { geometry, .. }, _) => {
            let y = conv::forward(machine, fixed, &x, parameters, geometry, batch)?;
            (y, Saved::Input(x))
        }
        (Layer::Relu { .. }, _) => relu::forward(machine, &x, mode)?,
        (Layer::LeakyRelu { slope, .. }, _) => smooth::leaky(machine, fixed, &x, *slope, mode)?,
        (Layer::Smooth { function, .. }, _) => smooth::forward(machine, fixed, *function, x)?,
        (Layer::Scale { factor, shift, .. }, _) => {
            let y = smooth::scaled(machine, fixed, &x, (*factor, *shift))?;
            (y, Saved::Nothing)
        }
        (Layer::Add { .. }, Some(other)) => (machine.add(&x, &other), Saved::Nothing),
        (Layer::Mul { .. }, Some(other)) => {
            let factor = Operand::Secret(other.clone());
            let y = machine.mul(&x, &factor, fixed.fraction)?;
            (y, Saved::Two(x, other))
        }
        (Layer::MaxPool(pool), _) => pool::max_forward(machine, &x, pool, batch, mode)?,
        (Layer::AvgPool(pool), _) => {
            let y = pool::mean_forward(machine, fixed, &x, pool, batch)?;
            (y, Saved::Nothing)
        }
        (Layer::BatchNorm { .. }, _) => {
            batch_norm::forward(machine, fixed, (&x, batch), parameters, layer, mode)?
        }
        (Layer::Dropout { p, .. }, _) => match mode {
            Mode::Predict => (x, Saved::Nothing),
            Mode::Train(coin, step) => {
                let kept = kept(&coin, [step, number], machine.len(&x), *p);
                let y = dropout::apply(machine, fixed, &x, &kept, *p)?;
                (y, Saved::Kept(kept))
            }
        },
        (Layer::Add { .. } | Layer::Mul { .. }, None) => {
            return Err(Error::network(
                "forward pass",
                "a layer reads one value of two",
            ));
        }
    })
}

/// The gradients of a layer's inputs, unless nobody `wants` them, and of its learnt parameters in their
/// order, from the gradient of its output.
pub(crate) fn backward(
    machine: &mut Erased,
    layer: &Layer,
    fixed: FixedPoint,
    (saved, dy, batch): (Saved, Handle, usize),
    parameters: &[Handle],
    wants: bool,
) -> Result<All, Error> {
    let one = |made: Gradients| (made.0.into_iter().collect(), made.1);
    let input = |dx: Handle| (vec![dx], Vec::new());
    match (layer, saved) {
        (
            Layer::Linear {
                inputs,
                outputs,
                bias,
            },
            Saved::Input(x),
        ) => {
            let shape = [batch, *inputs, *outputs];
            let w = wants.then_some(&parameters[0]);
            linear::backward(machine, fixed, (&x, &dy), w, shape, *bias).map(one)
        }
        (Layer::Conv { geometry, bias }, Saved::Input(x)) => {
            let w = wants.then_some(&parameters[0]);
            conv::backward(machine, fixed, (&x, &dy), w, geometry, batch, *bias).map(one)
        }
        (Layer::BatchNorm { .. }, Saved::Normal(normal)) => {
            let gamma = &parameters[0];
            batch_norm::backward(machine, fixed, (normal, &dy), gamma, (layer, batch)).map(one)
        }
        _ if !wants => Ok((Vec::new(), Vec::new())),
        (Layer::Relu { .. }, Saved::Signs(signs)) => {
            relu::backward(machine, &signs, &dy).map(input)
        }
        (Layer::LeakyRelu { slope, .. }, Saved::Signs(signs)) => {
            smooth::leaky_by(machine, fixed, &signs, &dy, *slope).map(input)
        }
        (Layer::Smooth { function, .. }, Saved::One(kept)) => {
            smooth::backward(machine, fixed, *function, (&kept, &dy)).map(input)
        }
        (Layer::Scale { factor, .. }, Saved::Nothing) => {
            smooth::scaled(machine, fixed, &dy, (*factor, 0.0)).map(input)
        }
        (Layer::Dropout { p, .. }, Saved::Kept(kept)) => {
            dropout::apply(machine, fixed, &dy, &kept, *p).map(input)
        }
        (Layer::Add { .. }, Saved::Nothing) => Ok((vec![dy.clone(), dy], Vec::new())),
        (Layer::Mul { .. }, Saved::Two(x, y)) => {
            let [dx, dy] = [y, x].map(|v| machine.mul(&dy, &Operand::Secret(v), fixed.fraction));
            Ok((vec![dx?, dy?], Vec::new()))
        }
        (Layer::MaxPool(pool), Saved::Tree(tree)) => {
            pool::max_backward(machine, &tree, &dy, pool, batch).map(input)
        }
        (Layer::AvgPool(pool), Saved::Nothing) => {
            pool::mean_backward(machine, fixed, &dy, pool, batch).map(input)
        }
        _ => Err(Error::network(
            "backward pass",
            "the forward pass was a prediction and kept nothing",
        )),
    }
}

//! The layers' passes. Each file has a `forward`, which keeps what its `backward` needs; gradients of
//! parameters are sums over the batch, with `2 f` fraction bits.

mod batch_norm;
mod conv;
mod linear;
mod pool;
mod relu;
mod sums;

use tacit_protocols::machine::Machine;

use crate::{Error, Fixed, Layer};

pub(crate) use batch_norm::constants;
pub(crate) use sums::{channel_sums, row_sums, spread};

/// What a forward pass keeps for the backward pass.
pub(crate) enum Saved<M: Machine> {
    /// The layer's input.
    Input(M::Share),
    /// The signs of its input.
    Signs(M::Bits),
    /// Who was larger, level by level.
    Tree(Vec<M::Bits>),
    /// Of a normalisation.
    Normal(batch_norm::Normal<M::Share>),
    /// Nothing.
    Nothing,
}

/// The gradient of a layer's input, if it is wanted, and those of its learnt parameters.
pub(crate) type Gradients<S> = (Option<S>, Vec<S>);

/// How a forward pass is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For a backward pass; normalisations use the batch's own statistics and follow them.
    Train,
    /// A prediction.
    Predict,
}

/// The pass of a layer over `batch` items with its parameters; those that it follows are replaced.
pub(crate) fn forward<M: Machine>(
    machine: &mut M,
    layer: &Layer,
    fixed: Fixed,
    (x, batch): (M::Share, usize),
    parameters: &mut [M::Share],
    mode: Mode,
) -> Result<(M::Share, Saved<M>), Error> {
    Ok(match layer {
        Layer::Linear {
            inputs, outputs, ..
        } => {
            let shape = [batch, *inputs, *outputs];
            let y = linear::forward(machine, fixed, &x, parameters, shape)?;
            (y, Saved::Input(x))
        }
        Layer::Conv { geometry, .. } => {
            let y = conv::forward(machine, fixed, &x, parameters, geometry, batch)?;
            (y, Saved::Input(x))
        }
        Layer::Relu { .. } => relu::forward(machine, &x, mode)?,
        Layer::MaxPool(pool) => pool::max_forward(machine, &x, pool, batch, mode)?,
        Layer::AvgPool(pool) => {
            let y = pool::mean_forward(machine, fixed, &x, pool, batch)?;
            (y, Saved::Nothing)
        }
        Layer::BatchNorm { channels, plane } => {
            let shape = [batch, *channels, *plane];
            batch_norm::forward(machine, fixed, &x, parameters, shape, mode)?
        }
    })
}

/// From the gradient of a layer's output that of its input, unless nobody `wants` it, and those of
/// its learnt parameters, in their order.
pub(crate) fn backward<M: Machine>(
    machine: &mut M,
    layer: &Layer,
    fixed: Fixed,
    (saved, dy, batch): (Saved<M>, M::Share, usize),
    parameters: &[M::Share],
    wants: bool,
) -> Result<Gradients<M::Share>, Error> {
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
            linear::backward(machine, fixed, (&x, &dy), w, shape, *bias)
        }
        (Layer::Conv { geometry, bias }, Saved::Input(x)) => {
            let w = wants.then_some(&parameters[0]);
            conv::backward(machine, fixed, (&x, &dy), w, geometry, batch, *bias)
        }
        (Layer::Relu { .. }, Saved::Signs(signs)) => {
            let dx = relu::backward(machine, &signs, &dy)?;
            Ok((Some(dx), Vec::new()))
        }
        (Layer::MaxPool(pool), Saved::Tree(tree)) => {
            let dx = pool::max_backward(machine, &tree, &dy, pool, batch)?;
            Ok((Some(dx), Vec::new()))
        }
        (Layer::AvgPool(pool), Saved::Nothing) => {
            let dx = pool::mean_backward(machine, fixed, &dy, pool, batch)?;
            Ok((Some(dx), Vec::new()))
        }
        (Layer::BatchNorm { channels, plane }, Saved::Normal(normal)) => {
            let shape = [batch, *channels, *plane];
            let gamma = &parameters[0];
            batch_norm::backward(machine, fixed, (normal, &dy), gamma, shape)
        }
        _ => Err(Error::network(
            "backward pass",
            "the forward pass was a prediction and kept nothing",
        )),
    }
}

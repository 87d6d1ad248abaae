//! `y = x w + b` and its gradients `dx = dy w^T`, `dw = x^T dy`, `db = sum dy`.

use tacit_protocols::machine::{Erased, Handle, Machine, MatMul, Operand};

use super::Gradients;
use super::sums::{row_sums, transposed};
use crate::{Error, FixedPoint};

/// `(x w + b) >> f` of `batch` x `inputs` items and weights of `inputs` x `outputs`.
pub(super) fn forward(
    machine: &mut Erased,
    fixed: FixedPoint,
    x: &Handle,
    parameters: &[Handle],
    [m, k, n]: [usize; 3],
) -> Result<Handle, Error> {
    let (w, bias) = operands(machine, fixed, parameters);
    let shape = MatMul { m, k, n };
    Ok(machine.matmul(x, &w, bias.as_ref(), shape, fixed.fraction)?)
}

/// Weights, and a bias at the scale of a product.
pub(super) fn operands(
    machine: &mut Erased,
    fixed: FixedPoint,
    parameters: &[Handle],
) -> (Operand<Handle>, Option<Operand<Handle>>) {
    let bias = parameters
        .get(1)
        .map(|b| machine.scale(b, 1 << fixed.fraction));
    (
        Operand::Secret(parameters[0].clone()),
        bias.map(Operand::Secret),
    )
}

/// The gradients; that of the input where there is a `w` for it.
pub(super) fn backward(
    machine: &mut Erased,
    fixed: FixedPoint,
    (x, dy): (&Handle, &Handle),
    w: Option<&Handle>,
    [m, k, n]: [usize; 3],
    bias: bool,
) -> Result<Gradients, Error> {
    let mut dx = None;
    if let Some(w) = w {
        let w = Operand::Secret(machine.gather(w, &transposed(k, n)));
        let shape = MatMul { m, k: n, n: k };
        dx = Some(machine.matmul(dy, &w, None, shape, fixed.fraction)?);
    }
    let columns = machine.gather(x, &transposed(m, k));
    let shape = MatMul { m: k, k: m, n };
    let mut gradients =
        vec![machine.matmul(&columns, &Operand::Secret(dy.clone()), None, shape, 0)?];
    if bias {
        let sum = row_sums(machine, dy, m, n);
        gradients.push(machine.scale(&sum, 1 << fixed.fraction));
    }
    Ok((dx, gradients))
}

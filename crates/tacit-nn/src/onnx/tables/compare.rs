//! Comparisons of values with weights, as the numbers 0 and 1.
//!
//! A value and its threshold are rounded alike, so that of equal ones the answer is right.

use crate::graph::{Affine, FILL, Op, ValueId, Weights, len};
use crate::onnx::call::Fault;
use crate::onnx::compose::Composer;

/// 1 where an element of `x` is at least its threshold, less 0: their difference, of which the sign is taken.
pub(in crate::onnx) fn above(
    c: &mut Composer,
    x: ValueId,
    least: Weights,
) -> Result<ValueId, Fault> {
    let shift = least.iter().map(|t| -t).collect();
    c.each("above", shifts(shift), &[x])
}

/// The threshold of every element of `x` less the element.
pub(in crate::onnx) fn below(
    c: &mut Composer,
    x: ValueId,
    most: Weights,
) -> Result<ValueId, Fault> {
    let zeros = constant(c, "zeros", x, 0.0)?;
    let most = c.each("thresholds", shifts(most), &[zeros])?;
    c.each("below", Op::Sub, &[most, x])
}

/// A value that has one public number as often as `x` has elements.
pub(super) fn constant(
    c: &mut Composer,
    part: &str,
    x: ValueId,
    fill: f32,
) -> Result<ValueId, Fault> {
    let shape = c.builder.shape(x);
    let index = vec![FILL; len(&shape)];
    c.node(part, Op::Rearrange { index, fill }, &[x], shape)
}

/// `1 - x`.
pub(in crate::onnx) fn not(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let ones = constant(c, "ones", x, 1.0)?;
    c.each("not", Op::Sub, &[ones, x])
}

/// A term for every element, or, in turn, for the last of its axes.
pub(super) fn shifts(shift: Weights) -> Op {
    Op::Affine(Affine {
        inner: 1,
        scale: Weights::default(),
        shift,
    })
}

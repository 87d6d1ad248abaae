//! Operations that are made of several nodes.

use std::ops::Range;

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::constant::bounded_len;
use crate::graph::{Affine, Function, Linear, Op, ValueId, Weights, len};
use crate::index::{broadcast, is_whole};

/// Arguments of which nothing is known by construction.
pub(super) const ANY: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

/// Adds the nodes that one node of the file becomes, under its name and that of their part in it.
pub(super) struct Composer<'a> {
    pub builder: &'a mut Builder,
    /// The name of the file's node, and which step of it.
    pub name: String,
}

impl<'a> Composer<'a> {
    pub(super) fn new(call: &Call, builder: &'a mut Builder) -> Self {
        Composer {
            builder,
            name: call.name.clone(),
        }
    }

    pub(super) fn node(
        &mut self,
        part: &str,
        op: Op,
        inputs: &[ValueId],
        shape: Vec<usize>,
    ) -> Result<ValueId, Fault> {
        let name = format!("{}.{part}", self.name);
        self.builder.add(name, op, inputs.to_vec(), shape)
    }

    /// An operation whose output has the shape of its first input.
    pub(super) fn each(
        &mut self,
        part: &str,
        op: Op,
        inputs: &[ValueId],
    ) -> Result<ValueId, Fault> {
        let shape = self.builder.shape(inputs[0]);
        self.node(part, op, inputs, shape)
    }

    pub(super) fn function(
        &mut self,
        function: Function,
        x: ValueId,
        domain: (f32, f32),
    ) -> Result<ValueId, Fault> {
        let part = function.name().to_lowercase();
        self.each(&part, Op::Function { function, domain }, &[x])
    }

    /// `x * scale + shift`, the same for all elements.
    pub(super) fn affine(
        &mut self,
        part: &str,
        x: ValueId,
        scale: f32,
        shift: f32,
    ) -> Result<ValueId, Fault> {
        if (scale, shift) == (1.0, 0.0) {
            return Ok(x);
        }
        let given = |number: f32, neutral: f32| -> Weights {
            if number == neutral {
                vec![]
            } else {
                vec![number]
            }
            .into()
        };
        let op = Op::Affine(Affine {
            inner: self.builder.len(x),
            scale: given(scale, 1.0),
            shift: given(shift, 0.0),
        });
        self.each(part, op, &[x])
    }

    /// The elements of `range` of the flat item.
    pub(super) fn part(
        &mut self,
        part: &str,
        x: ValueId,
        range: Range<usize>,
    ) -> Result<ValueId, Fault> {
        if range == (0..self.builder.len(x)) {
            return Ok(x);
        }
        let index: Vec<u32> = range.map(|i| i as u32).collect();
        let shape = vec![index.len()];
        self.node(part, Op::Rearrange { index, fill: 0.0 }, &[x], shape)
    }

    /// Element `index(e)` of `x` for each element `e` of `shape`.
    pub(super) fn spread(
        &mut self,
        part: &str,
        x: ValueId,
        shape: Vec<usize>,
        index: impl Fn(usize) -> usize,
    ) -> Result<ValueId, Fault> {
        let index: Vec<u32> = (0..len(&shape)).map(|e| index(e) as u32).collect();
        self.node(part, Op::Rearrange { index, fill: 0.0 }, &[x], shape)
    }

    /// `x` by an index map, unless that leaves everything in its place.
    pub(super) fn moved(
        &mut self,
        part: &str,
        x: ValueId,
        index: Vec<u32>,
        shape: Vec<usize>,
    ) -> Result<ValueId, Fault> {
        if is_whole(&index, self.builder.len(x)) {
            return Ok(x);
        }
        self.node(part, Op::Rearrange { index, fill: 0.0 }, &[x], shape)
    }

    /// `x` repeated along axes of size 1 from one shape to another.
    pub(super) fn stretched(
        &mut self,
        x: ValueId,
        from: &[usize],
        to: &[usize],
    ) -> Result<ValueId, Fault> {
        if from == to {
            return Ok(x);
        }
        bounded_len(to)?;
        let index = broadcast(from, to).ok_or_else(|| {
            Fault::Bad(format!(
                "the item shape {from:?} cannot be stretched to {to:?}"
            ))
        })?;
        let op = Op::Rearrange { index, fill: 0.0 };
        self.node("stretched", op, &[x], to.to_vec())
    }

    /// The rows of `x` times weights of `k` x `n`.
    pub(super) fn linear(
        &mut self,
        part: &str,
        x: ValueId,
        [k, n]: [usize; 2],
        weight: Weights,
        bias: Weights,
    ) -> Result<ValueId, Fault> {
        let rows = self.builder.len(x) / k;
        let op = Op::Linear(Linear {
            rows,
            k,
            n,
            weight,
            bias,
        });
        let shape = if rows == 1 { vec![n] } else { vec![rows, n] };
        self.node(part, op, &[x], shape)
    }

    /// `1 / x`; of a square root, the inverse square root of what it is the root of, and of `1 + exp(y)` the
    /// logistic function of `-y`, which no exponential bounds.
    pub(super) fn reciprocal(&mut self, x: ValueId) -> Result<ValueId, Fault> {
        if let Some(&of) = self.builder.roots.get(&x) {
            return self.function(Function::InverseSqrt, of, ANY);
        }
        match self.exponent_beside_1(x) {
            Some(y) => {
                let mirrored = self.affine("mirrored", y, -1.0, 0.0)?;
                self.function(Function::Sigmoid, mirrored, ANY)
            }
            None => self.function(Function::Reciprocal, x, ANY),
        }
    }

    /// `y`, if `x` is `1 + exp(y)`.
    fn exponent_beside_1(&self, x: ValueId) -> Option<ValueId> {
        let node = |id: ValueId| id.checked_sub(1).map(|at| &self.builder.nodes[at]);
        let sum = node(x)?;
        let Op::Affine(affine) = &sum.op else {
            return None;
        };
        let ones = |v: &Weights| v.iter().all(|&v| v == 1.0);
        let adds_1 = ones(&affine.scale) && !affine.shift.is_empty() && ones(&affine.shift);
        let power = node(sum.inputs[0]).filter(|_| adds_1)?;
        match power.op {
            Op::Function {
                function: Function::Exp,
                ..
            } => Some(power.inputs[0]),
            _ => None,
        }
    }
}

/// The value of a node whose item shape is `shape`, with the batch first.
pub(super) fn value(id: ValueId, shape: Vec<usize>) -> Value {
    Value::Secret {
        id,
        shape,
        batch: 0,
    }
}

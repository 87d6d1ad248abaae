//! Sums of products of two tensors along axes that both have: MatMul and Einsum.
//!
//! Axes have labels. Those of both inputs and of the output count products side by side, those of one
//! input and of the output are rows or columns, and those of both inputs alone are summed over. So the
//! inputs, their axes in this order, are matrices side by side, and the output is their products, its axes
//! put in order. All of it is one operation whatever the number of axes.

use std::collections::HashSet;

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::compose::Composer;
use super::constant::bounded_len;
use crate::graph::{Conv, ConvGeometry, Linear, Matrices, Op, ValueId, Weights};
use crate::index::{arranged, is_whole};

/// Stands for an axis.
pub(super) type Label = u32;

/// What an input holds.
enum Held {
    Value(ValueId),
    Fixed(Weights),
}

/// An input with its axes, but for the batch's and those of size 1.
struct Side {
    held: Held,
    axes: Vec<Label>,
    shape: Vec<usize>,
}

/// The label of the batch axis that one item without a batch is given before all its axes.
const ONE: Label = Label::MAX;

/// Two inputs and the labels of their axes, and those of the output's.
#[derive(Clone)]
pub(super) struct Labels {
    pub inputs: [Vec<Label>; 2],
    pub output: Vec<Label>,
}

/// MatMul of which at least one factor is computed.
pub(super) fn matmul(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let [first, second] = [rank(call, 0)?, rank(call, 1)?];
    if first == 0 || second == 0 {
        return bad("one of its inputs has no axes");
    }
    // Axes before the last two are matched from the last one.
    let [row, inner, column]: [Label; 3] = [0, 1, 2];
    let before = |rank: usize| (0..rank.saturating_sub(2)).rev().map(|i| i as Label + 3);
    let left = match first {
        1 => vec![inner],
        _ => before(first).chain([row, inner]).collect(),
    };
    let right = match second {
        1 => vec![inner],
        _ => before(second).chain([inner, column]).collect(),
    };
    let output = before(first.max(second))
        .chain((first > 1).then_some(row))
        .chain((second > 1).then_some(column));
    let labels = Labels {
        output: output.collect(),
        inputs: [left, right],
    };
    contract(call, builder, &labels)
}

/// The axes of input `i` in the file.
pub(super) fn rank(call: &Call, i: usize) -> Result<usize, Fault> {
    match call.required(i)? {
        Value::Constant(constant) => Ok(constant.shape.len()),
        _ => Ok(call.secret_at(i)?.1.len() + usize::from(!call.whole)),
    }
}

/// The sum of products of two inputs that the labels say.
pub(super) fn contract(
    call: &Call,
    builder: &mut Builder,
    labels: &Labels,
) -> Result<Value, Fault> {
    let labels = &with_items(call, labels)?;
    let items = items(call, labels)?;
    let mut sizes = Sizes::default();
    let [left, right] = [
        side(call, labels, 0, items, &mut sizes)?,
        side(call, labels, 1, items, &mut sizes)?,
    ];
    let Some(batch) = labels.output.iter().position(|&label| label == items) else {
        return unsupported("it sums over the batch axis");
    };
    let mut output = labels.output.clone();
    output.remove(batch);
    let shape: Vec<usize> = output.iter().map(|&label| sizes.of(label)).collect();
    bounded_len(&shape)?;
    let wide: Vec<Label> = (output.iter().copied())
        .filter(|&label| sizes.of(label) != 1)
        .collect();
    // Of two factors the computed one goes first.
    let [first, second] = match left.held {
        Held::Fixed(_) => [right, left],
        Held::Value(_) => [left, right],
    };
    let product = Product::new(&first, &second, &wide, &sizes)?;
    let mut compose = Composer::new(call, builder);
    let id = product.lower(&mut compose, &first, &second, &wide, &shape)?;
    Ok(Value::Secret { id, shape, batch })
}

/// The labels with one of the batch axis; where the file has none, it stands first.
fn with_items(call: &Call, labels: &Labels) -> Result<Labels, Fault> {
    let mut labels = labels.clone();
    if call.whole {
        labels.output.insert(0, ONE);
        for (i, own) in labels.inputs.iter_mut().enumerate() {
            if !matches!(call.required(i)?, Value::Constant(_)) {
                own.insert(0, ONE);
            }
        }
    }
    Ok(labels)
}

/// The label of the batch axis.
fn items(call: &Call, labels: &Labels) -> Result<Label, Fault> {
    let of = |i: usize| match call.required(i)? {
        Value::Constant(_) => Ok(None),
        _ => Ok::<_, Fault>(Some(labels.inputs[i][call.secret_at(i)?.2])),
    };
    match [of(0)?, of(1)?] {
        [Some(a), Some(b)] if a != b => unsupported(
            "the batch axes of its inputs do not meet: it multiplies items of a batch with each other, which are predicted independently",
        ),
        [Some(label), _] | [None, Some(label)] => Ok(label),
        [None, None] => unsupported("both of its inputs are constants"),
    }
}

/// The sizes of labelled axes; those of size 1 are stretched.
#[derive(Default)]
struct Sizes(Vec<(Label, usize)>);

impl Sizes {
    fn of(&self, label: Label) -> usize {
        let known = self.0.iter().find(|(known, _)| *known == label);
        known.map_or(1, |&(_, size)| size)
    }

    fn note(&mut self, label: Label, size: usize) -> Result<(), Fault> {
        match self.of(label) {
            known if known == size || size == 1 => Ok(()),
            1 => {
                self.0.push((label, size));
                Ok(())
            }
            known => bad(format!(
                "its inputs have {known} and {size} elements along one axis"
            )),
        }
    }

    fn len(&self, labels: &[Label]) -> usize {
        labels.iter().map(|&label| self.of(label)).product()
    }
}

/// Reads input `i` of the product, with its axes that are longer than 1.
fn side(
    call: &Call,
    labels: &Labels,
    i: usize,
    items: Label,
    sizes: &mut Sizes,
) -> Result<Side, Fault> {
    let own = &labels.inputs[i];
    let mut seen = HashSet::new();
    if !own.iter().all(|label| seen.insert(label)) {
        return unsupported("it takes the diagonal of an input");
    }
    let (held, mut shape) = match call.required(i)? {
        Value::Constant(_) => {
            let (shape, weights) = call.weights(i)?;
            (Held::Fixed(weights), shape.to_vec())
        }
        _ => {
            let (id, shape, batch) = call.secret_at(i)?;
            let mut shape = shape.to_vec();
            shape.insert(batch, 1);
            (Held::Value(id), shape)
        }
    };
    let mut axes = own.clone();
    for (&label, &size) in axes.iter().zip(&shape) {
        if label == items && size != 1 {
            return unsupported(format!(
                "its constant has {size} different items along the batch axis"
            ));
        }
        sizes.note(label, size)?;
    }
    let wide: Vec<bool> = shape.iter().map(|&size| size != 1).collect();
    let (mut keep, mut kept) = (wide.iter(), wide.iter());
    axes.retain(|_| keep.next() == Some(&true));
    shape.retain(|_| kept.next() == Some(&true));
    Ok(Side { held, axes, shape })
}

impl Side {
    /// The map to the axes of these labels in their order.
    fn index(&self, labels: &[Label], sizes: &Sizes) -> Vec<u32> {
        let place = |label: &Label| self.axes.iter().position(|own| own == label);
        let order: Vec<Option<usize>> = labels.iter().map(place).collect();
        let out: Vec<usize> = labels.iter().map(|&label| sizes.of(label)).collect();
        arranged(&self.shape, &order, &out)
    }

    /// Whether its axes are these, in this order, and none is repeated.
    fn stands(&self, labels: &[Label], sizes: &Sizes) -> bool {
        let sizes = labels.iter().map(|&label| sizes.of(label));
        labels == self.axes && sizes.eq(self.shape.iter().copied())
    }
}

/// The roles of all axes.
struct Product<'a> {
    sizes: &'a Sizes,
    batch: Vec<Label>,
    rows: Vec<Label>,
    inner: Vec<Label>,
    cols: Vec<Label>,
}

impl<'a> Product<'a> {
    fn new(first: &Side, second: &Side, output: &[Label], sizes: &'a Sizes) -> Result<Self, Fault> {
        let mut product = Product {
            sizes,
            batch: vec![],
            rows: vec![],
            inner: vec![],
            cols: vec![],
        };
        for &label in &first.axes {
            match (second.axes.contains(&label), output.contains(&label)) {
                (true, true) => product.batch.push(label),
                (true, false) => product.inner.push(label),
                (false, true) => product.rows.push(label),
                (false, false) => return unsupported(ALONE),
            }
        }
        for &label in second
            .axes
            .iter()
            .filter(|label| !first.axes.contains(label))
        {
            match output.contains(&label) {
                true => product.cols.push(label),
                false => return unsupported(ALONE),
            }
        }
        Ok(product)
    }

    fn lower(
        &self,
        compose: &mut Composer,
        first: &Side,
        second: &Side,
        output: &[Label],
        shape: &[usize],
    ) -> Result<ValueId, Fault> {
        let Product {
            batch,
            rows,
            inner,
            cols,
            ..
        } = self;
        let [items, m, k, n] = [batch, rows, inner, cols].map(|labels| self.sizes.len(labels));
        [[items, m, k], [items, k, n], [items, m, n]]
            .iter()
            .try_for_each(|sizes| bounded_len(sizes).map(|_| ()))?;
        let (made, op, inputs) = match &second.held {
            Held::Value(_) => {
                let x = self.turned(compose, "left", first, &[batch, rows, inner])?;
                let y = self.turned(compose, "right", second, &[batch, inner, cols])?;
                let batch = items;
                let op = Op::MatMul(Matrices { batch, m, k, n });
                ([&self.batch[..], rows, cols].concat(), op, vec![x, y])
            }
            Held::Fixed(weights) if batch.is_empty() => {
                let x = self.turned(compose, "left", first, &[rows, inner])?;
                let op = Op::Linear(Linear {
                    rows: m,
                    k,
                    n,
                    weight: self.fixed(compose, weights, second, &[inner, cols]),
                    bias: Weights::default(),
                });
                ([&rows[..], cols].concat(), op, vec![x])
            }
            Held::Fixed(weights) => {
                let x = self.turned(compose, "left", first, &[batch, inner, rows])?;
                let weight = self.fixed(compose, weights, second, &[batch, cols, inner]);
                let op = grouped([items, m, k, n], weight);
                ([&batch[..], cols, rows].concat(), op, vec![x])
            }
        };
        let sizes: Vec<usize> = made.iter().map(|&label| self.sizes.of(label)).collect();
        let as_made = match made == output {
            true => shape.to_vec(),
            false => sizes.clone(),
        };
        let id = compose
            .builder
            .add(compose.name.clone(), op, inputs, as_made)?;
        let side = Side {
            held: Held::Value(id),
            axes: made,
            shape: sizes,
        };
        if side.stands(output, self.sizes) {
            return Ok(id);
        }
        let index = side.index(output, self.sizes);
        compose.moved("result", id, index, shape.to_vec())
    }

    /// A computed factor with its axes in order.
    fn turned(
        &self,
        compose: &mut Composer,
        part: &str,
        side: &Side,
        labels: &[&Vec<Label>],
    ) -> Result<ValueId, Fault> {
        let Held::Value(id) = side.held else {
            return bad("both of its inputs are constants");
        };
        let labels: Vec<Label> = labels
            .iter()
            .flat_map(|labels| labels.iter().copied())
            .collect();
        if side.stands(&labels, self.sizes) {
            return Ok(id);
        }
        let index = side.index(&labels, self.sizes);
        let shape = labels.iter().map(|&label| self.sizes.of(label)).collect();
        compose.moved(part, id, index, shape)
    }

    /// A constant factor with its axes in order.
    fn fixed(
        &self,
        compose: &mut Composer,
        weights: &Weights,
        side: &Side,
        labels: &[&Vec<Label>],
    ) -> Weights {
        let labels: Vec<Label> = labels
            .iter()
            .flat_map(|labels| labels.iter().copied())
            .collect();
        if side.stands(&labels, self.sizes) {
            return weights.clone();
        }
        let index = side.index(&labels, self.sizes);
        if is_whole(&index, weights.len()) {
            return weights.clone();
        }
        let places: Vec<_> = labels
            .iter()
            .map(|label| side.axes.iter().position(|own| own == label))
            .collect();
        let how = format!("{:?} by axes {places:?}", side.shape);
        let make = || index.iter().map(|&i| weights[i as usize]).collect();
        compose.builder.derive(weights, how, make)
    }
}

const ALONE: &str = "it sums over an axis of one input alone: do so by ReduceSum before";

/// Products by constant matrices of their own, side by side: a convolution in groups, of one tap.
fn grouped([groups, m, k, n]: [usize; 4], weight: Weights) -> Op {
    let geometry = ConvGeometry {
        channels: groups * k,
        height: 1,
        width: m,
        filters: groups * n,
        kernel: [1, 1],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups,
    };
    Op::Conv(Conv {
        geometry,
        weight,
        bias: Weights::default(),
    })
}

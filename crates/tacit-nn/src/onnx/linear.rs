//! Matrix products and batch normalisation.

use rayon::prelude::*;

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::constant::Constant;
use super::element::{Arithmetic, two};
use super::nary::on;
use super::product::{Labels, contract};
use crate::graph::{Affine, Linear, Op, Weights, len};

fn matrix(shape: &[usize]) -> Result<[usize; 2], Fault> {
    <[usize; 2]>::try_from(shape).or_else(|_| {
        unsupported(format!(
            "its weights have the shape {shape:?}; only matrices are supported"
        ))
    })
}

/// The matrix of so many rows and columns, turned.
pub(super) fn transposed(weight: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    /// Columns that a thread takes: as many lines of the cache are written again and again.
    const COLUMNS: usize = 32;
    let mut turned = vec![0.0; weight.len()];
    let parts = turned.par_chunks_mut((COLUMNS * rows).max(1)).enumerate();
    parts.for_each(|(at, part)| {
        for (r, row) in weight.chunks(columns.max(1)).enumerate() {
            let to = part.iter_mut().skip(r).step_by(rows);
            to.zip(&row[at * COLUMNS..]).for_each(|(to, v)| *to = *v);
        }
    });
    turned
}

/// Whether rows of the first input of a Gemm do not stand for themselves: it is turned, or multiplied with what is
/// computed, or what is added differs by row.
fn is_mixed(call: &Call) -> bool {
    let by_row = |value: &Value| match value {
        Value::Constant(added) => added.shape.len() == 2 && added.shape[0] != 1,
        _ => true,
    };
    let constant = |i: usize| matches!(call.input(i), Some(Value::Constant(_)));
    call.int("transA", 0) != 0 || !constant(1) || constant(0) || call.input(2).is_some_and(by_row)
}

/// Gemm of an input that is one item: a product of matrices, scaled, and a scaled sum.
fn whole(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let axes = |flag: &str, [first, second]: [u32; 2]| match call.int(flag, 0) {
        0 => vec![first, second],
        _ => vec![second, first],
    };
    let labels = Labels {
        inputs: [axes("transA", [0, 1]), axes("transB", [1, 2])],
        output: vec![0, 2],
    };
    let scaled = |builder: &mut Builder, part: &str, x: &Value, by: f32| match x {
        Value::Constant(given) => {
            let numbers = given.data.floats().iter().map(|v| v * by).collect();
            let shape = given.shape.clone();
            Ok(Value::Constant(Constant::floats(shape, numbers)))
        }
        x => on(call, builder, x, |c, x| c.affine(part, x, by, 0.0)),
    };
    let both = Call {
        name: call.name.clone(),
        inputs: vec![call.input(0), call.input(1)],
        ..*call
    };
    let product = contract(&both, builder, &labels)?;
    let product = scaled(builder, "scaled", &product, call.float("alpha", 1.0))?;
    let Some(added) = call.input(2) else {
        return Ok(product);
    };
    let added = scaled(builder, "added", added, call.float("beta", 1.0))?;
    let added = match &added {
        // Of as many axes as the product.
        Value::Secret { shape, .. } if shape.len() < 2 => {
            added.with_shape([vec![1; 2 - shape.len()], shape.clone()].concat())
        }
        _ => added,
    };
    two(call, builder, (Arithmetic::Add, "sum"), &product, &added)
}

pub(super) fn gemm(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if call.whole && is_mixed(call) {
        return whole(call, builder);
    }
    let (x, shape) = call.secret(0)?;
    // Of an input that is one item every row is multiplied; of a batch its items are the rows.
    let (outer, shape) = shape.split_at(usize::from(call.whole && shape.len() == 2));
    if let Value::Secret { .. } = call.required(1)? {
        return unsupported(
            "both of its factors are computed: it multiplies items of a batch with each other, which are predicted independently",
        );
    }
    let (weight_shape, mut weight) = call.weights(1)?;
    let mut dims = matrix(weight_shape)?;
    if call.int("transA", 0) != 0 {
        return unsupported("its transA mixes the items of a batch");
    }
    if call.int("transB", 0) != 0 {
        weight = builder.derive(&weight, format!("{dims:?} transposed"), || {
            transposed(&weight, dims)
        });
        dims.reverse();
    }
    let [k, n] = dims;
    if shape != [k] {
        return bad(format!(
            "its weights take {k} numbers, its input has the item shape {shape:?}"
        ));
    }
    let alpha = call.float("alpha", 1.0);
    weight = scaled(builder, weight, alpha);
    let beta = call.float("beta", 1.0);
    let bias = match call.optional_weights(2)? {
        None => Weights::default(),
        Some((shape, values)) => {
            let row = shape.iter().rev().skip(1).all(|&d| d == 1);
            match values.len() {
                1 => {
                    let how = format!("{n} times");
                    let all = builder.derive(&values, how, || vec![values[0]; n]);
                    scaled(builder, all, beta)
                }
                count if count == n && row => scaled(builder, values, beta),
                _ => {
                    return unsupported(format!(
                        "its third input has the shape {shape:?}; {n} numbers, the same for each item, are supported"
                    ));
                }
            }
        }
    };
    builder.push(
        call,
        Op::Linear(Linear {
            rows: outer.iter().product(),
            k,
            n,
            weight,
            bias,
        }),
        vec![x],
        [outer, &[n]].concat(),
    )
}

/// `weight` times a factor.
fn scaled(builder: &mut Builder, weight: Weights, factor: f32) -> Weights {
    if factor == 1.0 {
        return weight;
    }
    let times = || weight.iter().map(|w| w * factor).collect();
    builder.derive(&weight, format!("times {factor}"), times)
}

pub(super) fn batch_norm(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, all) = call.secret(0)?;
    let shape = &all[usize::from(call.whole && !all.is_empty())..];
    if call.int("spatial", 1) == 0 {
        return unsupported("its 'spatial' is 0: it has numbers for every element");
    }
    let Some((&channels, rest)) = shape.split_first() else {
        return bad("its input has no channels");
    };
    let mut numbers = Vec::new();
    for i in 1..5 {
        let (shape, values) = call.weights(i)?;
        if shape != [channels] {
            return bad(format!(
                "its input {i} has the shape {shape:?}, {channels} numbers are needed"
            ));
        }
        numbers.push(values);
    }
    let epsilon = call.float("epsilon", 1e-5);
    let scale: Weights = (0..channels)
        .map(|c| numbers[0][c] / (numbers[3][c] + epsilon).sqrt())
        .collect();
    let shift: Weights = (0..channels)
        .map(|c| numbers[1][c] - numbers[2][c] * scale[c])
        .collect();
    if let Some(c) = (0..channels).find(|&c| !scale[c].is_finite() || !shift[c].is_finite()) {
        return unsupported(format!(
            "its variance {} in channel {c} leaves no finite scale",
            numbers[3][c]
        ));
    }
    builder.push(
        call,
        Op::Affine(Affine {
            inner: len(rest),
            scale,
            shift,
        }),
        vec![x],
        all.to_vec(),
    )
}

#[cfg(test)]
mod tests {
    use super::transposed;

    #[test]
    fn a_turned_matrix_has_each_number_once() {
        for [rows, columns] in [[1, 1], [3, 5], [2, 32], [33, 70], [0, 4], [4, 0]] {
            let matrix: Vec<f32> = (0..rows * columns).map(|i| i as f32).collect();
            let turned = transposed(&matrix, [rows, columns]);
            let right = (0..rows * columns).map(|i| matrix[i % rows * columns + i / rows]);
            assert!(turned.into_iter().eq(right), "{rows} x {columns}");
        }
    }
}

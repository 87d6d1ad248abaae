//! Operations on the columns of a table.

use super::attributes::{counted, floats, ints, per_column};
use super::compare::{above, below, not, shifts};
use super::scores::numbered;
use crate::graph::{Affine, Function, Op, ValueId, len};
use crate::index::{pick, whole as all_of};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::{ANY, Composer, value};
use crate::onnx::constant::{Constant, Data};
use crate::onnx::linear::transposed;
use crate::onnx::missing::marks::in_place_of;
use crate::onnx::moves::at;
use crate::onnx::norm::over_norm;
use crate::onnx::places::{chosen_of, of_list};
use crate::onnx::pool::whole;
use crate::onnx::tail::unit_sum;

/// The columns of items, along their last axis.
fn columns(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

/// `(x - offset) * scale` of every column.
pub(super) fn scaler(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let offset = per_column(call, "offset", columns(shape), 0.0)?;
    let scale = per_column(call, "scale", columns(shape), 1.0)?;
    let step = |scale: Vec<f32>, shift: Vec<f32>| {
        Op::Affine(Affine {
            inner: 1,
            scale: scale.into(),
            shift: shift.into(),
        })
    };
    // One after the other, as float32 rounds them: a tree behind may meet its threshold.
    let offset = offset.iter().map(|o| -o).collect();
    let c = &mut Composer::new(call, builder);
    let less = c.each("less the offset", step(vec![], offset), &[x])?;
    builder.push(call, step(scale, vec![]), vec![less], shape.to_vec())
}

/// `x` over the sum, the root of the sum of squares, or the maximum of its row.
pub(super) fn normalizer(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let norm = call.text("norm", "MAX");
    if let ("L1", Value::Clear { .. }) = (norm.as_str(), call.required(0)?) {
        return unit_sum(call);
    }
    let (x, shape) = call.secret(0)?;
    let Some(along) = shape.len().checked_sub(1) else {
        return unsupported("its input has no columns");
    };
    match norm.as_str() {
        "L1" => over_norm(call, builder, along, 1),
        "L2" => over_norm(call, builder, along, 2),
        "MAX" => {
            let size = shape[along];
            let rows = len(shape) / size;
            let c = &mut Composer::new(call, builder);
            let max = Op::MaxPool(whole(rows, [1, size]));
            let max = c.node("max", max, &[x], vec![rows])?;
            let inverse = c.function(Function::Reciprocal, max, ANY)?;
            let of_all = c.spread("of all", inverse, shape.to_vec(), |e| e / size)?;
            let id = c.each("product", Op::Mul, &[x, of_all])?;
            Ok(value(id, shape.to_vec()))
        }
        other => bad(format!("its 'norm' is '{other}'")),
    }
}

/// What is put in place of a number, or of one that is missing; of infinity nothing, for no party holds it.
pub(super) fn imputer(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if call.attribute("replaced_value_int64").is_some()
        || !ints(call, "imputed_value_int64s").is_empty()
    {
        return unsupported("it replaces integers; a model of floats is needed");
    }
    let replaced = call.float("replaced_value_float", 0.0);
    if replaced.is_infinite() {
        return Ok(call.required(0)?.clone());
    }
    if replaced.is_nan() {
        return of_missing(call, builder);
    }
    let (x, shape) = call.secret(0)?;
    let imputed = floats(call, "imputed_value_floats")?;
    if imputed.is_empty() {
        return counted("imputed_value_floats", 0, columns(shape));
    }
    let imputed = per_column(call, "imputed_value_floats", columns(shape), 0.0)?;
    let c = &mut Composer::new(call, builder);
    let [at_least, at_most] = [
        above(c, x, vec![replaced].into())?,
        below(c, x, vec![replaced].into())?,
    ];
    let at_least = c.each("at least", Op::NonNegative, &[at_least])?;
    let at_most = c.each("at most", Op::NonNegative, &[at_most])?;
    // Both, or one of them.
    let other = not(c, at_most)?;
    let same = c.each("same", Op::Sub, &[at_least, other])?;
    let beyond = c.each("beyond", shifts(imputed.iter().map(|v| -v).collect()), &[x])?;
    let taken = c.each("taken", Op::Mul, &[same, beyond])?;
    let id = c.each("imputed", Op::Sub, &[x, taken])?;
    Ok(value(id, shape.to_vec()))
}

/// What is put in place of numbers that are missing, of rows alone: of other shapes runtimes differ. Where that is no
/// number itself, or there is not one for each column, none may be missing.
fn of_missing(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let Value::Secret { id: x, shape, .. } = call.required(0)? else {
        return Ok(call.required(0)?.clone());
    };
    let imputed = call.attribute("imputed_value_floats");
    let imputed = imputed.map_or(&[][..], |attribute| &attribute.floats);
    let are_rows = shape.len() + usize::from(!call.whole) == 2;
    let fits = imputed.len() == columns(shape) && are_rows || imputed.len() == 1;
    if !fits {
        return Ok(call.required(0)?.clone());
    }
    let of = |e: usize| imputed[e % imputed.len()];
    let origins = builder.origins(*x).only(|e| of(e).is_finite());
    builder.want_marks(&origins.places, 0);
    let c = &mut Composer::new(call, builder);
    let id = in_place_of(c, (*x, &origins), of)?;
    Ok(value(id.unwrap_or(*x), shape.clone()))
}

/// 1 where `x` is above a threshold, else 0.
pub(super) fn binarizer(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (x, shape) = call.secret(0)?;
    let threshold = call.float("threshold", 0.0);
    if !threshold.is_finite() {
        return unsupported(format!("its threshold is {threshold}"));
    }
    let c = &mut Composer::new(call, builder);
    let below = below(c, x, vec![threshold].into())?;
    let at_most = c.each("at most", Op::NonNegative, &[below])?;
    let id = not(c, at_most)?;
    builder.truths.insert(id);
    Ok(value(id, shape.to_vec()))
}

/// The columns at constant places of the last axis.
pub(super) fn extractor(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    if let (Value::Constant(table), Some(Value::Secret { id, shape, batch })) =
        (call.required(0)?, call.input(1))
        && table.shape.len() > 1
        && !call.whole
    {
        return columns_of(call, builder, &table.shape, (*id, shape, *batch));
    }
    if let (Value::Constant(names), Some(place)) = (call.required(0)?, call.input(1)) {
        let named = named(call, builder, names, place)?;
        return Ok(match (call.whole, &named) {
            // The names of all places are one row.
            (true, Value::Secret { shape, .. } | Value::Clear { shape, .. }) => {
                named.with_shape(vec![1, len(shape)])
            }
            _ => named,
        });
    }
    let (x, shape) = call.secret(0)?;
    let Some((&size, outer)) = shape.split_last() else {
        return unsupported("its input has no columns");
    };
    let places = call.ints(1)?.iter().map(|&i| match i {
        0.. => at(i, size).map(Some),
        _ => bad(format!("its index {i} is negative")),
    });
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let out = [outer, &[places.len()]].concat();
    crate::onnx::constant::bounded_len(&out)?;
    let mut axes: Vec<Vec<Option<usize>>> = outer.iter().map(|&n| all_of(n)).collect();
    axes.push(places);
    let index = pick(shape, &axes);
    let op = Op::Rearrange { index, fill: 0.0 };
    builder.push(call, op, vec![x], out)
}

/// The columns of a constant of several axes at computed places: of an item those of its places, behind the batch.
fn columns_of(
    call: &Call,
    builder: &mut Builder,
    of: &[usize],
    (id, shape, batch): (ValueId, &[usize], usize),
) -> Result<Value, Fault> {
    let (classes, outer) = (of[of.len() - 1], &of[..of.len() - 1]);
    let own: Vec<usize> = match len(shape) {
        1 => vec![],
        _ if batch == 0 => shape.to_vec(),
        _ => return unsupported("its indices have the batch elsewhere than first"),
    };
    let (n, many) = (len(outer), len(&own));
    let (_, table) = call.weights(0)?;
    let rows = transposed(&table, [n, classes]).into();
    let place = value(id, vec![many]);
    let mut inputs = call.inputs.clone();
    inputs[1] = Some(&place);
    let name = call.name.clone();
    let by_row = Call {
        name,
        inputs,
        ..*call
    };
    let Value::Secret { id, .. } =
        crate::onnx::token::rows(&by_row, builder, 1, (classes, n), &rows, vec![n])?
    else {
        return bad("its rows are no value");
    };
    let shape = [outer, &own[..]].concat();
    let c = &mut Composer::new(call, builder);
    let turned = c.spread("turned", id, shape.clone(), |e| e % many * n + e / many)?;
    Ok(Value::Secret {
        id: turned,
        shape,
        batch: outer.len(),
    })
}

/// The places of largest numbers as classes of these names, of a list of them.
fn named(
    call: &Call,
    builder: &mut Builder,
    names: &Constant,
    place: &Value,
) -> Result<Value, Fault> {
    // Classes that are called by their numbers from 0 on are their places, found on shares or not.
    if let (Value::Secret { .. }, Data::Int(list)) = (place, &names.data)
        && numbered(list).is_none()
    {
        return Ok(place.clone());
    }
    if let Value::Secret {
        id,
        shape,
        batch: 0,
    } = place
    {
        let (_, list) = call.weights(0)?;
        let c = &mut Composer::new(call, builder);
        if let Some(id) = chosen_of(c, *id, of_list(&list))? {
            return Ok(value(id, shape.clone()));
        }
    }
    let Value::Clear { tail, classes, .. } = place else {
        return unsupported(
            "its data is a constant, and its indices are no places of largest numbers",
        );
    };
    let of = tail.last().filter(|step| step.function.is_arg_max());
    match (of, &names.data) {
        (Some(of), Data::Int(list)) if of.size == list.len() && classes.is_none() => {
            Ok(place.clone().called(numbered(list)))
        }
        _ => unsupported("its data is no list of whole numbers, one for each place"),
    }
}

/// All inputs side by side.
pub(super) fn vectorizer(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let mut inputs: Vec<ValueId> = Vec::new();
    let mut widths: Vec<usize> = Vec::new();
    for i in 0..call.inputs.len() {
        match call.secret(i)? {
            (id, &[width]) => {
                inputs.push(id);
                widths.push(width);
            }
            (_, shape) => {
                return unsupported(format!(
                    "its input {i} has the item shape {shape:?}, not that of a row"
                ));
            }
        }
    }
    let given = ints(call, "inputdimensions");
    if !given.iter().copied().eq(widths.iter().map(|&w| w as i64)) {
        return unsupported(format!(
            "its 'inputdimensions' are {given:?}, its inputs have {widths:?} columns"
        ));
    }
    match inputs[..] {
        [] => bad("it has no input"),
        [one] => Ok(value(one, widths)),
        _ => {
            let op = Op::Concat { outer: 1 };
            builder.push(call, op, inputs, vec![widths.iter().sum()])
        }
    }
}

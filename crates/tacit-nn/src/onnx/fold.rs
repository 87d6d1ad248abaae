//! Nodes whose inputs are all constants are computed at import.

mod computed;
mod made;
mod numbers;

use super::builder::Builder;
use super::call::{Call, Fault, Value, axis, bad};
use super::constant::{BATCH, Constant, Data, Reader, bounded_len};
use super::importer::constant_len;
use super::kind;
use super::{moves, quantise, rotary, selection, shape};
use crate::graph::len;
use crate::index::{broadcast, common_shape, pick, transpose, whole};
use crate::reference::gemm;

pub(super) use computed::computed;
pub(super) use numbers::{binary, chosen, difference, floats, logarithms, truths};

/// The most multiplications of constants at a node.
const MAX_WORK: usize = 1 << 32;

/// The most steps of all that is computed of constants: numbers that are read, and multiplications.
const MAX_FOLDED: usize = 1 << 34;

/// The value of a node that depends on no input's values, or `None` if it is not such a node.
pub(super) fn fold(
    call: &Call,
    reader: &Reader,
    batch: Option<i64>,
) -> Result<Option<Constant>, Fault> {
    match call.node.op_type.as_str() {
        "Shape" => return Ok(Some(made::shape_of(call, batch.unwrap_or(BATCH))?)),
        "Size" => return Ok(Some(made::size_of(call, batch.unwrap_or(BATCH))?)),
        "EyeLike" => return Ok(Some(made::eye(call)?)),
        _ => {}
    }
    let mut inputs = Vec::new();
    for input in call.inputs.iter().flatten() {
        match input {
            Value::Constant(constant) => inputs.push(constant),
            _ => return Ok(None),
        }
    }
    let op = call.node.op_type.as_str();
    Ok(Some(match op {
        "Constant" => made::constant(call, reader)?,
        "ConstantOfShape" => made::constant_of_shape(call, reader)?,
        "Range" => made::range(call)?,
        "NonZero" => made::places(call)?,
        "OneHot" => made::one_hot(call)?,
        "ReduceSum" | "ReduceProd" | "ReduceMax" | "ReduceMin" => made::reduced(call)?,
        "Identity" | "Dropout" | "OptionalGetElement" => call.constant(0)?.clone(),
        "Cast" => kind::cast(call.constant(0)?, call.cast_to()?)?,
        "CastLike" => kind::cast(call.constant(0)?, call.constant(1)?.kind)?,
        "Where" => numbers::choose(call)?,
        "Clip" => numbers::clipped(call)?,
        "CumSum" => made::running_sum(call)?,
        "Scatter" | "ScatterElements" | "ScatterND" => made::scattered(call)?,
        "Pow" => numbers::power(call.constant(0)?, call.constant(1)?)?,
        "Sum" | "Mean" | "Max" | "Min" => numbers::nary(call, &inputs)?,
        op if numbers::BINARY.contains(&op) => {
            let op = match op {
                "Mod" if call.int("fmod", 0) != 0 => "Fmod",
                op => op,
            };
            numbers::binary(op, call.constant(0)?, call.constant(1)?)?
        }
        op if numbers::UNARY.contains(&op) => numbers::unary(op, call.constant(0)?)?,
        "Places" => rotary::places(call)?,
        "DequantizeBlocks" => quantise::blocks(call)?,
        "DequantizeLinear" => quantise::constant(call)?,
        "Concat" => concat(call, &inputs)?,
        "MatMul" => product(call.constant(0)?, call.constant(1)?)?,
        "Expand" => {
            let from = call.constant(0)?;
            let target = shape::sizes_of(call.ints(1)?)?;
            let out =
                common_shape(&from.shape, &target).ok_or_else(|| mismatch(&from.shape, &target))?;
            bounded_len(&out)?;
            let index = broadcast(&from.shape, &out).ok_or_else(|| mismatch(&from.shape, &out))?;
            rearranged(from, (out, index))
        }
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => {
            let from = call.constant(0)?;
            Constant {
                shape: shape::constant_shape(call, &from.shape)?,
                ..from.clone()
            }
        }
        _ => return moved(call),
    }))
}

/// The one output of a node of constants, if it is folded in any way.
pub(super) fn of_constants(call: &Call) -> Option<Constant> {
    let reader = Reader { folder: None };
    if let Ok(Some(constant)) = fold(call, &reader, None) {
        return Some(constant);
    }
    match computed(call)?.pop()? {
        Value::Constant(constant) => Some(constant),
        _ => None,
    }
}

/// A constant whose elements are only moved.
fn moved(call: &Call) -> Result<Option<Constant>, Fault> {
    let Some(Value::Constant(from)) = call.input(0) else {
        return Ok(None);
    };
    let given = &from.shape;
    let mut fill = 0.0;
    let (shape, index) = match call.node.op_type.as_str() {
        "Gather" | "Slice" => selection::selection(call, given)?,
        "Transpose" => {
            let order = shape::permutation(call, given.len())?;
            let out = order.iter().map(|&a| given[a]).collect();
            (out, transpose(given, &order))
        }
        _ => {
            let whole = Call {
                name: call.name.clone(),
                inputs: call.inputs.clone(),
                whole: true,
                ..*call
            };
            match moves::of_shape(&whole, given)? {
                Some(moved) => {
                    fill = moved.fill;
                    (moved.shape, moved.index)
                }
                None => return Ok(None),
            }
        }
    };
    Ok(Some(Constant {
        shape,
        kind: from.kind,
        data: from.data.gather(&index, fill),
    }))
}

/// Counts what it took to compute constants of others; an error once it is too much for one file.
pub(super) fn spend(call: &Call, made: &[Value], builder: &mut Builder) -> Result<(), String> {
    let read = call
        .inputs
        .iter()
        .flatten()
        .map(|value| constant_len(value));
    let within = match (call.node.op_type.as_str(), call.input(0), call.input(1)) {
        ("Conv", _, Some(Value::Constant(w))) => len(w.shape.get(1..).unwrap_or_default()),
        ("MatMul" | "Gemm" | "Einsum", Some(Value::Constant(left)), _) => {
            left.shape.last().copied().unwrap_or(1)
        }
        _ => 1,
    };
    let each = within.max(1);
    let made: usize = made.iter().map(constant_len).sum();
    let steps = read.sum::<usize>() + made.saturating_mul(each);
    builder.folded = builder.folded.saturating_add(steps);
    match builder.folded > MAX_FOLDED {
        false => Ok(()),
        true => Err(format!(
            "what is computed of its constants takes more than {MAX_FOLDED} steps, those of each turn of a loop counted"
        )),
    }
}

/// The product of two constants, of which one of a single axis is a row or a column.
fn product(a: &Constant, b: &Constant) -> Result<Constant, Fault> {
    let with = |from: &Constant, shape: Vec<usize>| Constant {
        shape,
        ..from.clone()
    };
    let (left, right) = match (&a.shape[..], &b.shape[..]) {
        ([], _) | (_, []) => return bad("one of its inputs has no axes"),
        (&[k], &[n]) => (with(a, vec![1, k]), with(b, vec![n, 1])),
        (&[k], _) => (with(a, vec![1, k]), b.clone()),
        (_, &[n]) => (a.clone(), with(b, vec![n, 1])),
        _ => return matrices(a, b),
    };
    let mut made = matrices(&left, &right)?;
    let columns = made.shape.len() - 1;
    if b.shape.len() == 1 {
        made.shape.remove(columns);
    }
    if a.shape.len() == 1 {
        made.shape.remove(columns - 1);
    }
    Ok(made)
}

/// The products of constant matrices side by side, in float32; axes before the last two are stretched to each
/// other's.
fn matrices(a: &Constant, b: &Constant) -> Result<Constant, Fault> {
    let ([.., m, k], [.., depth, n]) = (&a.shape[..], &b.shape[..]) else {
        return Err(mismatch(&a.shape, &b.shape));
    };
    if depth != k {
        return Err(mismatch(&a.shape, &b.shape));
    }
    let sides = [&a.shape[..a.shape.len() - 2], &b.shape[..b.shape.len() - 2]];
    let side = common_shape(sides[0], sides[1]).ok_or_else(|| mismatch(&a.shape, &b.shape))?;
    let shape = [&side[..], &[*m, *n]].concat();
    let work = bounded_len(&shape)?.checked_mul((*k).max(1));
    if work.is_none_or(|work| work > MAX_WORK) {
        let why = format!("its constants take more than {MAX_WORK} multiplications");
        return super::call::unsupported(why);
    }
    let place = |from: &[usize]| broadcast(from, &side).ok_or_else(|| mismatch(from, &side));
    let (left, right) = (place(sides[0])?, place(sides[1])?);
    let (x, y) = (a.data.floats(), b.data.floats());
    let mut out = vec![0.0; len(&shape)];
    for (at, made) in out.chunks_mut((m * n).max(1)).enumerate() {
        let [i, j] = [left[at] as usize, right[at] as usize];
        let (x, y) = (&x[i * m * k..][..m * k], &y[j * k * n..][..k * n]);
        gemm(made, x, y, [*k, *n]);
    }
    let (kind, data) = computed::of_kind(a.kind, out);
    Ok(Constant { shape, kind, data })
}

fn mismatch(a: &[usize], b: &[usize]) -> Fault {
    Fault::Bad(format!("the shapes {a:?} and {b:?} do not fit together"))
}

/// The elements of a constant at `index`, under a new shape.
pub(super) fn rearranged(from: &Constant, (shape, index): (Vec<usize>, Vec<u32>)) -> Constant {
    Constant {
        shape,
        kind: from.kind,
        data: from.data.gather(&index, 0.0),
    }
}

fn concat(call: &Call, inputs: &[&Constant]) -> Result<Constant, Fault> {
    let Some(first) = inputs.first() else {
        return bad("it has no inputs");
    };
    joined(inputs, axis(call.int("axis", 0), first.shape.len())?)
}

/// Constants joined along axis `along`.
pub(super) fn joined(inputs: &[&Constant], along: usize) -> Result<Constant, Fault> {
    let first = inputs[0];
    let mut shape = first.shape.clone();
    shape[along] = 0;
    for c in inputs {
        let fits = c.shape.len() == shape.len()
            && (0..shape.len()).all(|i| i == along || c.shape[i] == shape[i]);
        if !fits {
            return Err(mismatch(&first.shape, &c.shape));
        }
        shape[along] += c.shape[along];
    }
    bounded_len(&shape)?;
    let outer: usize = shape[..along].iter().product();
    let data = match first.data {
        Data::Int(_) => parts(inputs, |data| match data {
            Data::Int(v) => Some(&v[..]),
            _ => None,
        })
        .map(|parts| Data::Int(join(outer, &parts))),
        Data::Float(_) => parts(inputs, |data| match data {
            Data::Float(v) => Some(&v[..]),
            _ => None,
        })
        .map(|parts| Data::Float(join(outer, &parts).into())),
        Data::Double { .. } => parts(inputs, |data| match data {
            Data::Double { exact, .. } => Some(&exact[..]),
            _ => None,
        })
        .map(|parts| Data::double(join(outer, &parts))),
    };
    let data = data.filter(|_| inputs.iter().all(|c| c.kind == first.kind));
    let data = data.ok_or_else(|| Fault::Bad("its inputs have different data types".into()))?;
    let kind = first.kind;
    Ok(Constant { shape, kind, data })
}

/// The numbers of all inputs, if `read` finds them in each.
fn parts<'a, T>(
    inputs: &[&'a Constant],
    read: impl Fn(&'a Data) -> Option<&'a [T]>,
) -> Option<Vec<&'a [T]>> {
    inputs.iter().map(|c| read(&c.data)).collect()
}

/// Joins parts of `outer` blocks block by block.
fn join<T: Copy>(outer: usize, parts: &[&[T]]) -> Vec<T> {
    let block = |o: usize| {
        let of = move |part: &&[T]| {
            let size = part.len() / outer;
            part[o * size..(o + 1) * size].to_vec()
        };
        parts.iter().flat_map(of)
    };
    (0..outer).flat_map(block).collect()
}

/// The elements of `shape` at `picks` along `along`.
pub(super) fn select(shape: &[usize], along: usize, picks: Vec<usize>) -> Vec<u32> {
    let axis = |(i, &size): (usize, &usize)| {
        if i == along {
            picks.iter().map(|&p| Some(p)).collect()
        } else {
            whole(size)
        }
    };
    pick(
        shape,
        &shape.iter().enumerate().map(axis).collect::<Vec<_>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::made::node;
    use super::*;

    /// A file's constants are computed of until the last step that may be taken.
    #[test]
    fn what_is_computed_of_constants_is_counted() {
        let mut builder = Builder::default();
        let given = Value::Constant(Constant::floats(vec![2, 3], vec![0.0; 6]));
        let made = [Value::Constant(Constant::floats(vec![2, 5], vec![0.0; 10]))];
        let node = node("MatMul", &["x", "w"], "y");
        let call = Call {
            node: &node,
            name: "y".into(),
            opset: 17,
            last: false,
            masks: false,
            whole: false,
            rounds: builder.rounds,
            torch: false,
            kind: None,
            inputs: vec![Some(&given), None],
        };
        // Six numbers are read, and ten made of three products each.
        builder.folded = MAX_FOLDED - 36;
        assert_eq!(spend(&call, &made, &mut builder), Ok(()));
        let why = spend(&call, &made, &mut builder).expect_err("none is left");
        assert!(why.contains("takes more than 17179869184 steps"), "{why}");
    }
}

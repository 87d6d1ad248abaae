//! Models whose input is one item without a batch axis: every axis of the file is an axis of the item.
//!
//! An operation that the standard defines for a batch is computed for each place of its batch axis.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::fold::{rearranged, select};
use super::lower;
use super::many;
use crate::graph::{Op, ValueId, len};

/// The most places of a batch axis that are computed one by one.
const MAX_PLACES: usize = 64;

/// What an operation makes of a value without a batch axis.
enum Treats {
    /// Every element by itself, all inputs stretched to each other's shape.
    Elements,
    /// The axes that the node names, or all axes alike.
    Axes,
    /// Every channel of what stands at each place of the first axis.
    Channels,
    /// What stands at each place of this axis.
    Places(usize),
}

fn treats(call: &Call) -> Option<Treats> {
    use Treats::{Axes, Channels, Elements, Places};
    Some(match call.node.op_type.as_str() {
        "Acos" | "Asin" | "Atan" | "Cos" | "IsInf" | "IsNaN" | "OptionalGetElement" | "Sin"
        | "Tan" => Elements,
        "Abs" | "Ceil" | "Floor" | "Mod" | "Round" | "Acosh" | "Add" | "And" | "Asinh"
        | "Atanh" | "Cast" | "CastLike" | "Celu" | "Clip" | "Cosh" | "Div" | "Dropout" | "Elu"
        | "Equal" | "Erf" | "Exp" | "Expand" | "Gelu" | "Greater" | "GreaterOrEqual"
        | "HardSigmoid" | "HardSwish" | "Identity" | "LeakyRelu" | "Less" | "LessOrEqual"
        | "Log" | "Max" | "Mean" | "Min" | "Mish" | "Mul" | "Neg" | "Not" | "Or" | "PRelu"
        | "Pow" | "Reciprocal" | "Relu" | "Selu" | "Shrink" | "Sigmoid" | "Sign" | "Sinh"
        | "Softplus" | "Softsign" | "Sqrt" | "Sub" | "Sum" | "SwiGLU" | "Swish" | "Tanh"
        | "ThresholdedRelu" | "Where" | "Xor" => Elements,
        "ArgMax"
        | "ArgMin"
        | "ArrayFeatureExtractor"
        | "Attention"
        | "ByHeads"
        | "CenterCropPad"
        | "Col2Im"
        | "Compress"
        | "Concat"
        | "ConvInteger"
        | "CumProd"
        | "CumSum"
        | "DFT"
        | "DeformConv"
        | "DequantizeLinear"
        | "Det"
        | "DynamicQuantizeLinear"
        | "Einsum"
        | "Flatten"
        | "Gather"
        | "GatherElements"
        | "GatherND"
        | "GridSample"
        | "Hardmax"
        | "LayerNormalization"
        | "LogSoftmax"
        | "LpNormalization"
        | "MatMul"
        | "MaxUnpool"
        | "MeanVarianceNormalization"
        | "Pad"
        | "NegativeLogLikelihoodLoss"
        | "SoftmaxCrossEntropyLoss"
        | "QLinearConv"
        | "QLinearMatMul"
        | "QuantizeLinear"
        | "MatMulInteger"
        | "RMSNormalization"
        | "SimplifiedLayerNormalization"
        | "ReduceL1"
        | "ReduceL2"
        | "ReduceLogSum"
        | "ReduceLogSumExp"
        | "ReduceMax"
        | "ReduceMean"
        | "ReduceMin"
        | "ReduceProd"
        | "ReduceSum"
        | "ReduceSumSquare"
        | "Reshape"
        | "Resize"
        | "RoiAlign"
        | "ReverseSequence"
        | "RotaryEmbedding"
        | "STFT"
        | "Scatter"
        | "ScatterElements"
        | "ScatterND"
        | "Slice"
        | "Softmax"
        | "Split"
        | "Squeeze"
        | "TensorScatter"
        | "Tile"
        | "TopK"
        | "Transpose"
        | "Trilu"
        | "Unpadded"
        | "WindowCache"
        | "Unsqueeze"
        | "Upsample" => Axes,
        // Of constants alone.
        "DequantizeBlocks" | "NonZero" | "OneHot" | "Places" | "Range" => Axes,
        "ZipMap" => Axes,
        "BatchNormalization" | "Conv" | "Gemm" => Axes,
        "MaxPool" if call.node.output.len() > 1 => Places(0),
        "AveragePool" | "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" | "LpPool"
        | "MaxPool" => Channels,
        "AffineGrid"
        | "ConvTranspose"
        | "DepthToSpace"
        | "GroupNormalization"
        | "InstanceNormalization"
        | "LRN"
        | "SpaceToDepth" => Places(0),
        // Rows of a table.
        "Binarizer"
        | "Imputer"
        | "LinearClassifier"
        | "LinearRegressor"
        | "Normalizer"
        | "Scaler"
        | "SVMClassifier"
        | "SVMRegressor"
        | "TreeEnsembleClassifier"
        | "TreeEnsembleRegressor" => Places(0),
        "GRU" | "LSTM" | "RNN" => Places(usize::from(call.int("layout", 0) == 0)),
        _ => return None,
    })
}

/// Whether an operation takes every element by itself.
pub(super) fn is_by_element(call: &Call) -> bool {
    matches!(treats(call), Some(Treats::Elements))
}

/// The outputs of a node of values without a batch axis.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    match treats(call) {
        Some(Treats::Elements) => elements(call, builder),
        Some(Treats::Axes) => lower::items(call, builder),
        Some(Treats::Channels) => many::channels(call, builder),
        Some(Treats::Places(along)) => places(call, builder, along),
        None => unsupported("it is not supported of an input that is one item, without a batch"),
    }
}

/// The elements of a node's inputs, computed values with as many axes as the input that has the most.
fn elements(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    let rank = |value: &Value| match value {
        Value::Constant(constant) => constant.shape.len(),
        Value::Secret { shape, .. } | Value::Clear { shape, .. } => shape.len(),
        Value::Texts { .. } | Value::Sequence(_) | Value::Unknown | Value::Refused(_) => 0,
    };
    let mut most = call
        .inputs
        .iter()
        .flatten()
        .map(|v| rank(v))
        .max()
        .unwrap_or(0);
    if call.node.op_type == "Expand" {
        most = most.max(call.ints(1)?.len());
    }
    let spread = |value: &Value| match value {
        Value::Secret { shape, .. } => {
            value.with_shape([vec![1; most - shape.len()], shape.clone()].concat())
        }
        other => other.clone(),
    };
    let inputs: Vec<Option<Value>> = (call.inputs.iter())
        .map(|input| input.map(spread))
        .collect();
    let inputs = inputs.iter().map(Option::as_ref).collect();
    let name = call.name.clone();
    lower::items(
        &Call {
            name,
            inputs,
            ..*call
        },
        builder,
    )
}

/// Node by node for what stands at each place of axis `along`, and the results joined again.
fn places(call: &Call, builder: &mut Builder, along: usize) -> Result<Vec<Value>, Fault> {
    let (x, shape) = call.secret(0)?;
    let Some(&many) = shape.get(along) else {
        return bad(format!("its input has no axis {along}"));
    };
    let computed = |input: &Option<&Value>| !matches!(input, None | Some(Value::Constant(_)));
    let recurrent = ["GRU", "LSTM", "RNN"].contains(&call.node.op_type.as_str());
    // The states that recurrent nodes begin with have the items along an axis of their own.
    let states = if recurrent { 5..7 } else { 0..0 };
    // So have the lengths of their sequences, which are all they have.
    let lengths = recurrent.then(|| call.input(4)).flatten();
    let has_items = |i: &usize| states.contains(i) || recurrent && *i == 4;
    let others = (1..call.inputs.len()).filter(|i| !has_items(i));
    if others.map(|i| &call.inputs[i]).any(computed) {
        return unsupported("more than its first input is computed");
    }
    if many > MAX_PLACES {
        return unsupported(format!(
            "it is computed of {many} items one by one, more than {MAX_PLACES}: export the model with a free batch"
        ));
    }
    let mut results: Vec<Vec<Value>> = Vec::new();
    for place in 0..many {
        let name = match many {
            1 => call.name.clone(),
            _ => format!("{}.{place}", call.name),
        };
        let axis = usize::from(call.int("layout", 0) == 0);
        let mut made: Vec<(usize, Value)> =
            vec![(0, at(builder, &name, (x, shape), along, place)?)];
        for i in states.clone() {
            if let Some(Value::Secret { id, shape, .. }) = call.input(i) {
                if shape.get(axis) != Some(&many) {
                    return bad(format!("its input {i} has not as many items as its first"));
                }
                made.push((i, at(builder, &name, (*id, shape), axis, place)?));
            }
        }
        let length = match lengths {
            Some(Value::Constant(all)) if all.shape[..] == [many] => {
                let one = (vec![1], vec![place as u32]);
                Some((4, Value::Constant(rearranged(all, one))))
            }
            Some(Value::Secret { id, shape, .. }) if shape[..] == [many] => {
                Some((4, at(builder, &name, (*id, shape), 0, place)?))
            }
            Some(_) => return bad("it has not as many lengths as items"),
            None => None,
        };
        made.extend(length);
        let mut inputs = call.inputs.clone();
        made.iter().for_each(|(i, value)| inputs[*i] = Some(value));
        let one = Call {
            name,
            inputs,
            whole: false,
            // Labels of several rows are joined as numbers.
            last: false,
            ..*call
        };
        results.push(lower::items(&one, builder)?);
    }
    let outputs = results.first().map_or(0, Vec::len);
    (0..outputs)
        .map(|i| join(call, builder, results.iter().map(|all| &all[i])))
        .collect()
}

/// What a value has at a place of axis `along`, as the item of a batch that stood there.
fn at(
    builder: &mut Builder,
    name: &str,
    (x, shape): (ValueId, &[usize]),
    along: usize,
    place: usize,
) -> Result<Value, Fault> {
    let mut item = shape.to_vec();
    let id = match item.remove(along) {
        1 => x,
        _ => {
            let index = select(shape, along, vec![place]);
            let op = Op::Rearrange { index, fill: 0.0 };
            builder.add(format!("{name}.item"), op, vec![x], item.clone())?
        }
    };
    Ok(Value::Secret {
        id,
        shape: item,
        batch: along,
    })
}

/// The results for all places as one value, where there are any.
fn join<'a>(
    call: &Call,
    builder: &mut Builder,
    parts: impl Iterator<Item = &'a Value>,
) -> Result<Value, Fault> {
    let parts: Vec<_> = parts.collect();
    if let Some(refused) = parts.iter().find(|part| matches!(part, Value::Refused(_))) {
        return Ok((*refused).clone());
    }
    let parts: Option<Vec<_>> = (parts.into_iter())
        .map(|part| match part {
            Value::Secret { id, shape, batch } => Some((*id, shape, *batch)),
            _ => None,
        })
        .collect();
    let Some(parts) = parts else {
        return Ok(Value::Unknown);
    };
    let Some(&(first, shape, at)) = parts.first() else {
        return bad("its input has no elements");
    };
    let outer = len(&shape[..at]);
    let mut all = shape.clone();
    all.insert(at, parts.len());
    let id = match parts.len() {
        1 => first,
        _ => {
            let ids = parts.iter().map(|part| part.0).collect();
            let name = format!("{}.all", call.name);
            builder.add(name, Op::Concat { outer }, ids, all.clone())?
        }
    };
    Ok(Value::Secret {
        id,
        shape: all,
        batch: 0,
    })
}

//! From ONNX nodes to the operations of [`Graph`](crate::graph::Graph).

use super::builder::Builder;
use super::call::{self, Call, Fault, Value, bad, unsupported};
use super::constant::{Constant, Data};
use super::kind::DataType;
use super::proto::NodeProto;
use super::steps::{How, Rising, Step};
use super::table::{RUNTIME, is_table};
use super::{
    activation, along, attention, choice, chosen, columns, compare, conv, einsum, element, factors,
};
use super::{
    fourier, function, grid, halves, linear, loss, many, mask, missing, moves, nary, norm, picked,
    places, pool, power, product,
};
use super::{quantise, rearrange, recurrent, reduce, resize, rotary, rounding, sampled};
use super::{scatter, shape, tables, tail, token, top, trigonometric, turned, whole, wrapped};
use crate::graph::{Op, len};

/// Operations whose constants are numbers beside those of items, and no sizes, axes or places.
const READ_AS_NUMBERS: &[&str] = &[
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Mod",
    "Sum",
    "Max",
    "Min",
    "Clip",
    "Where",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Concat",
    "Gather",
    "GatherElements",
    "MatMul",
    "Gemm",
];

/// The outputs of a node; those that are left out exist only in training.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    if READ_AS_NUMBERS.contains(&&call.node.op_type[..]) {
        call.integers_are_held()?;
    }
    if builder.halves.contains(&std::ptr::from_ref(call.node)) {
        let argument = halves::from_one(call, builder)?;
        let inputs = std::iter::once(Some(&argument)).chain(call.inputs.iter().skip(1).copied());
        let call = Call {
            name: call.name.clone(),
            inputs: inputs.collect(),
            ..*call
        };
        return by_form(&call, builder);
    }
    let made = by_form(call, builder)?;
    wrapped::refuse(call, builder, &made)?;
    if let ([Value::Secret { id, .. }], Some(Value::Secret { id: from, .. })) =
        (&made[..], call.input(0))
        && let Some(function) = Rising::named(&call.node.op_type)
    {
        builder.steps.entry(*id).or_insert(Step {
            from: *from,
            how: How::Of(function),
        });
    }
    Ok(made)
}

/// The outputs of a node, of items or of one item.
fn by_form(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    if let Some(chosen) = places::by_the_same(call, builder) {
        return chosen.map(|value| vec![value]);
    }
    match call.whole {
        true => whole::lower(call, builder),
        false => match turned::lower(call, builder) {
            Some(outputs) => outputs,
            None => items(call, builder),
        },
    }
}

/// The outputs of a node of items, whose axes `call` tells from that of the batch.
pub(super) fn items(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    match call.node.op_type.as_str() {
        _ if is_table(call.node) => tables::lower(call, builder),
        "GRU" | "LSTM" | "RNN" => recurrent::recurrent(call, builder),
        "Attention" => attention::attention(call, builder),
        "WindowCache" => Ok(attention::of_window()),
        "Split" => rearrange::split(call, builder),
        "DynamicQuantizeLinear" => quantise::dynamic(call, builder),
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => loss::loss(call, builder),
        "BatchNormalization" if call.int("training_mode", 0) != 0 => norm::of_batch(call, builder),
        "LayerNormalization" => function::layer_norm(call, builder),
        "Dropout" => dropout(call, builder),
        "TopK" => top::top(call, builder),
        "MaxPool" if call.node.output.len() > 1 => pool::with_places(call, builder),
        _ => Ok(vec![one(call, builder)?]),
    }
}

/// The output of a node that has one.
fn one(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    match call.node.op_type.as_str() {
        "Conv" => many::conv(call, builder),
        "ConvTranspose" => conv::transposed(call, builder),
        "Gemm" => linear::gemm(call, builder),
        "MatMul" => product::matmul(call, builder),
        "Einsum" => einsum::einsum(call, builder),
        "BatchNormalization" => linear::batch_norm(call, builder),
        "Add" | "Sub" | "Mul" | "Div" => element::arithmetic(call, builder),
        "Sum" | "Mean" | "Max" | "Min" => nary::nary(call, builder),
        "LeakyRelu" => function::leaky_relu(call, builder),
        "Relu" => element::unary(call, builder, Op::Relu),
        "Neg" => element::negative(call, builder),
        "Expand" => element::expand(call, builder),
        "Clip" if nary::is_bounded(call) => nary::clipped(call, builder),
        "Clip" => element::clip(call, builder),
        "PRelu" => activation::prelu(call, builder),
        "Abs" | "Acosh" | "Asinh" | "Atanh" | "Celu" | "Cosh" | "Elu" | "HardSigmoid"
        | "HardSwish" | "Mish" | "Selu" | "Shrink" | "Sinh" | "Softplus" | "Softsign" | "Swish"
        | "ThresholdedRelu" => activation::activation(call, builder),
        "Acos" | "Asin" | "Atan" | "Cos" | "Sin" | "Tan" => {
            trigonometric::trigonometric(call, builder)
        }
        "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" => {
            rounding::compared(call, builder)
        }
        "And" | "Not" | "Or" | "Xor" => compare::logic(call, builder),
        "Sign" => activation::sign(call, builder),
        "IsNaN" => missing::is_nan(call, builder),
        "IsInf" => missing::is_infinite(call, builder),
        "Where" => choice::choose(call, builder),
        "Floor" | "Ceil" | "Round" => rounding::rounded(call, builder),
        "Mod" => rounding::modulo(call, builder),
        "QuantizeLinear" => quantise::quantize(call, builder),
        "DequantizeLinear" => quantise::dequantize(call, builder),
        "QLinearConv" | "QLinearMatMul" => quantise::linear(call, builder),
        "ConvInteger" | "MatMulInteger" => quantise::integer(call, builder),
        "MaxPool" | "AveragePool" | "LpPool" => pool::pool(call, builder),
        "GlobalMaxPool" | "GlobalAveragePool" | "GlobalLpPool" => pool::global(call, builder),
        "InstanceNormalization" | "GroupNormalization" => norm::grouped(call, builder),
        "LRN" => norm::local_response(call, builder),
        "LpNormalization" => norm::unit_length(call, builder),
        "MeanVarianceNormalization" => norm::mean_variance(call, builder),
        "Transpose" => rearrange::transposed(call, builder),
        "Gather" | "GatherND" if chosen::is_computed(call) => chosen::gather(call, builder),
        "Gather" | "GatherND" if token::is_index(call) => token::gather(call, builder),
        "GatherElements" if picked::is_computed(call) => picked::gather_elements(call, builder),
        "GatherElements" if token::is_index(call) => token::gather_elements(call),
        "OneHot" => token::one_hot(call, builder),
        "Gather" | "Slice" => rearrange::selected(call, builder),
        "Concat" => rearrange::concat(call, builder),
        "CumSum" => along::running_sum(call, builder),
        "CumProd" => factors::running_product(call, builder),
        "Det" => factors::determinant(call, builder),
        "DFT" => fourier::dft(call, builder),
        "STFT" => fourier::stft(call, builder),
        "DeformConv" => sampled::deform_conv(call, builder),
        "RoiAlign" => sampled::roi_align(call, builder),
        "GridSample" => grid::grid_sample(call, builder),
        "Col2Im" => columns::col2im(call, builder),
        "MaxUnpool" => columns::max_unpool(call, builder),
        "RotaryEmbedding" => rotary::rotary(call, builder),
        "Places" => {
            unsupported("its places are computed: fix them, as with --fix position_ids=0:8")
        }
        "Range" => unsupported(
            "how many numbers it makes is computed, which no party may know: make as many as an axis has, as arange(x.shape[1])",
        ),
        "ByHeads" => attention::by_heads(call, builder),
        "Unpadded" => attention::unpadded(call),
        "SwiGLU" => activation::swiglu(call, builder),
        "Resize" | "Upsample" => resize::resize(call, builder),
        "Scatter" | "ScatterElements" | "ScatterND" => scatter::scatter(call, builder),
        "TensorScatter" => scatter::cache(call, builder),
        "Softmax" | "LogSoftmax" | "ArgMax" | "ArgMin" | "Sigmoid" if call.last => {
            tail::tail(call, builder)
        }
        "Sigmoid" | "Tanh" | "Exp" | "Erf" | "Log" => function::elementary(call, builder),
        "Sqrt" | "Reciprocal" => function::root_or_reciprocal(call, builder),
        "Pow" => power::pow(call, builder),
        "Gelu" => function::gelu(call, builder),
        "Softmax" => function::softmax(call, builder),
        "Hardmax" => reduce::hardmax(call, builder),
        "ArgMax" | "ArgMin" => reduce::place(call, builder),
        "AffineGrid" => along::affine_grid(call, builder),
        "RMSNormalization" | "SimplifiedLayerNormalization" => function::rms_norm(call, builder),
        "LogSoftmax" => reduce::log_softmax(call, builder),
        reduction if reduction.starts_with("Reduce") => reduce::reduced(call, builder),
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => reshape(call, builder),
        "Cast" | "CastLike" | "Identity" | "OptionalGetElement" => handed_on(call, builder),
        _ => moves::moved(call, builder),
    }
}

/// How the refusal of an operation that is not known begins.
pub(super) const UNKNOWN: &str = "not supported";

/// The answer to an operation that is not supported, and why some cannot be.
pub(super) fn refuse<T>(node: &NodeProto) -> Result<T, Fault> {
    let why = match node.op_type.as_str() {
        "Tokenizer" | "StringNormalizer" | "TfIdfVectorizer" => {
            ": it looks into a text: let its owner do so, and export what follows"
        }
        _ if node.domain.starts_with(RUNTIME) => {
            ": give the file from before ONNX Runtime optimised it, if that is how it was made"
        }
        "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform"
        | "RandomUniformLike" => ": it draws random numbers",
        "BitCast" => ": the bits of a float are not those of its fixed-point number",
        "NonMaxSuppression" | "Unique" => {
            ": how large its output is depends on the input, which no party may know"
        }
        _ => "",
    };
    unsupported(format!("{UNKNOWN}{why}"))
}

/// The value of a node that changes nothing, and what masks it.
fn handed_on(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    mask::carried(call, builder);
    match call.node.op_type.as_str() {
        "Identity" | "OptionalGetElement" => Ok(call.required(0)?.clone()),
        _ => cast(call, builder),
    }
}

fn reshape(call: &Call, builder: &Builder) -> Result<Value, Fault> {
    let value = call.required(0)?;
    match value {
        Value::Secret { id, shape, batch } => {
            let (shape, batch) = shape::item_shape(call, shape, *batch, builder.batch)?;
            let id = *id;
            Ok(Value::Secret { id, shape, batch })
        }
        Value::Clear { shape, .. } => match shape::item_shape(call, shape, 0, builder.batch)? {
            (shape, 0) => Ok(value.with_shape(shape)),
            _ => unsupported("it moves the batch axis of what the receiver computes"),
        },
        _ => bad("its shape is computed"),
    }
}

/// Dropout where it changes nothing, and the mask that keeps all.
fn dropout(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    mask::carried(call, builder);
    let x = call.required(0)?;
    let [ratio, training] = match call.opset {
        ..12 => [None, None],
        _ => [call.optional_weights(1)?, call.optional_weights(2)?],
    };
    let is_0 = |given: &Option<call::Weights>| given.as_ref().is_some_and(|(_, v)| **v == [0.0]);
    if training.is_some() && !is_0(&training) && !is_0(&ratio) {
        return unsupported("it is in training mode; export the model for inference");
    }
    let shape = match x {
        Value::Secret { shape, .. } if call.whole => shape.clone(),
        _ => {
            let why = "its mask is used, of a batch; of a fixed batch size it is run as one item";
            return Ok(vec![x.clone(), Value::Refused(why.into())]);
        }
    };
    let kept = Constant {
        data: Data::Int(vec![1; len(&shape)]),
        kind: DataType::Bool,
        shape,
    };
    Ok(vec![x.clone(), Value::Constant(kept)])
}

/// Cast of a computed value: to another float it changes nothing that the fixed-point numbers keep, to a
/// whole number it drops what stands after the point, and the place that ArgMax gives stays the same number in
/// every type that holds it.
fn cast(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let value = call.required(0)?;
    let to = match call.node.op_type.as_str() {
        "CastLike" => match call.required(1)? {
            Value::Constant(like) => like.kind,
            _ => DataType::Float,
        },
        _ => call.cast_to()?,
    };
    if compare::is_truth(builder, value) {
        return Ok(value.clone());
    }
    if let Some(value) = token::cast(call, builder, value, to)? {
        return Ok(value);
    }
    if to.is_float() && !matches!(value, Value::Clear { .. }) {
        return Ok(value.clone());
    }
    let wide = matches!(to, DataType::Signed(32 | 64)) && matches!(value, Value::Secret { .. });
    if wide && compare::is_whole(builder, value) {
        return Ok(value.clone());
    }
    if wide {
        let made = rounding::truncated(call, builder, value)?;
        if let (Value::Secret { id, .. }, Value::Secret { id: of, .. }) = (&made, value) {
            builder.truncated.insert(*id, *of);
        }
        return Ok(made);
    }
    if to.is_bool() && matches!(value, Value::Secret { .. }) {
        return compare::is_not_0(call, builder, value);
    }
    let places = match value {
        Value::Clear { tail, .. } => tail.last().filter(|tail| tail.function.is_arg_max()),
        _ => None,
    };
    match places {
        Some(last) if to.holds(last.size - 1) => Ok(value.clone()),
        Some(last) => unsupported(format!(
            "it casts the places of {} elements to {}, which does not hold them",
            last.size,
            to.name()
        )),
        None if to.is_float() => Ok(value.clone()),
        None => unsupported(format!(
            "it casts a computed value to {}: that rounds what is exact only to the last fraction bit; leave it out and cast the result",
            to.name()
        )),
    }
}

//! From ONNX nodes to the operations of [`Graph`](crate::graph::Graph).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::call::{self, Call, Fault, Value, bad, unsupported};
use super::constant::{Constant, Data};
use super::kind::DataType;
use super::proto::NodeProto;
use super::table::{RUNTIME, is_table};
use super::{
    activation, along, attention, chosen, columns, compare, conv, einsum, element, factors,
};
use super::{
    fourier, function, grid, halves, linear, loss, mask, missing, moves, nary, norm, picked,
    places, pool, power, product,
};
use super::{quantise, rearrange, recurrent, reduce, resize, rotary, rounding, sampled};
use super::{scatter, shape, tables, tail, token, top, trigonometric, turned, whole};
use crate::graph::{Input, InputKind, Node, Op, Texts, ValueId, Weights, len};

/// The most elements of all values of one item together.
const MAX_VALUES: usize = 1 << 28;

/// The most operations: a plan with more is not read.
const MAX_NODES: usize = 10_000;

/// The graph being built.
#[derive(Default)]
pub(super) struct Builder {
    pub nodes: Vec<Node>,
    /// Whether the input is one item, so that no value has a batch axis.
    pub whole: bool,
    /// Whether an input of the file holds doubles.
    pub rounds: bool,
    /// The batch size that is read for a free one, where the input is one item.
    pub items: Option<usize>,
    /// Whether DynamicQuantizeLinear leaves what it takes as it is.
    pub unquantised: bool,
    /// The batch size in the file, where it gives one.
    pub batch: Option<i64>,
    /// The inputs of the model.
    pub inputs: Vec<Input>,
    /// An input whose numbers must be of another kind than was assumed, and which.
    pub wanted: Option<(usize, InputKind)>,
    /// For inputs, how many rows some of their numbers may choose from.
    pub wanted_limits: Vec<(usize, Vec<(usize, usize)>)>,
    /// What must be known of inputs of texts, by the inputs.
    pub wanted_texts: BTreeMap<usize, Texts>,
    /// Logarithms and powers of which a mask keeps one half.
    pub halves: HashSet<*const NodeProto>,
    /// Inverses of which only their shares matter.
    pub weights: HashSet<*const NodeProto>,
    /// Nodes whose outputs are seen by softmaxes alone, added to scores, moved or as they are.
    pub hiding: HashSet<*const NodeProto>,
    /// The value `1 / sqrt(x)` beside every value `sqrt(x)`.
    pub inverse_roots: HashMap<ValueId, ValueId>,
    /// For every logarithm of a sum of exponentials: the value that it is taken of, and the size of a row.
    pub log_sums: HashMap<ValueId, (ValueId, usize)>,
    /// For every value of shares: the largest score of each of its lines, and how the lines lie in it.
    pub lines: HashMap<ValueId, (ValueId, [usize; 3])>,
    /// Whether a mask that is computed may hide scores.
    pub hides: std::cell::Cell<bool>,
    /// For values in the file, by their names: the elements that a softmax of them leaves out.
    pub masks: HashMap<String, Vec<bool>>,
    /// Values whose elements are all 0 or 1.
    pub truths: HashSet<ValueId>,
    /// Values whose elements are whole numbers by the way they are made.
    pub wholes: HashSet<ValueId>,
    /// Values that are what stands before the point of others, and these.
    pub truncated: HashMap<ValueId, ValueId>,
    /// Values that are others over whole constants, and these two.
    pub quotients: HashMap<ValueId, [Value; 2]>,
    /// Values each of whose elements is one of those of another, and that one.
    pub chosen_from: HashMap<ValueId, ValueId>,
    /// The ends of values that rest from a division.
    pub within: HashMap<ValueId, (f64, f64)>,
    /// Values of whose rows just one element is 1 and the others are 0.
    pub marks: HashSet<ValueId>,
    /// The elements of all constants so far.
    pub constants: usize,
    /// The nodes that were read so far, each turn of a loop counted.
    pub visited: usize,
    /// The item shape of every value.
    shapes: Vec<Vec<usize>>,
    /// What was made of constants, by their address and how. The constants are kept beside, so that
    /// no address is used again.
    derived: HashMap<(*const f32, String), [Weights; 2]>,
    total: usize,
}

impl Builder {
    /// Elements of one item of a value.
    pub(super) fn len(&self, id: ValueId) -> usize {
        len(&self.shapes[id])
    }

    /// The shape of one item of a value.
    pub(super) fn shape(&self, id: ValueId) -> Vec<usize> {
        self.shapes[id].clone()
    }

    /// What `make` makes of `source`: the same weights each time that `how` is the same.
    pub(super) fn derive(
        &mut self,
        source: &Weights,
        how: String,
        make: impl FnOnce() -> Vec<f32>,
    ) -> Weights {
        let made = || [source.clone(), make().into()];
        let entry = self.derived.entry((source.as_ptr(), how));
        entry.or_insert_with(made)[1].clone()
    }

    /// Counts a value of the given item shape.
    pub(super) fn count(&mut self, shape: &[usize]) -> Result<(), String> {
        let n = super::constant::bounded_len(shape)?;
        if n == 0 {
            return Err(format!("the item shape {shape:?} has no elements"));
        }
        self.shapes.push(shape.to_vec());
        self.reserve(n)
    }

    /// Counts numbers of values, and of weights that a small file can ask for.
    pub(super) fn reserve(&mut self, n: usize) -> Result<(), String> {
        self.total = self.total.saturating_add(n);
        match self.total {
            ..=MAX_VALUES => Ok(()),
            _ => Err(format!(
                "the model's values have more than {MAX_VALUES} elements for one item"
            )),
        }
    }

    pub(super) fn push(
        &mut self,
        call: &Call,
        op: Op,
        inputs: Vec<ValueId>,
        shape: Vec<usize>,
    ) -> Result<Value, Fault> {
        let id = self.add(call.name.clone(), op, inputs, shape.clone())?;
        Ok(Value::Secret {
            id,
            shape,
            batch: 0,
        })
    }

    /// Adds a node of any name.
    pub(super) fn add(
        &mut self,
        name: String,
        op: Op,
        inputs: Vec<ValueId>,
        shape: Vec<usize>,
    ) -> Result<ValueId, Fault> {
        self.count(&shape)?;
        if self.nodes.len() == MAX_NODES {
            return unsupported(format!(
                "the model would have more than {MAX_NODES} operations: recurrent layers and loops have some for each \
                 step, so give it fewer steps"
            ));
        }
        self.nodes.push(Node {
            name,
            op,
            inputs,
            shape,
        });
        Ok(self.nodes.len())
    }
}

/// The outputs of a node; those that are left out exist only in training.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
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
    by_form(call, builder)
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
        "Conv" => conv::conv(call, builder),
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
        "Sign" => compare::sign(call, builder),
        "IsNaN" => missing::is_nan(call, builder),
        "IsInf" => missing::is_infinite(call, builder),
        "Where" => compare::choose(call, builder),
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

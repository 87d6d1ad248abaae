//! From ONNX nodes to the operations of [`Graph`](crate::graph::Graph).

use std::collections::HashMap;

use super::call::{Call, Fault, Value, bad, unsupported};
use super::proto::NodeProto;
use super::{
    attention, einsum, element, function, linear, pool, product, rearrange, recurrent, shape,
    table, tail,
};
use crate::graph::{Node, Op, ValueId, Weights, len};

/// The most elements of all values of one item together.
const MAX_VALUES: usize = 1 << 28;

/// The most operations: a plan with more is not read.
const MAX_NODES: usize = 10_000;

/// The graph being built.
#[derive(Default)]
pub(super) struct Builder {
    pub nodes: Vec<Node>,
    /// The batch size in the file, where it gives one.
    pub batch: Option<i64>,
    /// The value `1 / sqrt(x)` beside every value `sqrt(x)`.
    pub inverse_roots: HashMap<ValueId, ValueId>,
    /// Of values in the file, by their names, the elements that a softmax of them leaves out.
    pub masks: HashMap<String, Vec<bool>>,
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
        self.total += n;
        self.shapes.push(shape.to_vec());
        if self.total > MAX_VALUES {
            return Err(format!(
                "the model's values have more than {MAX_VALUES} elements for one item"
            ));
        }
        Ok(())
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
            return bad(format!("the model has more than {MAX_NODES} operations"));
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
    match call.node.op_type.as_str() {
        "GRU" | "LSTM" | "RNN" => recurrent::recurrent(call, builder),
        "Split" => rearrange::split(call, builder),
        _ => Ok(vec![one(call, builder)?]),
    }
}

/// The output of a node that has one.
fn one(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    match call.node.op_type.as_str() {
        "Conv" => linear::conv(call, builder),
        "Gemm" => linear::gemm(call, builder),
        "MatMul" => product::matmul(call, builder),
        "Einsum" => einsum::einsum(call, builder),
        "BatchNormalization" => linear::batch_norm(call, builder),
        "Add" | "Sub" | "Mul" | "Div" => element::arithmetic(call, builder),
        "Sum" => element::sum(call, builder),
        "LeakyRelu" => function::leaky_relu(call, builder),
        "Relu" => element::unary(call, builder, Op::Relu),
        "Neg" => element::negative(call, builder),
        "Expand" => element::expand(call, builder),
        "Clip" => element::clip(call, builder),
        "MaxPool" | "AveragePool" => pool::pool(call, builder),
        "GlobalMaxPool" | "GlobalAveragePool" => pool::global(call, builder),
        "ReduceMean" | "ReduceSum" => pool::reduced(call, builder),
        "Transpose" => rearrange::transposed(call, builder),
        "Gather" | "Slice" => rearrange::selected(call, builder),
        "Pad" => rearrange::pad(call, builder),
        "Concat" => rearrange::concat(call, builder),
        "Softmax" | "LogSoftmax" | "ArgMax" | "Sigmoid" if call.last => tail::tail(call),
        "Sigmoid" | "Tanh" | "Exp" | "Erf" => function::elementary(call, builder),
        "Sqrt" | "Reciprocal" => function::root_or_reciprocal(call, builder),
        "Pow" => function::pow(call, builder),
        "Gelu" => function::gelu(call, builder),
        "Softmax" => function::softmax(call, builder),
        "LayerNormalization" => function::layer_norm(call, builder),
        "RMSNormalization" => function::rms_norm(call, builder),
        "Attention" => attention::attention(call, builder),
        "LogSoftmax" | "ArgMax" => unsupported(
            "it is supported at the end of the model, where the receiver of the result computes it",
        ),
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => reshape(call, builder),
        "Identity" => Ok(call.required(0)?.clone()),
        "Dropout" => dropout(call),
        "Cast" => cast(call),
        _ => unsupported("it is supported only where all its inputs are constants"),
    }
}

/// The answer to an operation that is not supported.
pub(super) fn refuse(node: &NodeProto) -> Result<Vec<Value>, Fault> {
    match table::equivalent(&node.op_type).filter(|_| node.domain.is_empty()) {
        Some(other) => unsupported(format!("not supported; the same is {other}")),
        None => unsupported("not supported"),
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

fn dropout(call: &Call) -> Result<Value, Fault> {
    let training = if call.opset < 12 {
        None
    } else {
        call.optional_ints(2)?
    };
    match training {
        Some([0]) | None => Ok(call.required(0)?.clone()),
        _ => unsupported("it is in training mode; export the model for inference"),
    }
}

/// Cast of a computed value: to another float it changes nothing that the fixed-point numbers keep,
/// and the place that ArgMax gives stays the same number in every type that holds it.
fn cast(call: &Call) -> Result<Value, Fault> {
    let value = call.required(0)?;
    let to = call.cast_to()?;
    if to.is_float() && !matches!(value, Value::Clear { .. }) {
        return Ok(value.clone());
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

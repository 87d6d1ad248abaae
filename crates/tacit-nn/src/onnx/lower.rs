//! From ONNX nodes to the operations of [`Graph`](crate::graph::Graph).

use super::call::{Call, Fault, Value, bad, unsupported};
use super::proto::{NodeProto, data_type};
use super::{element, linear, pool, shape};
use crate::graph::{Node, Op, ValueId};

/// The operations that import takes over.
pub const SUPPORTED: &[&str] = &[
    "Add",
    "ArgMax",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "Div",
    "Dropout",
    "Expand",
    "Flatten",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Identity",
    "LogSoftmax",
    "MatMul",
    "MaxPool",
    "Mul",
    "Neg",
    "Pad",
    "Reciprocal",
    "ReduceMean",
    "Relu",
    "Reshape",
    "Shape",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Transpose",
    "Unsqueeze",
];

/// What to use instead of an operation that is not supported.
fn substitute(op: &str) -> Option<&'static str> {
    Some(match op {
        "LeakyRelu" | "PRelu" | "Elu" | "Selu" | "Gelu" | "Softplus" | "Mish" | "HardSwish"
        | "Celu" => "Relu",
        "Tanh" | "HardSigmoid" | "Softsign" => "Clip, or Relu",
        "GRU" | "LSTM" | "RNN" => "Conv over the time axis",
        "LayerNormalization" | "InstanceNormalization" | "GroupNormalization" | "LRN" => {
            "BatchNormalization"
        }
        "ConvTranspose" => "Conv",
        "LpPool" => "AveragePool",
        "Sum" => "Add",
        "Max" | "Min" => "Clip or MaxPool",
        _ => return None,
    })
}

/// The most elements of all values of one item together.
const MAX_VALUES: usize = 1 << 28;

/// The graph being built.
#[derive(Default)]
pub(super) struct Builder {
    pub nodes: Vec<Node>,
    pub lens: Vec<usize>,
    /// The batch size in the file, where it gives one.
    pub batch: Option<i64>,
    total: usize,
}

impl Builder {
    /// Elements of one item of a value.
    pub(super) fn len(&self, id: ValueId) -> usize {
        self.lens[id]
    }

    /// Counts a value of the given item shape.
    pub(super) fn count(&mut self, shape: &[usize]) -> Result<(), String> {
        let n = super::constant::bounded_len(shape)?;
        if n == 0 {
            return Err(format!("the item shape {shape:?} has no elements"));
        }
        self.total += n;
        self.lens.push(n);
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
        self.count(&shape)?;
        self.nodes.push(Node {
            name: call.name.clone(),
            op,
            inputs,
            shape: shape.clone(),
        });
        Ok(Value::Secret {
            id: self.nodes.len(),
            shape,
        })
    }
}

/// The first output of a node.
pub(super) fn lower(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    match call.node.op_type.as_str() {
        "Conv" => linear::conv(call, builder),
        "Gemm" => linear::gemm(call, builder),
        "MatMul" => linear::matmul(call, builder),
        "BatchNormalization" => linear::batch_norm(call, builder),
        "Add" | "Sub" | "Mul" | "Div" => element::arithmetic(call, builder),
        "Relu" => element::relu(call, builder),
        "Clip" => element::clip(call, builder),
        "MaxPool" | "AveragePool" => pool::pool(call, builder),
        "GlobalMaxPool" | "GlobalAveragePool" => pool::global(call, builder),
        "ReduceMean" => pool::reduce_mean(call, builder),
        "Transpose" => element::transposed(call, builder),
        "Gather" | "Slice" => element::selected(call, builder),
        "Pad" => element::pad(call, builder),
        "Concat" => element::concat(call, builder),
        "Softmax" | "LogSoftmax" | "ArgMax" | "Sigmoid" => element::tail(call),
        "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => reshape(call, builder),
        "Identity" => Ok(call.required(0)?.clone()),
        "Dropout" => dropout(call),
        "Cast" => cast(call),
        op if SUPPORTED.contains(&op) => {
            unsupported("it is supported only where all its inputs are constants")
        }
        _ => refuse(call.node),
    }
}

/// The answer to an operation outside [`SUPPORTED`].
pub(super) fn refuse(node: &NodeProto) -> Result<Value, Fault> {
    match substitute(&node.op_type) {
        Some(other) => unsupported(format!("not supported; the nearest that is: {other}")),
        None => unsupported("not supported"),
    }
}

fn reshape(call: &Call, builder: &Builder) -> Result<Value, Fault> {
    let value = call.required(0)?;
    match value {
        Value::Secret { shape, .. } | Value::Clear { shape, .. } => {
            Ok(value.with_shape(shape::item_shape(call, shape, builder.batch)?))
        }
        _ => bad("its shape is computed"),
    }
}

fn dropout(call: &Call) -> Result<Value, Fault> {
    match call.optional_ints(2)? {
        Some([0]) | None => Ok(call.required(0)?.clone()),
        _ => unsupported("it is in training mode; export the model for inference"),
    }
}

fn cast(call: &Call) -> Result<Value, Fault> {
    let value = call.required(0)?;
    let to = call.int("to", 0) as i32;
    let float = [data_type::FLOAT, data_type::FLOAT16, data_type::DOUBLE].contains(&to);
    match value {
        Value::Secret { .. } if !float => {
            unsupported("it rounds a computed value to another type than a float")
        }
        _ => Ok(value.clone()),
    }
}

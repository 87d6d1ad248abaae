//! What is folded by nothing else: a node of constants alone, as a model of its first one.

use crate::graph::{Graph, Input, Output};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Value};
use crate::onnx::compare::is_whole;
use crate::onnx::constant::{Constant, Data};
use crate::onnx::kind::DataType;
use crate::onnx::lower;
use crate::onnx::table::is_table;
use crate::reference::outputs;

/// Up to which float32 has all whole numbers.
const EXACT: f32 = 16_777_216.0;

/// The outputs of a node whose inputs are all constants, the first of floats or doubles, in float32; `None` where it
/// is no such node, or cannot be computed so: what is wrong is said of it as of any other.
pub(in crate::onnx) fn computed(call: &Call) -> Option<Vec<Value>> {
    let Some(Value::Constant(from)) = call.input(0) else {
        return None;
    };
    let constant = |value: &&Value| matches!(value, Value::Constant(_));
    let numbers = match &from.data {
        Data::Float(numbers) => numbers,
        // Whole numbers of more digits than float32 has would lose some.
        Data::Double { rounded, .. } if rounded.iter().all(|v| v.abs() < EXACT) => rounded,
        Data::Double { .. } => return None,
        Data::Int(_) => return None,
    };
    if is_table(call.node) || !call.inputs.iter().flatten().all(constant) {
        return None;
    }
    let mut builder = Builder::default();
    builder.whole = true;
    builder.inputs = vec![Input::numbers(&call.name, &from.shape)];
    builder.count(&from.shape).ok()?;
    let given = Value::Secret {
        id: 0,
        shape: from.shape.clone(),
        batch: 0,
    };
    let mut inputs = call.inputs.clone();
    inputs[0] = Some(&given);
    let as_model = Call {
        name: call.name.clone(),
        whole: true,
        last: false,
        masks: false,
        inputs,
        ..*call
    };
    let made = lower::lower(&as_model, &mut builder).ok()?;
    let places = ["ArgMax", "ArgMin", "MaxPool", "TopK"];
    let gives_places = places.contains(&&call.node.op_type[..]);
    let outputs = made.iter().map(|value| match value {
        Value::Secret { id, shape, .. } if !builder.truths.contains(id) => {
            let graph = Graph {
                inputs: builder.inputs.clone(),
                nodes: builder.nodes[..*id].to_vec(),
                output: *id,
                outputs: vec![Output::whole(&call.name, shape)],
                remarks: vec![],
            };
            let values = outputs(&graph, numbers).ok()?;
            let loses = from.kind == DataType::Double && values.iter().any(|v| v.abs() >= EXACT);
            (!loses).then_some(())?;
            let (kind, data) = match gives_places && is_whole(&builder, value) {
                false => of_kind(from.kind, values),
                true => {
                    let whole = values.iter().map(|&v| v as i64).collect();
                    (DataType::Signed(64), Data::Int(whole))
                }
            };
            let shape = shape.clone();
            Some(Value::Constant(Constant { shape, kind, data }))
        }
        Value::Constant(_) | Value::Refused(_) => Some(value.clone()),
        _ => None,
    });
    outputs.collect()
}

/// Numbers as doubles if what they are made of is, else as floats.
pub(super) fn of_kind(kind: DataType, values: Vec<f32>) -> (DataType, Data) {
    match kind {
        DataType::Double => (
            kind,
            Data::double(values.into_iter().map(f64::from).collect()),
        ),
        _ => (DataType::Float, Data::Float(values.into())),
    }
}

//! If whose condition is computed: both of its graphs are computed, and what they give is chosen by a truth.

use std::collections::HashMap;

use super::{Progress, Stop};
use crate::graph::len;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::importer::Importer;
use crate::onnx::lower;
use crate::onnx::proto::NodeProto;

impl<'a> Importer<'a> {
    /// Of each output of both graphs the one that the condition says. No party learns which way it goes.
    pub(super) fn either(
        &self,
        call: &Call<'a>,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        let (mut outputs, mut names) = (Vec::new(), Vec::new());
        for name in ["then_branch", "else_branch"] {
            let body = self.body(call, name, env, progress.builder)?;
            let scope = format!("{}/{name}/", call.name);
            outputs.push(self.turn(&body, vec![], &scope, progress)?);
            names.push(&body.graph.output);
        }
        let (no, yes) = (outputs.pop(), outputs.pop());
        let (no, yes) = (no.unwrap_or_default(), yes.unwrap_or_default());
        if yes.len() != no.len() {
            let why = format!("its graphs give {} and {} values", yes.len(), no.len());
            return Ok(bad(why)?);
        }
        let mut chosen = Vec::with_capacity(yes.len());
        for (i, [yes, no]) in yes.iter().zip(&no).map(|(yes, no)| [yes, no]).enumerate() {
            let unknown = |value: &Value| matches!(value, Value::Unknown | Value::Refused(_));
            if unknown(yes) || unknown(no) {
                chosen.push(Value::Unknown);
                continue;
            }
            let condition = stretched(call, call.required(0)?, [yes, no])?;
            let given = names.iter().map(|outputs| outputs[i].name.clone());
            let node = NodeProto {
                op_type: "Where".into(),
                input: call
                    .node
                    .input
                    .iter()
                    .take(1)
                    .cloned()
                    .chain(given)
                    .collect(),
                output: call.node.output.iter().skip(i).take(1).cloned().collect(),
                ..NodeProto::default()
            };
            let one = Call {
                node: &node,
                name: format!("{}.{i}", call.name),
                last: false,
                masks: false,
                kind: None,
                inputs: vec![Some(&condition), Some(yes), Some(no)],
                ..*call
            };
            chosen.extend(lower::lower(&one, progress.builder)?);
        }
        Ok(chosen)
    }
}

/// The condition with as many axes as what it chooses between has, which must be of one shape.
fn stretched(call: &Call, condition: &Value, between: [&Value; 2]) -> Result<Value, Fault> {
    let Value::Secret { id, shape, .. } = condition else {
        return Ok(condition.clone());
    };
    if len(shape) != 1 {
        let many = len(shape);
        return unsupported(format!(
            "its condition is computed and has {many} truths for one item"
        ));
    }
    let batch = between.iter().find_map(|value| match value {
        Value::Secret { batch, .. } => Some(*batch),
        _ => None,
    });
    let batch = batch.unwrap_or(0);
    let [yes, no] = between.map(|value| of_item(call, value, batch));
    let (yes, no) = (yes?, no?);
    if yes != no {
        return unsupported(
            "its condition is computed, and its graphs give values of other shapes than one another",
        );
    }
    Ok(Value::Secret {
        id: *id,
        shape: vec![1; yes.len()],
        batch,
    })
}

/// The shape of one item of a value whose batch axis, if it has one, stands at `batch`.
fn of_item(call: &Call, value: &Value, batch: usize) -> Result<Vec<usize>, Fault> {
    match value {
        Value::Secret {
            shape, batch: own, ..
        } if *own == batch => Ok(shape.clone()),
        Value::Secret { .. } => unsupported(
            "its condition is computed, and what its graphs give has the batch at different axes",
        ),
        Value::Constant(constant) => {
            let mut shape = constant.shape.clone();
            if !call.whole && (batch >= shape.len() || shape.remove(batch) != 1) {
                return unsupported(
                    "its condition is computed, and a constant that one of its graphs gives has no batch axis of size 1",
                );
            }
            Ok(shape)
        }
        _ => unsupported(
            "its condition is computed, and one of its graphs gives neither numbers nor a constant",
        ),
    }
}

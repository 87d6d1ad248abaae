//! If whose condition is computed: both of its graphs are computed, and what they give is chosen by a truth.

use std::collections::HashMap;

use super::{Progress, Stop};
use crate::graph::len;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::choice;
use crate::onnx::importer::Importer;

impl<'a> Importer<'a> {
    /// Of each output of both graphs the one that the condition says. No party learns which way it goes.
    pub(super) fn either(
        &self,
        call: &Call<'a>,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        let mut outputs = Vec::new();
        for name in ["then_branch", "else_branch"] {
            let body = self.body(call, name, env, progress.builder)?;
            let scope = format!("{}/{name}/", call.name);
            outputs.push(self.turn(&body, vec![], &scope, progress)?);
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
            let one = Call {
                name: format!("{}.{i}", call.name),
                last: false,
                masks: false,
                kind: None,
                inputs: vec![Some(&condition), Some(yes), Some(no)],
                ..*call
            };
            chosen.push(choice::choose(&one, progress.builder)?);
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
    match between.map(|value| of_item(call, value, batch)) {
        [Some(yes), Some(no)] if yes == no => Ok(Value::Secret {
            id: *id,
            shape: vec![1; yes.len()],
            batch,
        }),
        _ => unsupported(
            "its condition is computed, and its graphs give values of other shapes than one another",
        ),
    }
}

/// The shape of one item of a value whose batch axis, if it has one, stands at `batch`.
fn of_item(call: &Call, value: &Value, batch: usize) -> Option<Vec<usize>> {
    match value {
        Value::Secret {
            shape, batch: own, ..
        } => (*own == batch).then(|| shape.clone()),
        Value::Constant(constant) => {
            let mut shape = constant.shape.clone();
            if !call.whole {
                let items = (batch < shape.len()).then(|| shape.remove(batch));
                items.filter(|&items| items == 1)?;
            }
            Some(shape)
        }
        _ => None,
    }
}

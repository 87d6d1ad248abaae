//! Losses of constant targets: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad};
use super::compose::{Composer, value};
use super::moves::needs_whole;
use super::reduce::log_shares;
use crate::graph::{Affine, FILL, Op, Weights, len};

/// For every target the class's logarithm with its weight, negative: all of them, their sum or their mean.
/// And the logarithms of all classes.
pub(super) fn loss(call: &Call, builder: &mut Builder) -> Result<Vec<Value>, Fault> {
    needs_whole(call)?;
    let (x, shape) = call.secret(0)?;
    let &[items, classes, ref space @ ..] = shape else {
        return bad(format!(
            "its input has the shape {shape:?}, without classes"
        ));
    };
    let inner = len(space);
    let targets = call.ints(1)?;
    if call.constant(1)?.shape != [&[items], space].concat() {
        return bad("its targets do not fit its input");
    }
    let given = match call.optional_weights(2)? {
        None => vec![1.0; classes].into(),
        Some((of, weights)) if of == [classes] => weights,
        Some((of, _)) => return bad(format!("its weights of the shape {of:?} are not {classes}")),
    };
    let ignored = call.attribute("ignore_index").and_then(|a| a.i);
    let (mut index, mut weights) = (Vec::new(), Vec::new());
    for (e, &target) in targets.iter().enumerate() {
        let class = usize::try_from(target)
            .ok()
            .filter(|&class| class < classes);
        match class {
            _ if Some(target) == ignored => {
                index.push(FILL);
                weights.push(0.0);
            }
            Some(class) => {
                let (item, place) = (e / inner, e % inner);
                index.push(((item * classes + class) * inner + place) as u32);
                weights.push(given[class]);
            }
            None => return bad(format!("its target {target} is none of {classes} classes")),
        }
    }
    let mut c = Composer::new(call, builder);
    let logs = match call.node.op_type.as_str() {
        "SoftmaxCrossEntropyLoss" => log_shares(&mut c, x, [items, classes, inner])?,
        _ => x,
    };
    let (many, shown) = (index.len(), value(logs, shape.to_vec()));
    let op = Op::Rearrange { index, fill: 0.0 };
    let chosen = c.node("chosen", op, &[logs], [&[items], space].concat())?;
    let total: f32 = weights.iter().sum();
    let reduction = call.text("reduction", "mean");
    let by = match reduction.as_str() {
        "mean" if total == 0.0 => return bad("its targets have no weight, whose mean it is"),
        "mean" => total,
        "none" | "sum" => 1.0,
        other => return bad(format!("its 'reduction' is '{other}'")),
    };
    let factors: Weights = weights.iter().map(|w| -w / by).collect();
    if reduction != "none" {
        let sum = c.linear("loss", chosen, [many, 1], factors, Weights::default())?;
        return Ok(vec![value(sum, vec![]), shown]);
    }
    let op = Op::Affine(Affine {
        inner: 1,
        scale: factors,
        shift: Weights::default(),
    });
    let id = c.each("loss", op, &[chosen])?;
    Ok(vec![value(id, [&[items], space].concat()), shown])
}

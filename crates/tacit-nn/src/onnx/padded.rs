//! Padding with the lowest numbers that nothing but maxima read, as TensorFlow's layers are written in PyTorch: it is
//! padding of the windows themselves, which no maximum sees.

use super::makers::{Makers, attribute, changes};
use super::proto::{AttributeProto, GraphProto, NodeProto};

/// What is this low or lower is below every number of a ring.
const LOWEST: f32 = -1e30;

/// The type of an attribute of whole numbers.
const INTS: i32 = 7;

/// Gives MaxPool the padding that a Pad before it writes.
pub(super) fn write(graph: &mut GraphProto) {
    for (at, (x, pads)) in changes(graph, padding) {
        let node = &mut graph.node[at];
        node.input[0] = x;
        node.attribute.retain(|a| a.name != "pads");
        node.attribute.push(AttributeProto {
            name: "pads".into(),
            ints: pads,
            r#type: INTS,
            ..AttributeProto::default()
        });
    }
}

/// What a maximum takes without the padding before it, and its own padding with that.
fn padding(makers: &Makers, node: &NodeProto) -> Option<(String, Vec<i64>)> {
    if node.op_type != "MaxPool" {
        return None;
    }
    let of = |name: &str| attribute(node, name);
    let plain = of("ceil_mode").and_then(|a| a.i).unwrap_or(0) == 0
        && of("auto_pad").is_none_or(|a| a.s.as_deref() == Some(b"NOTSET"));
    // Places are counted in what is padded.
    if !plain || node.output.len() > 1 {
        return None;
    }
    let pad = makers.node(node.input.first()?, "Pad")?;
    let mode = attribute(pad, "mode");
    let constant = mode.is_none_or(|mode| mode.s.as_deref() == Some(b"constant"));
    // An empty name stands for an input that is not given.
    let [x, before, fill, rest @ ..] = &pad.input[..] else {
        return None;
    };
    let low = makers.float(fill).is_some_and(|fill| fill <= LOWEST);
    if !constant || !low || rest.iter().any(|axes| !axes.is_empty()) {
        return None;
    }
    let before = makers.wholes(before)?;
    let rank = before.len() / 2;
    let (first, last) = before.split_at(rank);
    let along = |pads: &[i64]| -> Option<Vec<i64>> {
        let (items, space) = pads.split_at_checked(2)?;
        let fits = items.iter().all(|&p| p == 0) && space.iter().all(|&p| p >= 0);
        fits.then(|| space.to_vec())
    };
    let added = [along(first)?, along(last)?].concat();
    let own = of("pads").map_or(vec![0; added.len()], |a| a.ints.clone());
    if own.len() != added.len() {
        return None;
    }
    let sum = own.iter().zip(&added).map(|(a, b)| a.checked_add(*b));
    Some((x.clone(), sum.collect::<Option<_>>()?))
}

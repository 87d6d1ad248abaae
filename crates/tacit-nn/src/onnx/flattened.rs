//! Rows that are chosen of all items at once, as torch's first exporter writes `x[row, place]`: a Gather of `x` flattened
//! to one row of columns for each pair of places, at `row * size + place`. Written as the GatherND that it means.
//!
//! A place below 0 counts from the end of its own row, as where the batch is one item; of several the flattened form takes
//! it from the item before. So only a free batch, whose items are predicted one by one, is written so.

use super::made::{AXES_GIVEN, int, node, wholes};
use super::makers::{Makers, attribute, changes};
use super::proto::{GraphProto, NodeProto};

/// What is chosen from, and the places along its first two axes.
struct Pairs {
    x: String,
    rows: String,
    places: String,
}

/// Writes them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    let sizes = graph.input.iter().filter_map(|input| input.r#type.as_ref());
    let shapes = sizes.filter_map(|of| of.tensor_type.as_ref()?.shape.as_ref());
    let is_free = shapes
        .flat_map(|shape| &shape.dim)
        .any(|dim| dim.dim_value.is_none());
    if opset < AXES_GIVEN || !is_free {
        return;
    }
    // From the last on, so that the places of the others stay.
    for (at, Pairs { x, rows, places }) in changes(graph, of).into_iter().rev() {
        let gather = graph.node[at].clone();
        let (Some(both), Some(output)) = (gather.input.get(1), gather.output.first()) else {
            continue;
        };
        let name = |what: &str| format!("{output}/{what} of a pair of places");
        let [last, sizes, shape] = ["last axis", "sizes", "shape"].map(name);
        let mut nodes = vec![node("Shape", &[both], &sizes)];
        graph.initializer.push(wholes(&last, &[-1]));
        let mut columns = Vec::new();
        for (from, what) in [(&rows, "rows"), (&places, "places")] {
            let (wide, column) = (name(what), name(&format!("column of {what}")));
            nodes.push(node("Expand", &[from, &sizes], &wide));
            nodes.push(node("Unsqueeze", &[&wide, &last], &column));
            columns.push(column);
        }
        let (pairs, chosen) = (name("pairs"), name("chosen"));
        nodes.push(NodeProto {
            attribute: vec![int("axis", -1)],
            ..node("Concat", &[&columns[0], &columns[1]], &pairs)
        });
        nodes.push(NodeProto {
            name: gather.name.clone(),
            ..node("GatherND", &[&x, &pairs], &chosen)
        });
        // All behind the second axis of what is chosen from stands in one.
        nodes.push(NodeProto {
            attribute: vec![int("axis", 0)],
            ..node("Concat", &[&sizes, &last], &shape)
        });
        nodes.push(node("Reshape", &[&chosen, &shape], output));
        graph.node.splice(at..=at, nodes);
    }
}

/// The pairs of places that a Gather chooses by.
fn of(makers: &Makers, gather: &NodeProto) -> Option<Pairs> {
    let whole = |node: &NodeProto, name: &str, plain: i64| {
        attribute(node, name).map_or(Some(plain), |a| a.i)
    };
    let ([flat, both], "Gather") = (&gather.input[..], &gather.op_type[..]) else {
        return None;
    };
    let flatten = makers.node(flat, "Flatten")?;
    if whole(gather, "axis", 0)? != 0 || whole(flatten, "axis", 1)? != 2 {
        return None;
    }
    let x = flatten.input.first()?;
    let sum = makers.inputs(both, "Add")?;
    let is_size = |value: &str| {
        let [sizes, axis] = makers.inputs(value, "Gather")?;
        let shape = makers.node(sizes, "Shape")?;
        let plain =
            shape.attribute.is_empty() && whole(makers.node(value, "Gather")?, "axis", 0)? == 0;
        let second = plain && makers.whole(axis)? == 1;
        (second && makers.are_alike(shape.input.first()?, x, &mut 0)).then_some(())
    };
    let found = [[0, 1], [1, 0]].into_iter().find_map(|[start, place]| {
        let product = makers.inputs(sum[start], "Mul")?;
        let at = (0..2).find(|&at| is_size(product[at]).is_some())?;
        Some((product[1 - at], sum[place]))
    });
    let (rows, places) = found?;
    are_rows(makers, rows)?;
    Some(Pairs {
        x: x.clone(),
        rows: rows.into(),
        places: places.into(),
    })
}

/// Whether a value is the numbers of all rows, beside which axes may stand: of a batch, whose size is not known.
fn are_rows(makers: &Makers, value: &str) -> Option<()> {
    let node = makers.maker(value)?;
    match (&node.op_type[..], &node.input[..]) {
        ("Range", [start, end, step]) => {
            let all = makers.is_number(start, 0) && makers.is_number(step, 1);
            (all && makers.tensor(end).is_none()).then_some(())
        }
        ("Unsqueeze", [range, axes]) => {
            let behind = makers
                .wholes(axes)?
                .iter()
                .all(|&axis| axis > 0 || axis == -1);
            makers.node(range, "Range").filter(|_| behind)?;
            are_rows(makers, range)
        }
        _ => None,
    }
}

//! The last row that a mask marks, or the first, of each item: `x[mask].view(len(x), -1, size)[:, -1]`, as classifiers of
//! texts choose the row of the token that ends them. A mask leaves as many rows as it marks, which no shape tells; of
//! each item the one that is asked for is the sum of all rows times 1 where a mark has none behind it.
//!
//! Of an item without a mark onnxruntime has no row and fails, and this has zeros.

use super::made::{AXES_GIVEN, int, node, single, wholes};
use super::makers::{Makers, attribute, changes};
use super::proto::data_type::FLOAT;
use super::proto::{GraphProto, NodeProto};

/// The rows of which one is taken, and which.
struct Ended {
    x: String,
    mask: String,
    /// What makes rows of one item stand side by side.
    shape: String,
    last: bool,
}

/// Writes them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    if opset < AXES_GIVEN {
        return;
    }
    // From the last on, so that the places of the others stay.
    for (at, ended) in changes(graph, of).into_iter().rev() {
        let gather = graph.node[at].clone();
        let (Some(index), Some(output)) = (gather.input.get(1), gather.output.first()) else {
            continue;
        };
        let name = |what: &str| format!("{output}/{what} of what a mask marks");
        let [one, half, marks, others, only] = ["one", "half", "marks", "others", "only"].map(name);
        let [number, mark, line, row, rows, shaped] =
            ["number", "mark", "line", "row", "rows", "shaped"].map(name);
        graph
            .initializer
            .extend([wholes(&one, &[1]), single(&half, 0.5)]);
        let number_of = |from: &str, to: &str| NodeProto {
            attribute: vec![int("to", FLOAT.into())],
            ..node("Cast", &[from], to)
        };
        let made = [
            number_of(&ended.mask, &marks),
            NodeProto {
                attribute: vec![int("exclusive", 1), int("reverse", ended.last.into())],
                ..node("CumSum", &[&marks, &one], &others)
            },
            node("Less", &[&others, &half], &only),
            number_of(&only, &number),
            node("Mul", &[&marks, &number], &mark),
            node("Unsqueeze", &[&mark, &one], &line),
            node("MatMul", &[&line, &ended.x], &row),
            node("Squeeze", &[&row, &one], &rows),
            node("Reshape", &[&rows, &ended.shape], &shaped),
            NodeProto {
                input: vec![shaped, index.clone()],
                ..gather.clone()
            },
        ];
        graph.node.splice(at..=at, made);
    }
}

/// The rows of which a Gather takes the last or the first.
fn of(makers: &Makers, gather: &NodeProto) -> Option<Ended> {
    let ([shaped, index], "Gather") = (&gather.input[..], &gather.op_type[..]) else {
        return None;
    };
    let along = attribute(gather, "axis").map_or(Some(0), |a| a.i)?;
    let last = match makers.whole(index)? {
        -1 => true,
        0 => false,
        _ => return None,
    };
    let [rows, shape] = makers.inputs(shaped, "Reshape").filter(|_| along == 1)?;
    let beside = match (makers.wholes(shape), makers.node(shape, "Concat")) {
        (Some(sizes), _) => sizes.len() == 3 && sizes[1] == -1,
        (None, joined) => match &joined?.input[..] {
            [_, each, _] => makers.whole(each) == Some(-1),
            _ => false,
        },
    };
    let [x, places] = makers.inputs(rows, "GatherND").filter(|_| beside)?;
    let plain =
        attribute(makers.node(rows, "GatherND")?, "batch_dims").is_none_or(|a| a.i == Some(0));
    let turned = makers.node(places, "Transpose").filter(|_| plain)?;
    let of_marks = attribute(turned, "perm").is_none_or(|a| a.ints == [1, 0]);
    let found = makers
        .node(turned.input.first()?, "NonZero")
        .filter(|_| of_marks)?;
    Some(Ended {
        x: x.into(),
        mask: found.input.first()?.clone(),
        shape: shape.into(),
        last,
    })
}

//! The last row that a mask marks, or the first, of each item: `x[mask].view(len(x), -1, size)[:, -1]`, as classifiers of
//! texts choose the row of the token that ends them. A mask leaves as many rows as it marks, which no shape tells; of
//! each item the one that is asked for is the sum of all rows times 1 where a mark has none behind it.
//!
//! Of an item without a mark onnxruntime has no row and fails, and this has zeros.

use super::made::{AXES_GIVEN, int, node, single, text, wholes};
use super::makers::{Makers, attribute, changes};
use super::proto::data_type::{BOOL, FLOAT};
use super::proto::{GraphProto, NodeProto};

/// The rows of which one is taken, and which.
struct Ended {
    x: String,
    mask: String,
    /// The sizes of what rows of one item side by side are, but for how many there are.
    sizes: Sizes,
    last: bool,
}

/// Sizes that are constants, or computed ones.
enum Sizes {
    Known([i64; 2]),
    Made([String; 2]),
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
        let [one, half, truths, marks, others] =
            ["one", "half", "truths", "marks", "others"].map(name);
        let [only, number, mark, row, shape, shaped] =
            ["only", "number", "mark", "row", "shape", "shaped"].map(name);
        graph
            .initializer
            .extend([wholes(&one, &[1]), single(&half, 0.5)]);
        let cast = |from: &str, to: &str, kind: i32| NodeProto {
            attribute: vec![int("to", kind.into())],
            ..node("Cast", &[from], to)
        };
        let mut made = vec![
            cast(&ended.mask, &truths, BOOL),
            cast(&truths, &marks, FLOAT),
            NodeProto {
                attribute: vec![int("exclusive", 1), int("reverse", ended.last.into())],
                ..node("CumSum", &[&marks, &one], &others)
            },
            node("Less", &[&others, &half], &only),
            cast(&only, &number, FLOAT),
            node("Mul", &[&marks, &number], &mark),
            // Of other axes than an item's places and their numbers this is refused.
            NodeProto {
                attribute: vec![text("equation", "ij,ijk->ik")],
                ..node("Einsum", &[&mark, &ended.x], &row)
            },
        ];
        match &ended.sizes {
            Sizes::Known([items, size]) => {
                graph.initializer.push(wholes(&shape, &[*items, 1, *size]));
            }
            Sizes::Made([items, size]) => made.push(NodeProto {
                attribute: vec![int("axis", 0)],
                ..node("Concat", &[items, &one, size], &shape)
            }),
        }
        made.push(node("Reshape", &[&row, &shape], &shaped));
        made.push(NodeProto {
            input: vec![shaped, index.clone()],
            ..gather.clone()
        });
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
    let sizes = match makers.wholes(shape).as_deref() {
        Some(&[items, -1, size]) if items > 0 => Sizes::Known([items, size]),
        Some(_) => return None,
        None => match &makers.node(shape, "Concat")?.input[..] {
            [items, each, size] if makers.whole(each) == Some(-1) => {
                Sizes::Made([items.clone(), size.clone()])
            }
            _ => return None,
        },
    };
    let [x, places] = makers.inputs(rows, "GatherND")?;
    let found = makers.node(rows, "GatherND")?;
    let plain = attribute(found, "batch_dims").is_none_or(|a| a.i == Some(0));
    let turned = makers.node(places, "Transpose").filter(|_| plain)?;
    let of_marks = attribute(turned, "perm").is_none_or(|a| a.ints == [1, 0]);
    let found = makers
        .node(turned.input.first()?, "NonZero")
        .filter(|_| of_marks)?;
    let mask = found.input.first()?;
    makers.is_of_inputs(mask).then(|| Ended {
        x: x.into(),
        mask: mask.clone(),
        sizes,
        last,
    })
}

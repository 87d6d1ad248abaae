//! GatherND from a table of two axes at pairs of places, found by ArgMax or by the numbers of texts, as explainable boosting
//! machines look up what two columns say together: the row of the one, times a row of zeros with a 1 at the place of the
//! other, summed.

use super::made::{AXES_GIVEN, floats, int, node, wholes};
use super::makers::{Makers, attribute, changes};
use super::proto::{GraphProto, NodeProto};

/// The places of both axes, and how many the second has.
struct Pair {
    places: [String; 2],
    columns: i64,
}

/// Writes them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    if opset < AXES_GIVEN {
        return;
    }
    // From the last on, so that the places of the others stay.
    for (at, pair) in changes(graph, of).into_iter().rev() {
        let node = graph.node[at].clone();
        let (Some(table), Some(output)) = (node.input.first(), node.output.first()) else {
            continue;
        };
        let name = |what: &str| format!("{output}/{what} of a pair");
        let [depth, values, last, before] = ["columns", "values", "last", "before"].map(name);
        let [row, marks, mark, part] = ["row", "marks", "mark", "part"].map(name);
        graph.initializer.extend([
            wholes(&depth, &[pair.columns]),
            floats(&values, vec![0.0, 1.0]),
            wholes(&last, &[-1]),
            wholes(&before, &[-2]),
        ]);
        let [first, second] = pair.places.each_ref().map(String::as_str);
        let with = |made: NodeProto, attribute: &str, value: i64| NodeProto {
            attribute: vec![int(attribute, value)],
            ..made
        };
        let made = [
            self::node("GatherND", &[table, first], &row),
            with(
                self::node("OneHot", &[second, &depth, &values], &marks),
                "axis",
                -1,
            ),
            with(
                self::node("ReduceSum", &[&marks, &before], &mark),
                "keepdims",
                0,
            ),
            self::node("Mul", &[&row, &mark], &part),
            with(
                self::node("ReduceSum", &[&part, &last], output),
                "keepdims",
                0,
            ),
        ];
        graph.node.splice(at..=at, made);
    }
}

fn of(makers: &Makers, node: &NodeProto) -> Option<Pair> {
    let [table, index] = &node.input[..] else {
        return None;
    };
    let plain = node.op_type == "GatherND" && attribute(node, "batch_dims").is_none();
    let &[_, columns] = &makers.tensor(table).filter(|_| plain)?.dims[..] else {
        return None;
    };
    let joined = makers.node(index, "Concat")?;
    let axis = attribute(joined, "axis")?.i?;
    let [first, second] = &joined.input[..] else {
        return None;
    };
    // A place that ArgMax keeps as an axis of one is a column, and so is the number of a text that Flatten leaves beside
    // its item.
    let is_column = |value: &str| {
        let Some(found) = makers.node(value, "ArgMax") else {
            let flat = makers.node(value, "Flatten")?;
            let along = attribute(flat, "axis").map_or(Some(1), |a| a.i)?;
            makers.node(flat.input.first()?, "CategoryMapper")?;
            return (along == 1 && (axis == 1 || axis == -1)).then_some(());
        };
        let keeps = attribute(found, "keepdims").is_none_or(|a| a.i == Some(1));
        let along = attribute(found, "axis").map_or(Some(0), |a| a.i)?;
        let input = found.input.first()?;
        let last = axis == -1 || axis == 1 && makers.is_matrix(input);
        (keeps && along == axis && last).then_some(())
    };
    is_column(first)?;
    is_column(second)?;
    Some(Pair {
        places: [first.clone(), second.clone()],
        columns: Some(columns).filter(|&columns| columns > 0)?,
    })
}

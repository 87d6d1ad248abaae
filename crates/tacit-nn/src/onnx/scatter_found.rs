//! ScatterElements at places that TopK or ArgMax found, as routers of experts choose groups, or at tokens: by a row of
//! zeros with a 1 for every place (OneHot), times the updates, summed.

use std::collections::HashMap;

use super::made::{AXES_GIVEN, floats, int, node, wholes};
use super::makers::{Filled, Makers, attribute, changes};
use super::mask::LEAST;
use super::proto::data_type::{BOOL, FLOAT, INT32, INT64};
use super::proto::{
    AttributeProto, DimensionProto, GraphProto, NodeProto, TensorProto, TensorTypeProto,
};

/// The most slices between an input and its columns.
const MOST_SLICES: usize = 16;

/// A scatter whose places TopK or ArgMax found, or tokens are.
struct Found {
    depth: Depth,
    /// The type of the elements.
    elements: i32,
    /// Whether updates are added to what is there, as they may be to zeros.
    adds: bool,
    /// The number that is chosen everywhere else: one that hides scores, since no product keeps it, or any where all
    /// updates are one number.
    elsewhere: Option<f32>,
    /// The number that all updates are, where a place may be found twice.
    once: Option<f32>,
}

/// Places along the last axis.
enum Depth {
    Known(i64),
    /// As many as the last axis of this value has.
    Of(String),
}

/// Writes them, in a file of such an operator set.
pub(super) fn write(graph: &mut GraphProto, opset: i64) {
    if opset < AXES_GIVEN {
        return;
    }
    // From the last on, so that the places of the others stay.
    for (at, found) in found(graph).into_iter().rev() {
        let node = graph.node[at].clone();
        let mut written = Written {
            prefix: node.output[0].clone(),
            nodes: Vec::new(),
        };
        let constants = written.put(&node, &found);
        graph.initializer.extend(constants);
        graph.node.splice(at..=at, written.nodes);
    }
}

struct Written {
    prefix: String,
    nodes: Vec<NodeProto>,
}

impl Written {
    fn name(&self, what: &str) -> String {
        format!("{}/{what} of what is found", self.prefix)
    }

    fn add(
        &mut self,
        kind: &str,
        inputs: &[&str],
        what: &str,
        attribute: &[(&str, i64)],
    ) -> String {
        let output = self.name(what);
        self.nodes.push(NodeProto {
            attribute: attribute.iter().map(|(name, i)| int(name, *i)).collect(),
            ..node(kind, inputs, &output)
        });
        output
    }

    /// The nodes; returns their constants.
    fn put(&mut self, node: &NodeProto, found: &Found) -> Vec<TensorProto> {
        let [data, index, updates] = [0, 1, 2].map(|i| &node.input[i][..]);
        let [depth, values, last, before] =
            ["depth", "values", "last axis", "axis before"].map(|what| self.name(what));
        // Whole numbers stay such.
        let kind = match found.elements {
            INT32 | INT64 => INT64,
            _ => FLOAT,
        };
        let numbers = |name: &str, values: &[i64]| match kind {
            INT64 => wholes(name, values),
            _ => floats(name, values.iter().map(|&v| v as f32).collect()),
        };
        let mut constants = vec![
            wholes(&last, &[-1]),
            wholes(&before, &[-2]),
            numbers(&values, &[0, 1]),
        ];
        let depth = match &found.depth {
            Depth::Known(size) => {
                constants.push(wholes(&depth, &[*size]));
                depth
            }
            Depth::Of(like) => {
                let sizes = self.add("Shape", &[like], "sizes", &[]);
                self.add("Gather", &[&sizes, &last], "depth", &[("axis", 0)])
            }
        };
        let to_kind = [("to", i64::from(kind))];
        let plain = [("keepdims", 0)];
        let hot = self.add("OneHot", &[index, &depth, &values], "rows", &[("axis", -1)]);
        let updates = self.add("Cast", &[updates], "updates", &to_kind);
        let updates = self.add("Unsqueeze", &[&updates, &last], "columns", &[]);
        let each = self.add("Mul", &[&hot, &updates], "products", &[]);
        let mut sum = self.add("ReduceSum", &[&each, &before], "sum", &plain);
        let mut kept = self.add("Cast", &[data], "data", &to_kind);
        if let Some(elsewhere) = found.elsewhere {
            let far = self.name("far");
            constants.push(floats(&far, vec![elsewhere]));
            if let Some(update) = found.once {
                sum = self.name("update");
                constants.push(floats(&sum, vec![update]));
            }
            let taken = self.add("ReduceSum", &[&hot, &before], "places", &plain);
            let taken = self.add("Cast", &[&taken], "taken", &[("to", i64::from(BOOL))]);
            self.add("Where", &[&taken, &sum, &far], "result", &[]);
            self.end(node);
            return constants;
        }
        if !found.adds {
            let one = self.name("1");
            constants.push(numbers(&one, &[1]));
            let taken = self.add("ReduceSum", &[&hot, &before], "places", &plain);
            let left = self.add("Sub", &[&one, &taken], "others", &[]);
            kept = self.add("Mul", &[&kept, &left], "kept", &[]);
        }
        // Zeros are added, too: so the declared shape must be theirs.
        sum = self.add("Add", &[&kept, &sum], "joined", &[]);
        if found.elements == BOOL {
            // Not other than 0: that a rounded 0 may be, too.
            let half = self.name("half");
            constants.push(floats(&half, vec![0.5]));
            self.add("Greater", &[&sum, &half], "result", &[]);
        } else {
            let to = [("to", i64::from(found.elements))];
            self.add("Cast", &[&sum], "result", &to);
        }
        self.end(node);
        constants
    }

    /// Names what the last node makes as `node` does.
    fn end(&mut self, node: &NodeProto) {
        if let Some(last) = self.nodes.last_mut() {
            last.output = node.output.clone();
        }
    }
}

fn found(graph: &GraphProto) -> Vec<(usize, Found)> {
    let declared = graph.value_info.iter().chain(&graph.input);
    let types: HashMap<&str, &TensorTypeProto> = declared
        .filter_map(|info| Some((&info.name[..], info.r#type.as_ref()?.tensor_type.as_ref()?)))
        .collect();
    changes(graph, |makers, node| of(makers, &types, node))
}

fn of(makers: &Makers, types: &HashMap<&str, &TensorTypeProto>, node: &NodeProto) -> Option<Found> {
    if node.op_type != "ScatterElements" {
        return None;
    }
    let [data, index, _] = &node.input[..] else {
        return None;
    };
    let whole = |node: &NodeProto, name: &str, plain: i64| {
        attribute(node, name).map_or(Some(plain), |a| a.i)
    };
    let adds = match attribute(node, "reduction").and_then(|a| a.s.as_deref()) {
        None | Some(b"none") => false,
        Some(b"add") => true,
        _ => return None,
    };
    let filled = Filled::of(makers, data);
    if let Some(found) = of_tokens(makers, types, node, adds) {
        return Some(found);
    }
    let elsewhere = filled.as_ref().map(|filled| filled.number);
    let elsewhere = elsewhere.filter(|&number| number <= LEAST && !adds);
    let undeclared = !types.contains_key(&data[..]) || !types.contains_key(&index[..]);
    if let (Some(filled), true) = (&filled, undeclared) {
        return of_filled(makers, types, node, filled).map(|found| Found {
            adds: adds || found.adds,
            elsewhere,
            ..found
        });
    }
    let dims = |name: &str| Some(&types.get(name)?.shape.as_ref()?.dim[..]);
    let shape: Vec<DimensionProto> = match makers.tensor(data) {
        Some(tensor) => {
            let dim = |&size: &i64| DimensionProto {
                dim_value: Some(size),
                dim_param: None,
            };
            tensor.dims.iter().map(dim).collect()
        }
        None => dims(data)?.to_vec(),
    };
    let places = dims(index)?;
    let rank = shape.len() as i64;
    let is_last = |axis: i64| axis == -1 || axis == rank - 1;
    // Whoever finds, finds no place twice.
    let finder = makers.maker(index)?;
    let finds = match &finder.op_type[..] {
        "TopK" => {
            is_last(whole(finder, "axis", -1)?) && makers.are_same(index, finder.output.get(1)?)
        }
        "ArgMax" => is_last(whole(finder, "axis", 0)?) && whole(finder, "keepdims", 1)? == 1,
        _ => return None,
    };
    let same = |a: &DimensionProto, b: &DimensionProto| {
        let named = a.dim_param.as_ref().is_some_and(|name| !name.is_empty());
        a == b && (a.dim_value.is_some() || named)
    };
    let (size, others) = shape.split_last()?;
    let fits = places.len() == shape.len() && others.iter().zip(places).all(|(a, b)| same(a, b));
    if !finds || !fits || !is_last(whole(node, "axis", 0)?) {
        return None;
    }
    let elements = match (types.get(&data[..]), makers.tensor(data)) {
        (Some(declared), _) => declared.elem_type,
        (None, Some(tensor)) => tensor.data_type,
        (None, None) => return None,
    };
    Some(Found {
        depth: Depth::Known(size.dim_value.filter(|depth| *depth > 0)?),
        elements,
        adds: adds || is_empty(makers, data),
        elsewhere,
        once: None,
    })
}

/// A scatter into one number everywhere, in the shape of the value of which the places are found: nothing else tells
/// its shape.
fn of_filled(
    makers: &Makers,
    types: &HashMap<&str, &TensorTypeProto>,
    node: &NodeProto,
    filled: &Filled,
) -> Option<Found> {
    let finder = makers.maker(node.input.get(1)?)?;
    let along = |node: &NodeProto, plain| attribute(node, "axis").map_or(Some(plain), |a| a.i);
    let keeps = |a: &AttributeProto| a.i == Some(1);
    let (axis, found) = match &finder.op_type[..] {
        "TopK" => (along(finder, -1)?, finder.output.get(1)?),
        "ArgMax" if attribute(finder, "keepdims").is_none_or(keeps) => {
            (along(finder, 0)?, finder.output.first()?)
        }
        _ => return None,
    };
    let same = makers.are_same(finder.input.first()?, filled.like)
        && makers.are_same(node.input.get(1)?, found);
    let is_matrix = || match axes(types, filled.like) {
        Some(axes) => axes == 2,
        None => makers.is_matrix(filled.like),
    };
    let is_last = |axis| axis == -1 || axis == 1 && is_matrix();
    (same && is_last(axis) && is_last(along(node, 0)?)).then(|| Found {
        depth: Depth::Of(filled.like.to_string()),
        elements: FLOAT,
        adds: filled.number == 0.0,
        elsewhere: None,
        once: None,
    })
}

/// A scatter at the tokens of an input, as bags of words are made: into rows that are one number everywhere. A token may
/// come twice, so that updates are added, or all are one number.
fn of_tokens(
    makers: &Makers,
    types: &HashMap<&str, &TensorTypeProto>,
    node: &NodeProto,
    adds: bool,
) -> Option<Found> {
    let [data, index, updates] = &node.input[..] else {
        return None;
    };
    let last = attribute(node, "axis").and_then(|a| a.i);
    let source = tokens(makers, types, index).filter(|_| matches!(last, Some(1 | -1)))?;
    let number = makers.everywhere(data)?;
    let depth = match makers.tensor(data).map(|tensor| &tensor.dims[..]) {
        // Of rows that no token is written into nothing would be seen.
        Some(&[rows, depth]) if Some(rows) == items(types, source) => depth,
        Some(_) => return None,
        None => makers.columns(makers.maker(data)?.input.last()?)?,
    };
    let once = match adds {
        true => None,
        false => Some(makers.everywhere(updates)?),
    };
    Some(Found {
        depth: (depth > 0).then_some(Depth::Known(depth))?,
        elements: FLOAT,
        adds: true,
        elsewhere: once.map(|_| number),
        once,
    })
}

/// The input of whole numbers some columns of which a value is.
fn tokens<'a>(
    makers: &Makers<'a>,
    types: &HashMap<&str, &TensorTypeProto>,
    value: &'a str,
) -> Option<&'a str> {
    let mut at = value;
    // A file's nodes may go round in a circle.
    for _ in 0..MOST_SLICES {
        let Some(node) = makers.maker(at) else { break };
        let axes = node.input.get(3).filter(|_| node.op_type == "Slice");
        if !matches!(makers.wholes(axes?)?[..], [1 | -1]) {
            return None;
        }
        at = node.input.first()?;
    }
    let is_whole = matches!(types.get(at)?.elem_type, INT32 | INT64);
    let is_input = makers.tensor(at).is_none() && makers.maker(at).is_none();
    (is_whole && is_input && axes(types, at) == Some(2)).then_some(at)
}

/// How many rows a value is declared to have.
fn items(types: &HashMap<&str, &TensorTypeProto>, value: &str) -> Option<i64> {
    types.get(value)?.shape.as_ref()?.dim.first()?.dim_value
}

/// How many axes a value is declared to have.
fn axes(types: &HashMap<&str, &TensorTypeProto>, value: &str) -> Option<usize> {
    Some(types.get(value)?.shape.as_ref()?.dim.len())
}

/// Whether a value is zeros, as far as its node tells.
fn is_empty(makers: &Makers, value: &str) -> bool {
    let zero = |name: &str| makers.float(name) == Some(0.0) || makers.whole(name) == Some(0);
    match makers.maker(value) {
        Some(node) if node.op_type == "ConstantOfShape" => node.attribute.is_empty(),
        Some(node) if node.op_type == "Expand" => node.input.first().is_some_and(|x| zero(x)),
        _ => false,
    }
}

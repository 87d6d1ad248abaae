//! ScatterElements at places that TopK or ArgMax found, as routers of experts choose groups: by a row of zeros with a 1
//! for every place (OneHot), times the updates, summed.

use std::collections::HashMap;

use super::made::{floats, int, node, wholes};
use super::makers::{Makers, attribute, changes};
use super::proto::data_type::{BOOL, FLOAT, INT32, INT64};
use super::proto::{DimensionProto, GraphProto, NodeProto, TensorProto, TensorTypeProto};

/// The operator set from which on sums and new axes take their axes as an input.
const AXES_GIVEN: i64 = 13;

/// A scatter whose places TopK or ArgMax found.
struct Found {
    /// Places along the last axis.
    depth: i64,
    /// The type of the elements.
    elements: i32,
    /// Whether updates are added to what is there, as they may be to zeros.
    adds: bool,
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
            wholes(&depth, &[found.depth]),
            wholes(&last, &[-1]),
            wholes(&before, &[-2]),
            numbers(&values, &[0, 1]),
        ];
        let to_kind = [("to", i64::from(kind))];
        let plain = [("keepdims", 0)];
        let hot = self.add("OneHot", &[index, &depth, &values], "rows", &[("axis", -1)]);
        let updates = self.add("Cast", &[updates], "updates", &to_kind);
        let updates = self.add("Unsqueeze", &[&updates, &last], "columns", &[]);
        let each = self.add("Mul", &[&hot, &updates], "products", &[]);
        let mut sum = self.add("ReduceSum", &[&each, &before], "sum", &plain);
        let mut kept = self.add("Cast", &[data], "data", &to_kind);
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
        if let Some(last) = self.nodes.last_mut() {
            last.output = node.output.clone();
        }
        constants
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
        depth: size.dim_value.filter(|depth| *depth > 0)?,
        elements,
        adds: adds || is_empty(makers, data),
    })
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

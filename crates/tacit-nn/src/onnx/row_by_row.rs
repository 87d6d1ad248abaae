//! Scans that take a constant row a turn and compute something of it and of every item, as skl2onnx writes distances
//! from the rows that a model was fitted to: the same of all rows at once, however many they are.

use std::collections::HashMap;

use super::constant::{Data, Reader};
use super::makers::Makers;
use super::proto::data_type::INT64;
use super::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};

/// Operations on every element by itself, and sums over the columns of a row.
const ELEMENTS: [&str; 7] = ["Abs", "Add", "Identity", "Mul", "Pow", "Sqrt", "Sub"];
const SUMS: [&str; 6] = [
    "ReduceL1",
    "ReduceL2",
    "ReduceMax",
    "ReduceMin",
    "ReduceSum",
    "ReduceSumSquare",
];

/// How many nodes one after the other are looked through for what a constant is made of.
const DEEPEST: usize = 8;

/// What a value in the body of a Scan is of.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    /// A number alone, for all items and rows.
    Number,
    /// The items, the row, or both: a value for each of their columns.
    Columns { items: bool, row: bool },
    /// Both: a value for each item and row.
    Each,
}

/// Writes Scans over constant rows, whose results are turned to stand beside their items, as one computation.
pub(super) fn write(graph: &mut GraphProto) {
    let found: Vec<(usize, Vec<NodeProto>, Vec<TensorProto>, String)> = {
        let makers = Makers::of(graph);
        let nodes = graph.node.iter().enumerate();
        nodes
            .filter_map(|(at, node)| {
                let (nodes, tensors, result) = at_once(&makers, node)?;
                Some((at, nodes, tensors, result))
            })
            .collect()
    };
    for (at, nodes, tensors, result) in found {
        let turned = &mut graph.node[at];
        turned.op_type = "Identity".into();
        turned.attribute.clear();
        turned.input = vec![result];
        graph.node.extend(nodes);
        graph.initializer.extend(tensors);
    }
}

/// What stands in place of a Scan whose results `turned` turns, and the name of these.
fn at_once(
    makers: &Makers,
    turned: &NodeProto,
) -> Option<(Vec<NodeProto>, Vec<TensorProto>, String)> {
    let result = turned.output.first()?;
    if !std::ptr::eq(makers.node(result, "Transpose")?, turned) {
        return None;
    }
    let order = turned.attribute.iter().find(|a| a.name == "perm");
    // Without an order more axes than two could be meant.
    if order.is_none_or(|order| order.ints != [1, 0]) {
        return None;
    }
    let scan = makers.node(turned.input.first()?, "Scan")?;
    let ([items, rows], [_, results]) = (&scan.input[..], &scan.output[..]) else {
        return None;
    };
    if axes(makers, rows, 0)? != 2 || turned.input.first() != Some(results) {
        return None;
    }
    let plain = scan.attribute.iter().all(|a| match &a.name[..] {
        "body" => true,
        "num_scan_inputs" => a.i == Some(1),
        _ => a.ints.iter().all(|&given| given == 0),
    });
    let body = scan.attribute.iter().find_map(|a| a.g.as_ref())?;
    let ([state, row], [kept, out]) = (&body.input[..], &body.output[..]) else {
        return None;
    };
    let keeps = |node: &NodeProto| {
        node.op_type == "Identity"
            && node.input[..] == [state.name.clone()]
            && node.output[..] == [kept.name.clone()]
    };
    if !plain || !(kept.name == state.name || body.node.iter().any(keeps)) {
        return None;
    }
    let prefix = format!("{result}/rows");
    let apart = format!("{prefix}/apart");
    let shape = format!("{prefix}/shape");
    let mut written = Written {
        prefix,
        known: HashMap::new(),
        nodes: vec![node("Reshape", &[items, &shape], &apart)],
        tensors: vec![whole(&shape, &[0, 1, -1])],
    };
    let of = |items| Of::Columns { items, row: !items };
    written.known.insert(&state.name, (apart, of(true)));
    written.known.insert(&row.name, (rows.clone(), of(false)));
    for tensor in &body.initializer {
        written.number(tensor);
    }
    for node in body.node.iter().filter(|node| !keeps(node)) {
        written.take(node)?;
    }
    match written.known.remove(&out.name[..])? {
        (name, Of::Each) => Some((written.nodes, written.tensors, name)),
        _ => None,
    }
}

/// The body of a Scan, written for all rows.
struct Written<'a> {
    prefix: String,
    /// The values of the body that are known: their names here.
    known: HashMap<&'a str, (String, Of)>,
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
}

impl<'a> Written<'a> {
    fn named(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// A tensor of the body, if it is a number.
    fn number(&mut self, tensor: &'a TensorProto) {
        if tensor.dims.iter().all(|&size| size == 1) && tensor.dims.len() < 2 {
            let name = self.named(&tensor.name);
            let renamed = TensorProto {
                name: name.clone(),
                ..tensor.clone()
            };
            self.tensors.push(renamed);
            self.known.insert(&tensor.name, (name, Of::Number));
        }
    }

    /// The node for all rows; `None` if it may mean something else there.
    fn take(&mut self, from: &'a NodeProto) -> Option<()> {
        let [output] = &from.output[..] else {
            return None;
        };
        if !matches!(&from.domain[..], "" | "ai.onnx") {
            return None;
        }
        if from.op_type == "Constant" {
            let tensor = from.attribute.iter().find_map(|a| a.t.as_ref())?;
            self.number(tensor);
            let made = self.known.remove(&tensor.name[..])?;
            self.known.insert(output, made);
            return Some(());
        }
        let op = &from.op_type[..];
        let read: Option<Vec<(String, Of)>> = from
            .input
            .iter()
            .map(|name| self.known.get(&name[..]).cloned())
            .collect();
        let mut made = from.clone();
        let of = if ELEMENTS.contains(&op) {
            let read = read?;
            made.input = read.iter().map(|(name, _)| name.clone()).collect();
            together(&read)?
        } else if SUMS.contains(&op) {
            self.sum(from, &mut made)?;
            Of::Each
        } else {
            return None;
        };
        let name = self.named(output);
        made.output = vec![name.clone()];
        made.name = self.named(&from.name);
        self.nodes.push(made);
        self.known.insert(output, (name, of));
        Some(())
    }

    /// A sum over the columns, which are the second axis in the body, and the third here.
    fn sum(&mut self, from: &'a NodeProto, made: &mut NodeProto) -> Option<()> {
        let (x, axes) = match &from.input[..] {
            [x] => (x, None),
            [x, axes] => (x, Some(axes)),
            _ => return None,
        };
        let both = Of::Columns {
            items: true,
            row: true,
        };
        let (x, of) = self.known.get(&x[..])?;
        if *of != both {
            return None;
        }
        let x = x.clone();
        let of = |name: &str| from.attribute.iter().find(|a| a.name == name);
        if of("keepdims")?.i != Some(0) {
            return None;
        }
        match axes {
            None => {
                if of("axes")?.ints != [1] {
                    return None;
                }
                made.attribute
                    .iter_mut()
                    .filter(|a| a.name == "axes")
                    .for_each(|axes: &mut AttributeProto| axes.ints = vec![2]);
                made.input = vec![x];
            }
            Some(axes) => {
                let (number, Of::Number) = self.known.get(&axes[..])? else {
                    return None;
                };
                let given = self.tensors.iter().find(|t| t.name == *number)?;
                let read = Reader { folder: None }.read(given).ok()?;
                if read.data != Data::Int(vec![1]) {
                    return None;
                }
                let along = self.named(&format!("{}/along", from.output[0]));
                self.tensors.push(whole(&along, &[2]));
                made.input = vec![x, along];
            }
        }
        Some(())
    }
}

/// What an operation on these is of: values for each column do not meet those for each item and row, which have an axis
/// less.
fn together(read: &[(String, Of)]) -> Option<Of> {
    read.iter()
        .try_fold(Of::Number, |of, &(_, next)| match (of, next) {
            (Of::Number, other) | (other, Of::Number) => Some(other),
            (Of::Each, Of::Each) => Some(Of::Each),
            (Of::Columns { items, row }, Of::Columns { items: i, row: r }) => Some(Of::Columns {
                items: items || i,
                row: row || r,
            }),
            _ => None,
        })
}

/// The axes of a constant: of a tensor, or of what is computed of tensors element by element.
fn axes(makers: &Makers, value: &str, deep: usize) -> Option<usize> {
    if let Some(tensor) = makers.tensor(value) {
        return Some(tensor.dims.len());
    }
    let maker = makers.maker(value)?;
    let of_elements = ELEMENTS.contains(&&maker.op_type[..]) || maker.op_type == "Div";
    // A hostile node may name many inputs, each of them made so.
    if deep == DEEPEST || !of_elements || maker.input.len() > 2 {
        return None;
    }
    let inputs = maker.input.iter();
    let all: Option<Vec<usize>> = inputs.map(|input| axes(makers, input, deep + 1)).collect();
    all?.into_iter().max()
}

fn node(op: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op.into(),
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    }
}

fn whole(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: vec![values.len() as i64],
        data_type: INT64,
        int64_data: values.to_vec(),
        ..TensorProto::default()
    }
}

//! Operations that are defined by others, by the standard or as ONNX Runtime's own: the nodes of that definition stand
//! in their place, as those of a function of the file.

mod attention;
mod optimiser;
mod runtime;

use std::collections::{HashMap, HashSet};

use super::ImportError;
use super::call::{Fault, bad, unsupported};
use super::importer;
use super::inline::{body, called};
use super::nested::captured;
use super::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto, TensorProto};
use super::table::{MADE, Opsets, is_of_runtime, operation};

/// What the file says of the values that its nodes read, by their names.
pub(super) struct Tensors {
    /// The sizes of its tensors.
    sizes: HashMap<String, Vec<i64>>,
    /// The names of counts of the keys of every item.
    lengths: HashSet<String>,
}

impl Tensors {
    /// The sizes of the tensors of a graph: its own, and those of its nodes.
    pub(super) fn of(graph: &GraphProto) -> Self {
        let own = (graph.initializer.iter()).map(|tensor| (tensor.name.clone(), tensor));
        let made = graph.node.iter().filter(|node| node.op_type == "Constant");
        let made = made.filter_map(|node| {
            let value = node.attribute.iter().find_map(|a| a.t.as_ref())?;
            Some((node.output.first()?.clone(), value))
        });
        let sizes = |(name, tensor): (String, &TensorProto)| (name, tensor.dims.clone());
        Tensors {
            sizes: own.chain(made).map(sizes).collect(),
            lengths: runtime::lengths(&graph.node),
        }
    }
}

/// A graph in an attribute of the node, which takes a value and gives one: it stands where a node of this type
/// does.
const GRAFT: &str = "Graft";

/// The nodes that stand in place of `node`, the `count`th of the file; none of an operation that is lowered as it
/// is.
pub(super) fn written(
    node: &NodeProto,
    tensors: &Tensors,
    opsets: Opsets,
    count: usize,
) -> Result<Option<Vec<NodeProto>>, ImportError> {
    let function = match function(node, tensors, opsets) {
        Ok(Some(function)) => function,
        Ok(None) => return Ok(None),
        Err(Fault::Unsupported(why)) => {
            let refused = importer::unsupported(node, "", why);
            return Err(ImportError::Unsupported(vec![refused]));
        }
        Err(Fault::Bad(why)) => return Err(importer::invalid(node, why)),
    };
    let mut nodes = Vec::new();
    for made in body(&function, node, count)? {
        match made.op_type == GRAFT {
            true => nodes.extend(grafted(node, &made, count)?),
            false => nodes.push(made),
        }
    }
    Ok(Some(nodes))
}

/// The definition of a node's operation, as this node uses it.
fn function(
    node: &NodeProto,
    tensors: &Tensors,
    opsets: Opsets,
) -> Result<Option<FunctionProto>, Fault> {
    let write: Write = match node.op_type.as_str() {
        _ if is_of_runtime(node) => runtime::of,
        "CausalConvWithState" => causal_conv,
        "LinearAttention" => attention::linear,
        "FlexAttention" => attention::flexible,
        "Adagrad" => optimiser::adagrad,
        "Adam" => optimiser::adam,
        "Momentum" => optimiser::momentum,
        _ => return Ok(None),
    };
    let Some(operation) = operation(node) else {
        return Ok(None);
    };
    let opset = opsets.of(node).map_err(Fault::Bad)?;
    operation.check(node, opset)?;
    let written = Written {
        node,
        tensors,
        opset,
    };
    let definition = write(&written)?;
    Ok(Some(FunctionProto {
        name: node.op_type.clone(),
        input: definition.input,
        output: definition.output,
        node: definition.nodes,
        ..FunctionProto::default()
    }))
}

type Write = fn(&Written) -> Result<Definition, Fault>;

/// A node that is written as others.
struct Written<'a> {
    node: &'a NodeProto,
    tensors: &'a Tensors,
    /// The operator set of the nodes that it is written as.
    opset: i64,
}

impl Written<'_> {
    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node.attribute.iter().find(|a| a.name == name)
    }

    fn float(&self, name: &str, default: f32) -> f32 {
        self.attribute(name).and_then(|a| a.f).unwrap_or(default)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).and_then(|a| a.i).unwrap_or(default)
    }

    fn text(&self, name: &str, default: &str) -> String {
        let bytes = self.attribute(name).and_then(|a| a.s.as_deref());
        bytes.map_or(default.into(), |b| String::from_utf8_lossy(b).into_owned())
    }

    fn has_input(&self, i: usize) -> bool {
        self.node.input.get(i).is_some_and(|name| !name.is_empty())
    }

    /// The sizes of input `i`, if that is a tensor of the file.
    fn sizes(&self, i: usize) -> Option<&[i64]> {
        let sizes = self.tensors.sizes.get(self.node.input.get(i)?);
        sizes.map(Vec::as_slice)
    }

    fn has_output(&self, i: usize) -> bool {
        self.node.output.get(i).is_some_and(|name| !name.is_empty())
    }
}

/// Nodes from inputs to outputs.
#[derive(Default)]
struct Definition {
    input: Vec<String>,
    output: Vec<String>,
    nodes: Vec<NodeProto>,
}

impl Definition {
    /// A definition with these inputs and outputs, in the order that the operation has them.
    fn new(input: &[&str], output: &[&str]) -> Self {
        let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect();
        Definition {
            input: names(input),
            output: names(output),
            nodes: vec![],
        }
    }

    /// A node of one output.
    fn op(&mut self, op: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) {
        self.nodes.push(NodeProto {
            op_type: op.into(),
            input: inputs.iter().map(|name| name.to_string()).collect(),
            output: vec![output.into()],
            attribute,
            ..NodeProto::default()
        });
    }

    /// A node of an operation of [`MADE`].
    fn made(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) {
        self.op(op, inputs, "", attribute);
        if let Some(node) = self.nodes.last_mut() {
            node.domain = MADE.into();
            node.output = outputs.iter().map(|name| name.to_string()).collect();
        }
    }

    /// Nodes by lines `to = operation inputs`.
    fn lines(&mut self, text: &str) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [to, "=", op, inputs @ ..] = &words[..] {
                self.op(op, inputs, to, vec![]);
            }
        }
    }

    /// A constant list of integers.
    fn integers(&mut self, output: &str, values: &[i64]) {
        self.op("Constant", &[], output, vec![ints("value_ints", values)]);
    }

    /// A constant number.
    fn number(&mut self, output: &str, value: f32) {
        self.op("Constant", &[], output, vec![float("value_float", value)]);
    }
}

fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        f: Some(value),
        r#type: 1,
        ..AttributeProto::default()
    }
}

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        s: Some(value.as_bytes().to_vec()),
        r#type: 3,
        ..AttributeProto::default()
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        i: Some(value),
        r#type: 2,
        ..AttributeProto::default()
    }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        ints: values.to_vec(),
        r#type: 7,
        ..AttributeProto::default()
    }
}

/// The nodes of the graph in the attribute of `node` that a [`GRAFT`] names, between its input and its output. What
/// the graph reads around it keeps its name.
fn grafted(
    node: &NodeProto,
    graft: &NodeProto,
    count: usize,
) -> Result<Vec<NodeProto>, ImportError> {
    let what = graft.attribute.first().map_or("", |a| a.name.as_str());
    let graph = node.attribute.iter().find(|a| a.name == what);
    let graph = graph.and_then(|a| a.g.as_ref());
    let ends = graph.map(|graph| (graph, &graph.input[..], &graph.output[..]));
    let Some((graph, [taken], [given])) = ends else {
        let why = format!("its graph '{what}' has not one input and one output");
        return Err(importer::invalid(node, why));
    };
    let mut function = FunctionProto {
        name: what.into(),
        input: vec![taken.name.clone()],
        output: vec![given.name.clone()],
        ..FunctionProto::default()
    };
    for tensor in &graph.initializer {
        let mut made = Definition::default();
        let value = AttributeProto {
            name: "value".into(),
            t: Some(tensor.clone()),
            r#type: 4,
            ..AttributeProto::default()
        };
        made.op("Constant", &[], &tensor.name, vec![value]);
        function.node.extend(made.nodes);
    }
    function.node.extend(graph.node.iter().cloned());
    let mut call = graft.clone();
    if taken.name == given.name {
        let mut same = Definition::default();
        same.op("Identity", &["taken"], "given", vec![]);
        function = FunctionProto {
            input: vec!["taken".into()],
            output: vec!["given".into()],
            node: same.nodes,
            ..function
        };
    }
    // A name from around the graph stands for itself.
    for name in captured(graph) {
        function.input.push(name.clone());
        call.input.push(name);
    }
    call.name = format!("{}/{what}", called(node));
    body(&function, &call, count)
}

/// CausalConvWithState: a convolution of every channel over the state and the input, and the last of both.
fn causal_conv(written: &Written) -> Result<Definition, Fault> {
    let Some([channels, 1, size]) = written.sizes(1) else {
        return unsupported(
            "its weight is no tensor of the file of the shape (channels, 1, length)",
        );
    };
    if *size < 2 && written.has_output(1) {
        return unsupported(
            "its second output is used, which has no elements: its weight has a length of 1",
        );
    }
    let before = (*size).clamp(1, 1 << 20) - 1;
    let mut d = Definition::new(
        &["input", "weight", "bias", "past_state"],
        &["output", "present_state"],
    );
    let group = || int("group", *channels);
    match written.has_input(3) {
        true => {
            let along = vec![int("axis", 2)];
            d.op("Concat", &["past_state", "input"], "all", along);
        }
        false => {
            d.integers("pads", &[0, 0, before, 0, 0, 0]);
            d.op("Pad", &["input", "pads"], "all", vec![]);
        }
    }
    let out = match written.text("activation", "none").as_str() {
        "none" => "output",
        "silu" | "swish" => "made",
        other => return bad(format!("its 'activation' is '{other}'")),
    };
    d.op("Conv", &["all", "weight", "bias"], out, vec![group()]);
    if out == "made" {
        d.op("Sigmoid", &["made"], "gate", vec![]);
        d.op("Mul", &["made", "gate"], "output", vec![]);
    }
    if written.has_output(1) {
        d.integers("start", &[-before]);
        d.integers("end", &[i64::MAX]);
        d.integers("along", &[2]);
        d.op(
            "Slice",
            &["all", "start", "end", "along"],
            "present_state",
            vec![],
        );
    }
    Ok(d)
}

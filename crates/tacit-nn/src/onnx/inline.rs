//! Functions that a file or the standard defines: their nodes stand in place of those that call them.

use std::collections::HashMap;

use prost::Message;

use super::proto::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto};
use super::table::{MADE, Opsets};
use super::written::{Tensors, written};
use super::{ImportError, unusable};

/// The deepest call of functions by each other.
const MAX_DEPTH: usize = 32;

/// The most nodes of a graph with its functions in place.
const MAX_NODES: usize = 1 << 17;

/// The most bytes of memory of nodes that calls of functions become.
const MAX_BYTES: usize = 1 << 29;

/// The nodes that calls become.
struct Inliner<'a> {
    functions: HashMap<(&'a str, &'a str), &'a FunctionProto>,
    tensors: Tensors,
    opsets: Opsets,
    nodes: usize,
    /// Bytes of memory of all nodes that were copied.
    bytes: usize,
}

/// The graph of a model, with the nodes of its functions.
pub(super) fn inlined(
    model: ModelProto,
    opsets: Opsets,
) -> Result<Option<GraphProto>, ImportError> {
    let Some(mut graph) = model.graph else {
        return Ok(None);
    };
    let inside = model.functions.iter().flat_map(|function| &function.node);
    if graph.node.iter().chain(inside).any(is_made)
        || model
            .functions
            .iter()
            .any(|function| function.domain == MADE)
    {
        return Err(unusable(format!(
            "it names the domain '{MADE}', which no file has"
        )));
    }
    let mut functions = HashMap::new();
    for function in &model.functions {
        let own = |domain: &str| domain.is_empty() || domain == "ai.onnx";
        let mut sets = function.opset_import.iter();
        if let Some(other) =
            sets.find(|set| own(&set.domain) && Some(set.version) != opsets.standard)
        {
            return Err(unusable(format!(
                "its function '{}' uses operator set {}, the model another",
                function.name, other.version
            )));
        }
        let key = (function.domain.as_str(), function.name.as_str());
        if functions.insert(key, function).is_some() {
            let name = &function.name;
            return Err(unusable(format!("it has two functions '{name}'")));
        }
    }
    let mut inliner = Inliner {
        functions,
        tensors: Tensors::of(&graph),
        opsets,
        nodes: 0,
        bytes: 0,
    };
    graph.node = inliner.nodes(graph.node, 0)?;
    Ok(Some(graph))
}

/// Whether a node, or one of the graphs inside it, is of the domain that definitions have.
fn is_made(node: &NodeProto) -> bool {
    let mut inside = node.attribute.iter().filter_map(|a| a.g.as_ref());
    node.domain == MADE || inside.any(|graph| graph.node.iter().any(is_made))
}

impl Inliner<'_> {
    /// The nodes with the calls among them replaced, in graphs within them too.
    fn nodes(
        &mut self,
        nodes: Vec<NodeProto>,
        depth: usize,
    ) -> Result<Vec<NodeProto>, ImportError> {
        let mut all = Vec::new();
        for mut node in nodes {
            self.nodes += 1;
            if self.nodes > MAX_NODES {
                return Err(unusable(format!(
                    "its functions become more than {MAX_NODES} nodes"
                )));
            }
            let key = (node.domain.as_str(), node.op_type.as_str());
            if let Some(&function) = self.functions.get(&key) {
                if depth == MAX_DEPTH {
                    return Err(unusable(format!(
                        "its function '{}' is called {MAX_DEPTH} functions deep",
                        function.name
                    )));
                }
                // What is copied is counted before it is: functions that call others twice make much of little.
                let copied = function.node.iter().chain([&node]);
                self.bytes += copied.map(size).sum::<usize>();
                if self.bytes > MAX_BYTES {
                    return Err(unusable(format!(
                        "its functions become more than {MAX_BYTES} bytes of nodes"
                    )));
                }
                let body = body(function, &node, self.nodes)?;
                all.extend(self.nodes(body, depth + 1)?);
                continue;
            }
            if let Some(body) = written(&node, &self.tensors, self.opsets, self.nodes)? {
                all.extend(self.nodes(body, depth + 1)?);
                continue;
            }
            for attribute in &mut node.attribute {
                if let Some(graph) = &mut attribute.g {
                    graph.node = self.nodes(std::mem::take(&mut graph.node), depth)?;
                }
            }
            all.push(node);
        }
        Ok(all)
    }
}

/// About how many bytes of memory a copy of a node takes.
fn size(node: &NodeProto) -> usize {
    let text = |len: usize| size_of::<String>() + len;
    let own = [&node.name, &node.op_type, &node.domain];
    let names = node.input.iter().chain(&node.output).chain(own);
    let names: usize = names.map(|name| text(name.len())).sum();
    let of = |a: &AttributeProto| {
        let numbers = size_of_val(&a.floats[..]) + size_of_val(&a.ints[..]);
        let texts: usize = a.strings.iter().chain(&a.s).map(|s| text(s.len())).sum();
        let tensors = a.g.iter().flat_map(|graph| &graph.initializer).chain(&a.t);
        let nodes = a.g.iter().flat_map(|graph| &graph.node);
        let values = (a.g.iter()).flat_map(|graph| {
            graph
                .input
                .iter()
                .chain(&graph.output)
                .chain(&graph.value_info)
        });
        let values = values.map(|value| size_of_val(value) + value.encoded_len());
        let within = tensors.map(size_of_tensor).sum::<usize>() + nodes.map(size).sum::<usize>();
        let names = a.name.len() + a.ref_attr_name.len() + values.sum::<usize>();
        size_of::<AttributeProto>() + names + numbers + texts + within
    };
    size_of::<NodeProto>() + names + node.attribute.iter().map(of).sum::<usize>()
}

/// About how many bytes of memory a copy of a tensor takes, without raw bytes, which all copies share.
fn size_of_tensor(tensor: &TensorProto) -> usize {
    let texts: usize = tensor.string_data.iter().map(Vec::len).sum();
    let floats = size_of_val(&tensor.float_data[..]) + size_of_val(&tensor.double_data[..]);
    let signed = size_of_val(&tensor.int32_data[..]) + size_of_val(&tensor.int64_data[..]);
    let others = size_of_val(&tensor.uint64_data[..]) + size_of_val(&tensor.dims[..]);
    let outside: usize = tensor.external_data.iter().map(Message::encoded_len).sum();
    let names = tensor.name.len() + outside;
    size_of::<TensorProto>() + names + texts + floats + signed + others
}

/// The nodes of a function as one node calls it: `count` tells its names from those of other calls.
pub(super) fn body(
    function: &FunctionProto,
    call: &NodeProto,
    count: usize,
) -> Result<Vec<NodeProto>, ImportError> {
    // Names that are left out at the end are none.
    let given = call.input.iter().rposition(|name| !name.is_empty());
    let given = given.map_or(0, |last| last + 1);
    if given > function.input.len() || call.output.len() > function.output.len() {
        return Err(unusable(format!(
            "its node '{}' calls the function '{}' with more inputs or outputs than that has",
            call.name, function.name
        )));
    }
    let none = String::new();
    let mut names = HashMap::new();
    for (formal, given) in [
        (&function.input, &call.input),
        (&function.output, &call.output),
    ] {
        let all = given.iter().chain(std::iter::repeat(&none));
        let pairs = formal.iter().zip(all);
        names.extend(pairs.map(|(name, actual)| (name.as_str(), actual.clone())));
    }
    // An output that nobody asked for still has its name inside.
    names.retain(|name, actual| !actual.is_empty() || function.input.iter().any(|i| i == name));
    let scope = Scope {
        names,
        prefix: format!("{}#{count}/", called(call)),
        function,
        call,
    };
    let nodes = function.node.iter().map(|node| scope.node(node));
    nodes.collect()
}

pub(super) fn called(call: &NodeProto) -> &str {
    match call.name.is_empty() {
        true => call.output.first().map_or("?", String::as_str),
        false => &call.name,
    }
}

/// A call of a function: what its names and attributes are there.
struct Scope<'a> {
    names: HashMap<&'a str, String>,
    prefix: String,
    function: &'a FunctionProto,
    call: &'a NodeProto,
}

impl Scope<'_> {
    fn name(&self, name: &str) -> String {
        match self.names.get(name) {
            Some(actual) => actual.clone(),
            None if name.is_empty() => String::new(),
            None => format!("{}{name}", self.prefix),
        }
    }

    fn node(&self, node: &NodeProto) -> Result<NodeProto, ImportError> {
        let mut attribute = Vec::new();
        for own in &node.attribute {
            attribute.extend(self.attribute(own)?);
        }
        Ok(NodeProto {
            input: node.input.iter().map(|name| self.name(name)).collect(),
            output: node.output.iter().map(|name| self.name(name)).collect(),
            name: format!("{}{}", self.prefix, called(node)),
            attribute,
            ..node.clone()
        })
    }

    /// The attribute, that of the call where it refers to one; none where the call leaves it out.
    fn attribute(&self, own: &AttributeProto) -> Result<Option<AttributeProto>, ImportError> {
        if !own.ref_attr_name.is_empty() {
            let wanted = |a: &&AttributeProto| a.name == own.ref_attr_name;
            let given = self.call.attribute.iter().find(wanted);
            let found = given.or_else(|| self.function.attribute_proto.iter().find(wanted));
            return Ok(found.map(|found| AttributeProto {
                name: own.name.clone(),
                ..found.clone()
            }));
        }
        let mut attribute = own.clone();
        if let Some(graph) = &mut attribute.g {
            for node in &mut graph.node {
                *node = self.node(node)?;
            }
            for tensor in &mut graph.initializer {
                tensor.name = self.name(&tensor.name);
            }
            for value in graph.input.iter_mut().chain(&mut graph.output) {
                value.name = self.name(&value.name);
            }
        }
        Ok(Some(attribute))
    }
}

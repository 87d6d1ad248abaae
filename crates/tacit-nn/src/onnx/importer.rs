//! From the file's graph to a [`Graph`]: names resolved, needed nodes taken over in order.

use std::collections::{HashMap, HashSet};

use super::batch::plainer;
use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::constant::{Large, Reader};
use super::element::is_one;
use super::halves::halves;
use super::input::{Known, Learnt, finished};
use super::lower;
use super::mask::{feed_softmax, hiding, single_numbers};
use super::missing::known::learn_missing;
use super::missing::marks;
use super::nested::{Progress, Stop, is_nested};
use super::proto::{GraphProto, NodeProto};
use super::table::{Opsets, is_standard, operation};
use super::tail::last_nodes;
use super::typed::Types;
use super::weighed::weights;
use super::{
    ImportError, ImportOptions, MissingValues, UnsupportedNode, fold, output, sequence, texts,
    unusable,
};
use crate::graph::Graph;

/// The most elements that all constants together may have.
const MAX_CONSTANTS: usize = 1 << 29;

/// The most nodes that are read, those of a loop's graph once for each turn.
const MAX_VISITED: usize = 1 << 17;

/// What a look at all nodes came to.
enum Imported {
    Graph(Graph),
    /// What must be known of inputs.
    Learnt(Learnt),
}

/// What one item of a model is in its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A place of the batch axis.
    Items,
    /// The whole input, every axis of which has a size.
    Whole,
    /// The whole input, a batch that the file leaves free, with so many items.
    Batch(usize),
    /// A free batch as [`Form::Batch`], but that nothing is quantised by the range of all its items.
    Unquantised(usize),
}

pub(super) struct Importer<'a> {
    pub graph: &'a GraphProto,
    /// The operator sets of the file.
    pub opsets: Opsets,
    pub reader: Reader,
    pub options: &'a ImportOptions,
    /// Whether PyTorch wrote it.
    pub torch: bool,
    pub types: Types<'a>,
    pub large: Large,
}

impl<'a> Importer<'a> {
    /// The model of items of a batch; or, where that is refused, of one item that is the whole input, if
    /// the file gives every size, or a batch of one.
    pub(super) fn run(&self) -> Result<Graph, ImportError> {
        let items = self.import(Form::Items);
        let (_, used) = self.needed(&self.outputs()?)?;
        match items {
            Err(first) if self.has_fixed_sizes(&used)? => {
                let whole = self.import(Form::Whole);
                whole.map_err(|second| plainer(first, second))
            }
            Err(first @ (ImportError::Unsupported(_) | ImportError::Output { .. }))
                if self.has_free_batch(&used)? =>
            {
                let made = self.of_one_item(first);
                made.map_err(|refused| self.or_sized(refused, &used))
            }
            items => items,
        }
    }

    /// The model; outputs that are places of numbers that no other output opens are found on shares.
    pub(super) fn import(&self, form: Form) -> Result<Graph, ImportError> {
        let outputs = self.outputs()?;
        let mut on_shares = HashSet::new();
        let mut known = Known::new(self.options.missing);
        loop {
            let graph = match self.import_with(form, &outputs, &on_shares, &known) {
                Err(_) if known.drop_marks() => continue,
                Ok(Imported::Learnt(learnt)) => {
                    known.learn(learnt);
                    continue;
                }
                Ok(Imported::Graph(graph)) => graph,
                Err(error) => return Err(error),
            };
            match output::alone(&graph.outputs) {
                Some(at) if graph.outputs.len() > 1 && on_shares.insert(outputs[at]) => {}
                _ => return Ok(graph),
            }
        }
    }

    fn import_with(
        &self,
        form: Form,
        outputs: &[&'a str],
        on_shares: &HashSet<&'a str>,
        known: &Known,
    ) -> Result<Imported, ImportError> {
        let mut builder = Builder::default();
        builder.whole = form != Form::Items;
        builder.has_missing = self.options.missing == MissingValues::Given;
        if let Form::Batch(items) | Form::Unquantised(items) = form {
            builder.items = Some(items);
        }
        builder.unquantised = matches!(form, Form::Unquantised(_));
        let (order, used) = self.needed(outputs)?;
        let mut env = self.constants(self.graph, &used, &mut 0)?;
        let inputs = self.define_inputs(&used, known, &mut env, &mut builder)?;
        builder.hiding = hiding(&order, outputs, &self.reader);
        builder.halves = halves(&order, outputs);
        builder.weights = weights(&order, outputs);
        let held = single_numbers(&order, &self.reader).filter(|(_, held)| held.is_one());
        let ones: HashSet<&str> = held.map(|(name, _)| name).collect();
        let stands_for_one = |name: &str| ones.contains(name) || env.get(name).is_some_and(is_one);
        let last = last_nodes(&order, on_shares, stands_for_one);
        let masking = feed_softmax(&order, &last, outputs);
        let ends = [last, masking];
        let taken = self.nodes((&order, &used), &ends, &mut env, &mut builder);
        if let Some(learnt) = Learnt::of(&mut builder, &inputs, known) {
            return Ok(Imported::Learnt(learnt));
        }
        taken?;
        let ends = outputs
            .iter()
            .map(|&name| output::end(name, env.get(name), &mut builder));
        let ends = ends.collect::<Result<Vec<_>, _>>()?;
        let (output, outputs) = output::joined(ends, &mut builder)?;
        builder.check_live(output).map_err(unusable)?;
        if let Some(missing) = learn_missing(&builder, &known.missing, Some(output)) {
            return Ok(Imported::Learnt(Learnt::Missing(missing)));
        }
        Ok(Imported::Graph(Graph {
            inputs: finished(inputs),
            nodes: builder.nodes,
            output,
            outputs,
            remarks: vec![],
        }))
    }

    /// Takes over nodes in their order; `ends` are those at the end of the model, and those before softmaxes
    /// only.
    fn nodes(
        &self,
        (order, used): (&[&'a NodeProto], &HashSet<&str>),
        ends: &[HashSet<*const NodeProto>; 2],
        env: &mut HashMap<&'a str, Value>,
        builder: &mut Builder,
    ) -> Result<(), ImportError> {
        let mut refused = Vec::new();
        builder.constants = env.values().map(constant_len).sum();
        for &node in order {
            let stands = [0, 1].map(|end| ends[end].contains(&std::ptr::from_ref(node)));
            let mut progress = Progress {
                builder,
                refused: &mut refused,
            };
            let values = self.node(node, stands, "", env, &mut progress)?;
            self.define(env, node, values, used, &mut refused)?;
        }
        match refused.is_empty() {
            true => Ok(()),
            false => Err(ImportError::Unsupported(refused)),
        }
    }

    /// The nodes that the outputs depend on, in the file's order, and the names they read.
    fn needed(
        &self,
        outputs: &[&'a str],
    ) -> Result<(Vec<&'a NodeProto>, HashSet<&'a str>), ImportError> {
        let mut defined = HashSet::new();
        for node in &self.graph.node {
            for name in node.output.iter().filter(|n| !n.is_empty()) {
                if !defined.insert(name.as_str()) {
                    return Err(invalid(
                        node,
                        format!("the value '{name}' is computed twice"),
                    ));
                }
            }
        }
        let mut used: HashSet<&str> = outputs.iter().copied().collect();
        let mut order = Vec::new();
        for node in self.graph.node.iter().rev() {
            if node.output.iter().any(|o| used.contains(o.as_str())) {
                used.extend(
                    node.input
                        .iter()
                        .filter(|i| !i.is_empty())
                        .map(String::as_str),
                );
                order.push(node);
            }
        }
        order.reverse();
        Ok((order, used))
    }

    /// The tensors of a graph that something reads.
    pub(super) fn constants(
        &self,
        graph: &'a GraphProto,
        used: &HashSet<&str>,
        total: &mut usize,
    ) -> Result<HashMap<&'a str, Value>, ImportError> {
        let mut env = HashMap::new();
        for tensor in graph
            .initializer
            .iter()
            .filter(|t| used.contains(t.name.as_str()))
        {
            let value = match texts::of_tensor(tensor)? {
                Some(texts) => texts,
                None => Value::Constant(self.large.read(tensor, &self.reader)?),
            };
            *total += constant_len(&value);
            if *total > MAX_CONSTANTS {
                return Err(unusable(format!(
                    "its constants have more than {MAX_CONSTANTS} elements"
                )));
            }
            if env.insert(tensor.name.as_str(), value).is_some() {
                return Err(ImportError::Tensor {
                    tensor: tensor.name.clone(),
                    why: "two tensors have this name".into(),
                });
            }
        }
        Ok(env)
    }

    /// The outputs of a node, which stands at the end, or before softmaxes only; what cannot be
    /// supported is collected. `scope` stands before its name.
    pub(super) fn node(
        &self,
        node: &'a NodeProto,
        stands: [bool; 2],
        scope: &str,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, ImportError> {
        let values = self.lowered(node, stands, scope, env, progress)?;
        let builder = &mut progress.builder;
        for (name, value) in node.output.iter().zip(&values) {
            builder.note_type(self.types.get(name), value);
        }
        builder.constants += values.iter().map(constant_len).sum::<usize>();
        if builder.constants > MAX_CONSTANTS {
            return Err(unusable(format!(
                "its constants have more than {MAX_CONSTANTS} elements"
            )));
        }
        builder.visited += 1;
        if builder.visited > MAX_VISITED {
            return Err(unusable(format!(
                "its graphs take more than {MAX_VISITED} nodes, each turn of a loop counted"
            )));
        }
        Ok(values)
    }

    fn lowered(
        &self,
        node: &'a NodeProto,
        [last, masks]: [bool; 2],
        scope: &str,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, ImportError> {
        let mut inputs = Vec::new();
        for name in &node.input {
            let value = env.get(name.as_str());
            if value.is_none() && !name.is_empty() {
                return Err(invalid(
                    node,
                    format!(
                        "it reads '{name}', which no input, tensor or earlier node gives (none has this name, or the graph has a cycle)"
                    ),
                ));
            }
            inputs.push(value);
        }
        let known = operation(node);
        let is_unknown = |v: &&Value| matches!(v, Value::Unknown);
        if known.is_some()
            && !is_nested(node)
            && inputs.iter().copied().flatten().any(|v| is_unknown(&v))
        {
            return Ok(unknown(node));
        }
        let opset = self.opsets.of(node).map_err(|why| invalid(node, why))?;
        let call = Call {
            node,
            name: cut(scope, name_of(node)),
            opset,
            last,
            masks,
            whole: progress.builder.whole,
            rounds: progress.builder.rounds,
            torch: self.torch,
            kind: node.output.first().and_then(|name| self.types.get(name)),
            inputs,
        };
        let builder = &mut *progress.builder;
        let result = match known.map(|operation| operation.check(node, opset)) {
            Some(Ok(())) if is_nested(node) => match self.nested(&call, env, progress) {
                Err(Stop::File(error)) => return Err(error),
                Err(Stop::Node(fault)) => Err(fault),
                Ok(values) => Ok(values),
            },
            Some(Ok(())) if sequence::is_one(&call) => sequence::lower(&call, builder),
            Some(Ok(())) if texts::are_read(&call) => texts::lower(&call, &self.reader, builder),
            Some(Ok(())) => match fold::fold(&call, &self.reader, builder.batch) {
                Ok(Some(constant)) => {
                    let made = vec![Value::Constant(constant)];
                    fold::spend(&call, &made, builder).map_err(unusable)?;
                    Ok(made)
                }
                Ok(None) => match fold::computed(&call) {
                    Some(made) => {
                        fold::spend(&call, &made, builder).map_err(unusable)?;
                        Ok(made)
                    }
                    None => lower::lower(&call, builder).inspect(|made| {
                        marks::deny_dropped(&call, made, builder);
                    }),
                },
                Err(fault) => Err(fault),
            },
            Some(Err(fault)) => Err(fault),
            None => lower::refuse(node),
        };
        match result {
            Ok(values) => Ok(values),
            Err(Fault::Bad(why)) => Err(invalid(node, why)),
            Err(Fault::Unsupported(why)) => {
                progress.refused.push(unsupported(node, scope, why));
                Ok(unknown(node))
            }
        }
    }

    /// Names a node's outputs.
    pub(super) fn define(
        &self,
        env: &mut HashMap<&'a str, Value>,
        node: &'a NodeProto,
        values: Vec<Value>,
        used: &HashSet<&str>,
        refused: &mut Vec<UnsupportedNode>,
    ) -> Result<(), ImportError> {
        for (i, name) in node
            .output
            .iter()
            .enumerate()
            .filter(|(_, n)| !n.is_empty())
        {
            let output = match values.get(i) {
                Some(Value::Refused(why)) => Err(why.clone()),
                Some(value) => Ok(value.clone()),
                None => Err(format!(
                    "its output {i} ('{name}') is used, which is not supported"
                )),
            };
            let output = output.unwrap_or_else(|why| {
                if used.contains(name.as_str()) {
                    refused.push(unsupported(node, "", why));
                }
                Value::Unknown
            });
            if env.insert(name, output).is_some() {
                return Err(invalid(
                    node,
                    format!("its output '{name}' is already the name of an input or a tensor"),
                ));
            }
        }
        Ok(())
    }
}

pub(super) fn constant_len(value: &Value) -> usize {
    match value {
        Value::Constant(constant) => constant.data.len(),
        Value::Texts { each, .. } => each.len(),
        Value::Sequence(all) => all.iter().map(constant_len).sum(),
        _ => 0,
    }
}

/// An unknown value for each output of a node.
fn unknown(node: &NodeProto) -> Vec<Value> {
    vec![Value::Unknown; node.output.len()]
}

/// The name of a node in messages: its own, or that of its first output.
pub(super) fn name_of(node: &NodeProto) -> &str {
    if node.name.is_empty() {
        let named = node.output.iter().find(|name| !name.is_empty());
        named.map_or("?", String::as_str)
    } else {
        &node.name
    }
}

/// A name within a scope, or the beginning of one that no user would read: each turn of a loop has one of its own.
fn cut(scope: &str, name: &str) -> String {
    const LONGEST: usize = 512;
    let all = scope.chars().chain(name.chars());
    all.take(LONGEST).collect()
}

pub(super) fn invalid(node: &NodeProto, why: String) -> ImportError {
    ImportError::Node {
        node: name_of(node).into(),
        op: node.op_type.clone(),
        why,
    }
}

pub(super) fn unsupported(node: &NodeProto, scope: &str, why: String) -> UnsupportedNode {
    let op = if is_standard(node) {
        node.op_type.clone()
    } else {
        format!("{}::{}", node.domain, node.op_type)
    };
    UnsupportedNode {
        node: format!("{scope}{}", name_of(node)),
        op,
        why,
    }
}

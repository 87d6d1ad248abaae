//! Graphs within a graph: If, Loop of a constant count, Scan. Their nodes are taken over as if they stood in the
//! graph itself, once for each turn; of an If those of one graph, or of both where its condition is computed.

mod either;
mod trim;
mod turns;

use std::collections::{HashMap, HashSet};

use super::builder::Builder;
use super::call::{Call, Fault, Value, bad, unsupported};
use super::constant::{BATCH, Constant, Data};
use super::importer::{self, Importer};
use super::kind::DataType;
use super::proto::{GraphProto, NodeProto};
use super::{ImportError, UnsupportedNode};
pub(super) use trim::trim;
pub(super) use turns::{stacked, taken};

/// The most turns of a loop.
const MAX_TURNS: usize = 1024;

/// Why a nested graph is not taken over.
pub(super) enum Stop {
    /// An error of the node that holds the graph.
    Node(Fault),
    /// An error of the file.
    File(ImportError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Node(fault)
    }
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Stop::File(error)
    }
}

/// Whether a node's graphs are taken over.
pub(super) fn is_nested(node: &NodeProto) -> bool {
    ["If", "Loop", "Scan"].contains(&node.op_type.as_str())
}

/// Adds to the inputs of such nodes what their graphs read of the values around them.
pub(super) fn name_captures(graph: &mut GraphProto) -> Result<(), ImportError> {
    for node in graph.node.iter_mut().filter(|node| is_nested(node)) {
        let mut found = Vec::new();
        let mut wanted = 1;
        for inner in node.attribute.iter_mut().filter_map(|a| a.g.as_mut()) {
            name_captures(inner)?;
            found.extend(captured(inner));
            wanted = wanted.max(inner.input.len());
        }
        if node.input.len() != wanted {
            let many = node.input.len();
            let why = format!("it has {many} inputs, its graphs take {wanted}");
            let refused = importer::unsupported(node, "", why);
            return Err(ImportError::Unsupported(vec![refused]));
        }
        node.input.extend(found);
    }
    Ok(())
}

/// The names that a graph reads and does not define.
pub(super) fn captured(graph: &GraphProto) -> Vec<String> {
    let inputs = graph.input.iter().map(|value| value.name.as_str());
    let tensors = graph.initializer.iter().map(|tensor| tensor.name.as_str());
    let made = graph.node.iter().flat_map(|node| &node.output);
    let own: HashSet<&str> = inputs
        .chain(tensors)
        .chain(made.map(String::as_str))
        .collect();
    let mut read: Vec<&str> = reads(graph).filter(|name| !own.contains(name)).collect();
    read.sort_unstable();
    read.dedup();
    read.into_iter().map(String::from).collect()
}

/// The names that the nodes and outputs of a graph read.
fn reads(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let inputs = graph.node.iter().flat_map(|node| &node.input);
    let outputs = graph.output.iter().map(|value| value.name.as_str());
    let names = inputs.map(String::as_str).chain(outputs);
    names.filter(|name| !name.is_empty())
}

/// A graph within a node, and the values that are the same in all of its turns.
struct Body<'a> {
    graph: &'a GraphProto,
    fixed: HashMap<&'a str, Value>,
    used: HashSet<&'a str>,
}

/// What nodes of a graph add to.
pub(super) struct Progress<'b> {
    pub builder: &'b mut Builder,
    pub refused: &'b mut Vec<UnsupportedNode>,
}

impl<'a> Importer<'a> {
    /// The outputs of a node with graphs.
    pub(super) fn nested(
        &self,
        call: &Call<'a>,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        match call.node.op_type.as_str() {
            "If" => self.branch(call, env, progress),
            "Loop" => self.repeated(call, env, progress),
            _ => self.scanned(call, env, progress),
        }
    }

    /// The graph of attribute `name`, with what it reads around it and its own tensors.
    fn body(
        &self,
        call: &Call<'a>,
        name: &str,
        env: &HashMap<&'a str, Value>,
        builder: &Builder,
    ) -> Result<Body<'a>, Stop> {
        let found = call.attribute(name).and_then(|a| a.g.as_ref());
        let graph = found.ok_or_else(|| Fault::Bad(format!("it has no graph '{name}'")))?;
        let used: HashSet<&str> = reads(graph).collect();
        let mut fixed = self.constants(graph, &used, &mut 0)?;
        let mut made = graph.node.iter().flat_map(|node| &node.output);
        if let Some(twice) = made.find(|name| builder.masks.contains_key(*name)) {
            return Ok(bad(format!("'{twice}' is the name of another value, too"))?);
        }
        let around = used.iter().filter_map(|name| env.get_key_value(name));
        for (name, value) in around {
            fixed.entry(name).or_insert_with(|| value.clone());
        }
        Ok(Body { graph, fixed, used })
    }

    /// The outputs of a graph with these inputs.
    fn turn(
        &self,
        body: &Body<'a>,
        inputs: Vec<Value>,
        scope: &str,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        let mut env = body.fixed.clone();
        let names = body.graph.input.iter().map(|value| value.name.as_str());
        env.extend(names.zip(inputs));
        for node in &body.graph.node {
            let values = self.node(node, [false, false], scope, &env, progress)?;
            self.define(&mut env, node, values, &body.used, progress.refused)?;
        }
        let output = |name: &str| match env.get(name) {
            Some(value) => Ok(value.clone()),
            None => bad(format!("nothing in its graph gives its output '{name}'")),
        };
        let outputs = body.graph.output.iter().map(|value| output(&value.name));
        Ok(outputs.collect::<Result<_, Fault>>()?)
    }

    fn branch(
        &self,
        call: &Call<'a>,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        let condition = call.required(0)?;
        if matches!(condition, Value::Secret { .. }) {
            return self.either(call, env, progress);
        }
        let name = match truth(condition)? {
            None => return Ok(unknown(call)),
            Some(true) => "then_branch",
            Some(false) => "else_branch",
        };
        let body = self.body(call, name, env, progress.builder)?;
        self.turn(&body, vec![], &format!("{}/", call.name), progress)
    }

    fn repeated(
        &self,
        call: &Call<'a>,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        let body = self.body(call, "body", env, progress.builder)?;
        let carried = body.graph.input.len().saturating_sub(2);
        if body.graph.input.len() < 2 || body.graph.output.len() < 1 + carried {
            return Ok(bad(
                "its graph lacks a turn's number, its condition or a state",
            )?);
        }
        let most = match call.optional_ints(0)? {
            None => usize::MAX,
            Some(&[BATCH]) => return Ok(unsupported("its turns are as many as the batch")?),
            Some(&[turns]) => usize::try_from(turns).unwrap_or(0),
            Some(_) => return Ok(bad("its count of turns is no number")?),
        };
        let mut goes = match call.input(1) {
            None => true,
            Some(value) => match truth(value)? {
                None => return Ok(unknown(call)),
                Some(goes) => goes,
            },
        };
        let mut states = (2..2 + carried)
            .map(|i| call.required(i).cloned())
            .collect::<Result<Vec<_>, _>>()?;
        let mut scans: Vec<Vec<Value>> = vec![vec![]; body.graph.output.len() - 1 - carried];
        let mut i = 0;
        while goes && i < most {
            if i == MAX_TURNS {
                return Ok(unsupported(format!(
                    "it takes more than {MAX_TURNS} turns"
                ))?);
            }
            let inputs = [
                number(i as i64, DataType::Signed(64)),
                number(1, DataType::Bool),
            ];
            let inputs = inputs.into_iter().chain(states).collect();
            let scope = format!("{}[{i}]/", call.name);
            let mut outputs = self.turn(&body, inputs, &scope, progress)?.into_iter();
            goes = match outputs.next().map(|value| truth(&value)).transpose()? {
                Some(Some(goes)) => goes,
                _ => return Ok(unknown(call)),
            };
            states = outputs.by_ref().take(carried).collect();
            scans
                .iter_mut()
                .zip(outputs)
                .for_each(|(all, value)| all.push(value));
            i += 1;
        }
        for all in scans {
            states.push(stacked(call, progress.builder, &all, 0)?);
        }
        Ok(states)
    }

    fn scanned(
        &self,
        call: &Call<'a>,
        env: &HashMap<&'a str, Value>,
        progress: &mut Progress,
    ) -> Result<Vec<Value>, Stop> {
        if call.opset < 9 {
            return Ok(unsupported(
                "operator set 8 has another form of it: convert the model",
            )?);
        }
        let body = self.body(call, "body", env, progress.builder)?;
        let inputs = body.graph.input.len();
        let scanned = usize::try_from(call.int("num_scan_inputs", 0)).unwrap_or(0);
        if scanned == 0 || scanned > inputs || body.graph.output.len() < inputs - scanned {
            return Ok(bad("its 'num_scan_inputs' does not fit its graph")?);
        }
        let carried = inputs - scanned;
        let made = body.graph.output.len() - carried;
        let list = |name: &str, count: usize| match call.attribute(name) {
            Some(a) if a.ints.len() == count => Ok(a.ints.clone()),
            Some(_) => bad(format!("its '{name}' has not {count} numbers")),
            None => Ok(vec![0; count]),
        };
        let (axes, backward) = (
            list("scan_input_axes", scanned)?,
            list("scan_input_directions", scanned)?,
        );
        let (to, last_first) = (
            list("scan_output_axes", made)?,
            list("scan_output_directions", made)?,
        );
        let mut states = (0..carried)
            .map(|i| call.required(i).cloned())
            .collect::<Result<Vec<_>, _>>()?;
        let mut scans: Vec<Vec<Value>> = vec![vec![]; made];
        let turns = turns::count(call, carried, &axes)?;
        if turns > MAX_TURNS {
            return Ok(unsupported(format!(
                "it takes more than {MAX_TURNS} turns"
            ))?);
        }
        for i in 0..turns {
            let scope = format!("{}[{i}]/", call.name);
            let mut inputs = std::mem::take(&mut states);
            for (k, (&axis, &back)) in axes.iter().zip(&backward).enumerate() {
                let at = if back == 0 { i } else { turns - 1 - i };
                inputs.push(taken(call, progress.builder, carried + k, axis, at)?);
            }
            let mut outputs = self.turn(&body, inputs, &scope, progress)?.into_iter();
            states = outputs.by_ref().take(carried).collect();
            scans
                .iter_mut()
                .zip(outputs)
                .for_each(|(all, value)| all.push(value));
        }
        for ((mut all, &axis), &back) in scans.into_iter().zip(&to).zip(&last_first) {
            if back != 0 {
                all.reverse();
            }
            states.push(stacked(call, progress.builder, &all, axis)?);
        }
        Ok(states)
    }
}

/// Whether a condition holds; `None` where it depends on what is not supported.
fn truth(value: &Value) -> Result<Option<bool>, Fault> {
    match value {
        Value::Constant(Constant {
            data: Data::Int(v), ..
        }) if v.len() == 1 => Ok(Some(v[0] != 0)),
        Value::Constant(_) => bad("its condition is no truth"),
        Value::Unknown | Value::Refused(_) => Ok(None),
        _ => unsupported("its condition is computed: no party may know which way it goes"),
    }
}

/// An unknown value for each output.
fn unknown(call: &Call) -> Vec<Value> {
    vec![Value::Unknown; call.node.output.len()]
}

/// A constant without axes.
fn number(value: i64, kind: DataType) -> Value {
    Value::Constant(Constant {
        shape: vec![],
        kind,
        data: Data::Int(vec![value]),
    })
}

//! Quotients, logarithms and roots of which a choice takes only those of good arguments, as `where(d > 0, n / d, 0)`:
//! floats are infinite or NaN where the choice takes the other branch, numbers of a ring are not. Whether they are is
//! asked of the argument: `where(isinf(d ** -0.5), 0, d ** -0.5)`.
//!
//! What the choice does not take is computed of 1: `n / where(d > 0, d, 1)`.

use std::collections::{HashMap, HashSet};

use super::made::int;
use super::makers::Makers;
use super::proto::data_type::{BOOL, DOUBLE, FLOAT};
use super::proto::{GraphProto, NodeProto, TensorProto};

/// The most choices of a file that are looked at.
const MOST: usize = 256;

/// The most nodes between two values, or in a condition.
const DEPTH: usize = 16;

/// Operations that make each element of those at the same place.
const ELEMENTS: [&str; 20] = [
    "Abs",
    "Add",
    "Cast",
    "Clip",
    "Div",
    "Erf",
    "Exp",
    "Identity",
    "Log",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Pow",
    "Reciprocal",
    "Relu",
    "Sqrt",
    "Sub",
    "Tanh",
    "Where",
];

/// An argument that one branch of a choice needs to be good only where it is taken.
struct Guarded {
    node: usize,
    input: usize,
    condition: String,
    /// Whether the argument counts where the condition holds; else it counts where the condition does not.
    holds: bool,
}

/// Puts 1 in place of arguments that no choice takes.
pub(super) fn write(graph: &mut GraphProto) {
    ask_of_arguments(graph);
    let found = found(graph);
    if found.is_empty() {
        return;
    }
    let names = names(graph);
    let one = fresh(&names, "1 of what is guarded");
    graph.initializer.push(TensorProto {
        name: one.clone(),
        data_type: FLOAT,
        float_data: vec![1.0],
        ..TensorProto::default()
    });
    for (count, guarded) in found.into_iter().enumerate() {
        let name = fresh(&names, &format!("guarded {count}"));
        let argument = &mut graph.node[guarded.node].input[guarded.input];
        let given = std::mem::replace(argument, name.clone());
        let [taken, other] = match guarded.holds {
            true => [given, one.clone()],
            false => [one.clone(), given],
        };
        graph.node.push(NodeProto {
            op_type: "Where".into(),
            input: vec![guarded.condition, taken, other],
            output: vec![name],
            ..NodeProto::default()
        });
    }
}

/// Asks whether a divisor is 0 where a choice asks whether a quotient is infinite or NaN, and so of powers below 0, and
/// whether it is not where a quotient is compared with itself: no party holds a number that is not finite.
fn ask_of_arguments(graph: &mut GraphProto) {
    let found: Vec<(usize, bool, String)> = {
        let (makers, uses, computed) = (Makers::of(graph), Uses::of(graph), computed(graph));
        let asked = graph.node.iter().enumerate();
        let asked = asked.filter_map(|(at, node)| {
            let mut of = makers.maker(node.input.first()?)?;
            // PyTorch asks of doubles, which are infinite where floats are.
            if is(of, "Cast") && of.attribute.iter().any(|a| a.i == Some(DOUBLE.into())) {
                of = makers.maker(of.input.first()?)?;
            }
            let (is_zero, argument) = match (&node.op_type[..], &of.op_type[..], &of.input[..]) {
                ("IsInf" | "IsNaN", "Div", [_, by]) => (true, by),
                ("IsInf", "Reciprocal", [by]) => (true, by),
                ("IsInf", "Pow", [by, exponent]) if makers.float(exponent)? < 0.0 => (true, by),
                ("Equal", "Div", [_, by]) if node.input.get(1) == node.input.first() => (false, by),
                _ => return None,
            };
            let is_asked = is(node, &node.op_type) && computed.contains(&argument[..]);
            (is_asked && uses.chooses(node)).then(|| (at, is_zero, argument.clone()))
        });
        asked.collect()
    };
    if found.is_empty() {
        return;
    }
    let zero = fresh(&names(graph), "0 of what is asked");
    graph.initializer.push(TensorProto {
        name: zero.clone(),
        data_type: FLOAT,
        float_data: vec![0.0],
        ..TensorProto::default()
    });
    for (at, is_zero, argument) in found {
        let node = &mut graph.node[at];
        let kept = NodeProto {
            name: node.name.clone(),
            output: node.output.clone(),
            ..NodeProto::default()
        };
        *node = match is_zero {
            true => NodeProto {
                op_type: "Equal".into(),
                input: vec![argument, zero.clone()],
                ..kept
            },
            // A number other than 0 is a truth.
            false => NodeProto {
                op_type: "Cast".into(),
                input: vec![argument],
                attribute: vec![int("to", BOOL.into())],
                ..kept
            },
        };
    }
}

/// The names of all values of a graph.
fn names(graph: &GraphProto) -> HashSet<String> {
    let nodes = graph.node.iter();
    let made = nodes.flat_map(|node| node.input.iter().chain(&node.output));
    let given = graph.input.iter().map(|input| &input.name);
    let tensors = graph.initializer.iter().map(|tensor| &tensor.name);
    made.chain(given).chain(tensors).cloned().collect()
}

/// A name like this one that no value has.
fn fresh(names: &HashSet<String>, name: &str) -> String {
    let mut fresh = name.to_string();
    while names.contains(&fresh) {
        fresh.push('\'');
    }
    fresh
}

/// The values that are made of the numbers of inputs, their shapes aside.
fn computed(graph: &GraphProto) -> HashSet<&str> {
    let tensors: HashSet<&str> = graph.initializer.iter().map(|t| &t.name[..]).collect();
    let inputs = graph.input.iter().map(|input| &input.name[..]);
    let mut computed: HashSet<&str> = inputs.filter(|name| !tensors.contains(name)).collect();
    for node in &graph.node {
        if !is_of_shape(node) && node.input.iter().any(|name| computed.contains(&name[..])) {
            computed.extend(node.output.iter().map(String::as_str));
        }
    }
    computed
}

fn found(graph: &GraphProto) -> Vec<Guarded> {
    let (makers, uses, computed) = (Makers::of(graph), Uses::of(graph), computed(graph));
    let mut taken = HashSet::new();
    let mut all = Vec::new();
    let choices = graph.node.iter().enumerate();
    let choices = choices.filter(|(_, node)| is(node, "Where") && node.input.len() == 3);
    for (at, choice) in choices.take(MOST) {
        let subjects = subjects(&makers, &choice.input[0]);
        if subjects.is_empty() {
            continue;
        }
        for branch in [1, 2] {
            for node in uses.behind((at, branch)) {
                let Some(input) = needs_good(&makers, &graph.node[node]) else {
                    continue;
                };
                let argument = &graph.node[node].input[input];
                if !computed.contains(&argument[..]) {
                    continue;
                }
                let of = root(&makers, argument);
                if subjects
                    .iter()
                    .any(|subject| makers.are_alike(subject, of, &mut 0))
                    && taken.insert((node, input))
                {
                    all.push(Guarded {
                        node,
                        input,
                        condition: choice.input[0].clone(),
                        holds: branch == 1,
                    });
                }
            }
        }
    }
    all
}

fn is(node: &NodeProto, op: &str) -> bool {
    node.op_type == op && matches!(&node.domain[..], "" | "ai.onnx")
}

/// Whether a node reads no number.
fn is_of_shape(node: &NodeProto) -> bool {
    is(node, "Shape") || is(node, "Size")
}

/// What makes and what reads the numbers of a graph's values.
struct Uses<'a> {
    graph: &'a GraphProto,
    outputs: HashSet<&'a str>,
    makers: HashMap<&'a str, usize>,
    /// Nodes, and which of their inputs.
    readers: HashMap<&'a str, Vec<(usize, usize)>>,
}

impl<'a> Uses<'a> {
    fn of(graph: &'a GraphProto) -> Self {
        let (mut makers, mut readers) = (HashMap::new(), HashMap::<_, Vec<_>>::new());
        for (at, node) in graph.node.iter().enumerate() {
            makers.extend(node.output.iter().map(|name| (&name[..], at)));
            if is_of_shape(node) {
                continue;
            }
            for (input, name) in node.input.iter().enumerate() {
                readers.entry(&name[..]).or_default().push((at, input));
            }
        }
        Uses {
            graph,
            outputs: graph.output.iter().map(|v| &v.name[..]).collect(),
            makers,
            readers,
        }
    }

    /// Whether a node's output is read by choices, which it is a condition of, or a part of one, and by nothing else.
    fn chooses(&self, node: &NodeProto) -> bool {
        let is_condition = |&(at, input): &(usize, usize)| {
            let reader = &self.graph.node[at];
            is(reader, "Where") && input == 0
                || ["And", "Not", "Or"].iter().any(|op| is(reader, op))
                || is(reader, "Cast") && reader.attribute.iter().any(|a| a.i == Some(BOOL.into()))
        };
        node.output.iter().all(|name| {
            let readers = self.readers.get(&name[..]);
            !self.outputs.contains(&name[..])
                && readers.is_some_and(|all| all.iter().all(is_condition))
        })
    }

    /// The nodes that only this branch of a choice sees, element by element.
    fn behind(&self, branch: (usize, usize)) -> Vec<usize> {
        let mut hidden: Vec<usize> = Vec::new();
        let mut open = vec![branch];
        while let Some((at, input)) = open.pop() {
            let Some(&maker) = self.makers.get(&self.graph.node[at].input[input][..]) else {
                continue;
            };
            let node = &self.graph.node[maker];
            let inside = |reader: &(usize, usize)| *reader == branch || hidden.contains(&reader.0);
            let is_seen_here = |name: &String| {
                let readers = self.readers.get(&name[..]);
                !self.outputs.contains(&name[..])
                    && readers.is_none_or(|all| all.iter().all(inside))
            };
            let by_element = ELEMENTS.iter().any(|op| is(node, op));
            let known = hidden.contains(&maker) || hidden.len() == DEPTH;
            if by_element && !known && node.output.iter().all(is_seen_here) {
                hidden.push(maker);
                open.extend((0..node.input.len()).map(|input| (maker, input)));
            }
        }
        hidden
    }
}

/// The input of a node that must be positive, or other than 0.
fn needs_good(makers: &Makers, node: &NodeProto) -> Option<usize> {
    let computed = |input: usize| {
        let name = node.input.get(input)?;
        makers.tensor(name).is_none().then_some(input)
    };
    match &node.op_type[..] {
        "Div" => computed(1),
        "Log" | "Reciprocal" | "Sqrt" => computed(0),
        "Pow" => {
            let exponent = makers.float(node.input.get(1)?)?;
            computed(0).filter(|_| exponent < 0.0 || exponent.fract() != 0.0)
        }
        _ => None,
    }
}

/// What a condition compares: the values, less what is added to them and their factors.
fn subjects<'a>(makers: &Makers<'a>, condition: &'a str) -> Vec<&'a str> {
    let (mut found, mut open) = (Vec::new(), vec![condition]);
    for _ in 0..DEPTH {
        let Some(name) = open.pop() else { break };
        let node = makers.maker(name);
        match node.map(|node| (&node.op_type[..], &node.input)) {
            Some(("And" | "Cast" | "Not" | "Or", inputs)) => {
                open.extend(inputs.iter().map(String::as_str));
            }
            Some(("Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual", inputs)) => {
                let computed = inputs.iter().filter(|name| makers.tensor(name).is_none());
                found.extend(computed.map(|name| root(makers, name)));
            }
            // A number other than 0 is a truth.
            _ => found.push(root(makers, name)),
        }
    }
    found
}

/// What a value is of by constant factors and terms.
fn root<'a>(makers: &Makers<'a>, value: &'a str) -> &'a str {
    let mut at = value;
    for _ in 0..DEPTH {
        let Some(node) = makers.maker(at) else { break };
        let inputs = &node.input;
        let mut computed = inputs.iter().filter(|name| makers.tensor(name).is_none());
        let line = matches!(
            &node.op_type[..],
            "Add" | "Cast" | "Div" | "Identity" | "Mul" | "Neg" | "Sub"
        );
        let (Some(one), None, true) = (computed.next(), computed.next(), line) else {
            break;
        };
        if is(node, "Div") && inputs.first() != Some(one) {
            break;
        }
        at = one;
    }
    at
}

//! Quotients, logarithms and roots of which a choice takes only those of good arguments, as `where(d > 0, n / d, 0)`:
//! floats are infinite or NaN where the choice takes the other branch, numbers of a ring are not.
//!
//! What the choice does not take is computed of 1: `n / where(d > 0, d, 1)`.

use std::collections::{HashMap, HashSet};

use super::builder::Builder;
use super::call::{Call, Fault, Value};
use super::compare::is_whole;
use super::makers::Makers;
use super::nary::on;
use super::proto::data_type::FLOAT;
use super::proto::{GraphProto, NodeProto, TensorProto};
use crate::graph::{Op, ValueId};

/// The most choices of a file that are looked at.
const MOST: usize = 256;

/// The most nodes between two values, or in a condition.
const DEPTH: usize = 16;

/// The most pairs of values that are compared, to see whether two are made alike.
const PAIRS: usize = 64;

/// What makes elements of those at the same place.
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
    /// Whether it counts where the condition holds.
    holds: bool,
}

/// Puts 1 in place of arguments that no choice takes.
pub(super) fn write(graph: &mut GraphProto) {
    let found = found(graph);
    if found.is_empty() {
        return;
    }
    let one = "1 of what is guarded".to_string();
    graph.initializer.push(TensorProto {
        name: one.clone(),
        data_type: FLOAT,
        float_data: vec![1.0],
        ..TensorProto::default()
    });
    for (count, guarded) in found.into_iter().enumerate() {
        let name = format!("guarded {count}");
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

fn found(graph: &GraphProto) -> Vec<Guarded> {
    let (makers, uses) = (Makers::of(graph), Uses::of(graph));
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
                let of = root(&makers, argument);
                if subjects
                    .iter()
                    .any(|subject| same(&makers, subject, of, &mut 0))
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

/// What makes and what reads the values of a graph.
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

/// Whether two values are made in the same way of the same, as far as a few pairs of values tell.
fn same(makers: &Makers, a: &str, b: &str, pairs: &mut usize) -> bool {
    *pairs += 1;
    if *pairs > PAIRS {
        return false;
    }
    if makers.are_same(a, b) {
        return true;
    }
    if let (Some(a), Some(b)) = (makers.tensor(a), makers.tensor(b)) {
        let numbers = |tensor: &TensorProto| TensorProto {
            name: String::new(),
            ..tensor.clone()
        };
        let few = |tensor: &TensorProto| tensor.dims.iter().all(|&size| size <= DEPTH as i64);
        return few(a) && few(b) && numbers(a) == numbers(b);
    }
    let (Some(one), Some(other)) = (makers.maker(a), makers.maker(b)) else {
        return false;
    };
    let alike = one.op_type == other.op_type && one.attribute == other.attribute;
    let single = one.output.len() == 1 && other.output.len() == 1;
    let mut inputs = one.input.iter().zip(&other.input);
    alike
        && single
        && one.input.len() == other.input.len()
        && inputs.all(|(a, b)| same(makers, a, b, pairs))
}

/// A truth of a value: that it is above a number, or is one.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    Above(ValueId, f32),
    Is(ValueId, f32),
}

/// Notes what a comparison says of the value that it compares with one number.
pub(super) fn note(call: &Call, builder: &mut Builder, truth: &Value) {
    let (Some(a), Some(b), Value::Secret { id: truth, .. }) = (call.input(0), call.input(1), truth)
    else {
        return;
    };
    let one = |value: &Value| match value {
        Value::Constant(number) if number.data.len() == 1 => Some(number.data.floats()[0]),
        _ => None,
    };
    let limit = match (&call.node.op_type[..], a, b) {
        ("Greater", Value::Secret { id, .. }, b) => one(b).map(|v| Limit::Above(*id, v)),
        ("Less", a, Value::Secret { id, .. }) => one(a).map(|v| Limit::Above(*id, v)),
        ("Equal", Value::Secret { id, .. }, b) => one(b).map(|v| Limit::Is(*id, v)),
        ("Equal", a, Value::Secret { id, .. }) => one(a).map(|v| Limit::Is(*id, v)),
        _ => None,
    };
    builder.limits.extend(limit.map(|limit| (*truth, limit)));
}

/// Where of whole numbers and 1, if it takes 1 in place of those below: the larger of the two, which is 1 or more by the
/// way it is made.
pub(super) fn from_one(
    call: &Call,
    builder: &mut Builder,
    [condition, x, y]: [&Value; 3],
) -> Result<Option<Value>, Fault> {
    let Value::Secret { id: truth, .. } = condition else {
        return Ok(None);
    };
    let is_one = |value: &Value| matches!(value, Value::Constant(c) if c.is_one());
    let count = match (builder.limits.get(truth), x, y) {
        (Some(&Limit::Above(of, v)), Value::Secret { id, .. }, y)
            if of == *id && is_one(y) && (0.0..1.0).contains(&v) =>
        {
            x
        }
        (Some(&Limit::Is(of, 0.0)), x, Value::Secret { id, .. })
            if of == *id && is_one(x) && is_count(builder, of) =>
        {
            y
        }
        _ => return Ok(None),
    };
    if !is_whole(builder, count) || !alike(condition, count) {
        return Ok(None);
    }
    Ok(Some(at_least_one(call, builder, count)?))
}

/// The larger of whole numbers and 1.
fn at_least_one(call: &Call, builder: &mut Builder, count: &Value) -> Result<Value, Fault> {
    on(call, builder, count, |c, x| {
        let less = c.affine("less 1", x, 1.0, -1.0)?;
        let more = c.each("more than 1", Op::Relu, &[less])?;
        c.affine("from 1 on", more, 1.0, 1.0)
    })
}

/// The sum of counts by which these are divided, as votes are, from 1 on: if it were 0, so were they, and 0 / 0 is no
/// number.
pub(super) fn of_counts(
    call: &Call,
    builder: &mut Builder,
    counts: &Value,
    sum: &Value,
) -> Result<Option<Value>, Fault> {
    let (Value::Secret { id: of, .. }, Value::Secret { id, .. }) = (counts, sum) else {
        return Ok(None);
    };
    let ((of, _), (total, _)) = (builder.moved_from(*of), builder.moved_from(*id));
    let node = total.checked_sub(1).map(|node| &builder.nodes[node]);
    let own = node.is_some_and(|node| {
        matches!(node.op, Op::SumPool(_)) && builder.moved_from(node.inputs[0]).0 == of
    });
    if !own || !is_count(builder, of) {
        return Ok(None);
    }
    Ok(Some(at_least_one(call, builder, sum)?))
}

/// Whether a value counts truths, by the way it is made.
fn is_count(builder: &Builder, id: ValueId) -> bool {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) || builder.truths.contains(&id) {
            continue;
        }
        let Some(node) = id.checked_sub(1).map(|node| &builder.nodes[node]) else {
            return false;
        };
        match node.op {
            Op::NonNegative => continue,
            Op::Rearrange { fill: 0.0, .. } | Op::Concat { .. } | Op::SumPool(_) => {}
            Op::Add | Op::Mul | Op::MatMul(_) | Op::MaxPool(_) => {}
            _ => return false,
        }
        open.extend(&node.inputs);
    }
    true
}

/// Whether two values have their elements at the same places.
fn alike(a: &Value, b: &Value) -> bool {
    let place = |value: &Value| match value {
        Value::Secret { shape, batch, .. } => Some((shape.clone(), *batch)),
        _ => None,
    };
    place(a) == place(b)
}

//! What makes each value of a file, before its nodes are lowered: to find forms that mean less than they say.

use std::collections::HashMap;

use super::constant::{Data, Reader};
use super::proto::data_type::FLOAT;
use super::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};

/// The most copies of copies that are looked through.
pub(super) const MOST_COPIES: usize = 16;

/// The most pairs of values that are compared, to see whether two are made alike.
const PAIRS: usize = 64;

/// The largest size of constants that are compared.
const FEW: i64 = 16;

/// The most elements of constants that are read to see whether they are one number.
pub(super) const MANY: i64 = 1 << 20;

/// The most whole numbers that are read of a constant.
const SIZES: i64 = 1 << 12;

/// Operations whose result has the axes of their one computed input, where constants have no more.
const KEEP_AXES: [&str; 14] = [
    "Add",
    "Cast",
    "Div",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "LogSoftmax",
    "Mul",
    "Relu",
    "Sigmoid",
    "Softmax",
    "Sub",
    "Tanh",
];

/// What is to be changed at nodes of the standard's operations, with the nodes' places in their order.
pub(super) fn changes<T>(
    graph: &GraphProto,
    change: impl Fn(&Makers, &NodeProto) -> Option<T>,
) -> Vec<(usize, T)> {
    let makers = Makers::of(graph);
    let own = |node: &NodeProto| {
        let output = node.output.first()?;
        std::ptr::eq(*makers.nodes.get(&output[..])?, node).then_some(())
    };
    let nodes = graph.node.iter().enumerate();
    nodes
        .filter_map(|(at, node)| Some((at, own(node).and_then(|()| change(&makers, node))?)))
        .collect()
}

/// An attribute of a node.
pub(super) fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|a| a.name == name)
}

/// The nodes of a graph by what they make, of the standard's operations, and its constants.
pub(super) struct Makers<'a> {
    nodes: HashMap<&'a str, &'a NodeProto>,
    tensors: HashMap<&'a str, &'a TensorProto>,
}

impl<'a> Makers<'a> {
    pub(super) fn of(graph: &'a GraphProto) -> Self {
        let outputs = |node: &'a NodeProto| node.output.iter().map(move |name| (&name[..], node));
        // What another domain's operation does is not known.
        let known = |node: &&NodeProto| matches!(&node.domain[..], "" | "ai.onnx" | "ai.onnx.ml");
        let nodes = || graph.node.iter().filter(known);
        let constants = nodes().filter(|node| node.op_type == "Constant");
        let constants = constants.filter_map(|node| {
            let tensor = node.attribute.iter().find_map(|a| a.t.as_ref())?;
            Some((&node.output.first()?[..], tensor))
        });
        let own = graph.initializer.iter();
        Makers {
            nodes: nodes().flat_map(outputs).collect(),
            tensors: own.map(|t| (&t.name[..], t)).chain(constants).collect(),
        }
    }

    /// What a value is a copy of, of the same or another kind of numbers that holds every index.
    fn source<'b>(&self, value: &'b str) -> &'b str
    where
        'a: 'b,
    {
        let mut at = value;
        // A file's copies may go round in a circle.
        for _ in 0..MOST_COPIES {
            match self.nodes.get(at).map(|node| (&node.op_type[..], *node)) {
                Some(("Identity", node)) if node.input.len() == 1 => at = &node.input[0],
                Some(("Cast", node)) if node.input.len() == 1 && keeps(node) => at = &node.input[0],
                _ => break,
            }
        }
        at
    }

    /// Whether two values are the same index, as one or another kind of numbers.
    pub(super) fn are_same(&self, one: &str, other: &str) -> bool {
        self.source(one) == self.source(other)
    }

    /// Whether two values are made in the same way of the same, as far as a few pairs of values tell: so many were
    /// compared before.
    pub(super) fn are_alike(&self, a: &str, b: &str, pairs: &mut usize) -> bool {
        *pairs += 1;
        if *pairs > PAIRS {
            return false;
        }
        if self.are_same(a, b) {
            return true;
        }
        if let (Some(a), Some(b)) = (self.tensor(a), self.tensor(b)) {
            let numbers = |tensor: &TensorProto| TensorProto {
                name: String::new(),
                ..tensor.clone()
            };
            let few = |tensor: &TensorProto| tensor.dims.iter().all(|&size| size <= FEW);
            return few(a) && few(b) && numbers(a) == numbers(b);
        }
        let (Some(one), Some(other)) = (self.maker(a), self.maker(b)) else {
            return false;
        };
        let alike = one.op_type == other.op_type && one.attribute == other.attribute;
        let single = one.output.len() == 1 && other.output.len() == 1;
        let mut inputs = one.input.iter().zip(&other.input);
        alike
            && single
            && one.input.len() == other.input.len()
            && inputs.all(|(a, b)| self.are_alike(a, b, pairs))
    }

    /// The node that makes a value itself, a copy also.
    pub(super) fn exact(&self, value: &str) -> Option<&'a NodeProto> {
        self.nodes.get(value).copied()
    }

    /// The node that makes a value.
    pub(super) fn maker(&self, value: &str) -> Option<&'a NodeProto> {
        self.nodes.get(self.source(value)).copied()
    }

    /// The node that makes a value, if it is of this kind.
    pub(super) fn node(&self, value: &str, kind: &str) -> Option<&'a NodeProto> {
        self.maker(value).filter(|node| node.op_type == kind)
    }

    /// Both inputs of such a node that makes a value.
    pub(super) fn inputs(&self, value: &str, kind: &str) -> Option<[&'a str; 2]> {
        match &self.node(value, kind)?.input[..] {
            [a, b] => Some([a, b]),
            _ => None,
        }
    }

    /// Whether a value is this number, of no axis: beside others it gives none an axis more.
    pub(super) fn is_number(&self, value: &str, number: i64) -> bool {
        let plain = self.tensor(value).filter(|tensor| tensor.dims.is_empty());
        match plain.and_then(|_| self.single(value)) {
            Some(Data::Int(values)) => values == [number],
            Some(data) => data.floats()[..] == [number as f32],
            None => false,
        }
    }

    /// The whole number that a value is, alone.
    pub(super) fn whole(&self, value: &str) -> Option<i64> {
        match self.single(value)? {
            Data::Int(values) => values.first().copied(),
            _ => None,
        }
    }

    /// The whole numbers that a value is, such as axes or sizes: of more than [`SIZES`] none.
    pub(super) fn wholes(&self, value: &str) -> Option<Vec<i64>> {
        let few = |tensor: &&TensorProto| tensor.dims.iter().all(|&size| size <= SIZES);
        let tensor = self.tensor(value).filter(|tensor| tensor.dims.len() < 2);
        let read = Reader { folder: None }.read(tensor.filter(few)?);
        match read.ok()?.data {
            Data::Int(values) => Some(values.to_vec()),
            _ => None,
        }
    }

    /// The float that a value is, alone.
    pub(super) fn float(&self, value: &str) -> Option<f32> {
        match self.single(value)? {
            Data::Int(_) => None,
            data => data.floats().first().copied(),
        }
    }

    /// Whether a value has two axes by the operation that makes it, or by those before, which keep them.
    pub(super) fn is_matrix(&self, value: &str) -> bool {
        let mut at = value;
        // A file's nodes may go round in a circle.
        for _ in 0..MOST_COPIES {
            let Some(node) = self.maker(at) else {
                return false;
            };
            match &node.op_type[..] {
                "Flatten" | "Gemm" => return true,
                kind if KEEP_AXES.contains(&kind) => {}
                _ => return false,
            }
            let small = |name: &&String| self.tensor(name).is_none_or(|t| t.dims.len() <= 2);
            let mut computed = node.input.iter().filter(|name| self.tensor(name).is_none());
            match (computed.next(), computed.next()) {
                (Some(only), None) if node.input.iter().all(|name| small(&name)) => at = only,
                _ => return false,
            }
        }
        false
    }

    /// The number that a value is everywhere, whatever its shape, a part of it also.
    pub(super) fn everywhere(&self, value: &str) -> Option<f32> {
        let mut at = value;
        for _ in 0..MOST_COPIES {
            if let Some(tensor) = self.tensor(at) {
                let few = tensor
                    .dims
                    .iter()
                    .try_fold(1i64, |n, &size| n.checked_mul(size));
                few.filter(|&n| n <= MANY)?;
                let read = Reader { folder: None }.read(tensor).ok()?;
                let Data::Float(all) = read.data else {
                    return None;
                };
                return all
                    .first()
                    .copied()
                    .filter(|first| all.iter().all(|v| v == first));
            }
            let node = self.maker(at)?;
            match (&node.op_type[..], attribute(node, "value")) {
                ("ConstantOfShape", None) => return Some(0.0),
                ("ConstantOfShape", Some(a)) => {
                    let tensor = a.t.as_ref().filter(|tensor| tensor.data_type == FLOAT)?;
                    let read = Reader { folder: None }.read(tensor).ok()?;
                    return read.data.floats().first().copied();
                }
                ("Expand", _) => return self.float(node.input.first()?),
                ("Slice", _) => at = node.input.first()?,
                _ => return None,
            }
        }
        None
    }

    /// How many columns a shape of two axes tells, of which the first is that of another value.
    pub(super) fn columns(&self, shape: &str) -> Option<i64> {
        let [rows, columns] = self.inputs(shape, "Concat")?;
        let rows = self.maker(rows)?;
        let whole = |name: &str| attribute(rows, name).and_then(|a| a.i);
        let is_first = |size: &str| {
            let [sizes, place] = self.inputs(size, "Gather")?;
            (self.node(sizes, "Shape").is_some() && self.whole(place) == Some(0)).then_some(())
        };
        let is_one = match &rows.op_type[..] {
            "Unsqueeze" => is_first(rows.input.first()?).is_some(),
            "Shape" => whole("end") == Some(1) && whole("start").unwrap_or(0) == 0,
            _ => false,
        };
        self.whole(columns).filter(|_| is_one)
    }

    /// Whether a value is made of what no node of the graph makes and no tensor is, as far as a few nodes tell.
    pub(super) fn is_of_inputs(&self, value: &str) -> bool {
        let (mut open, mut looked) = (vec![value], 0);
        while let Some(value) = open.pop() {
            looked += 1;
            match self.maker(value) {
                _ if looked > PAIRS => return false,
                Some(node) => open.extend(node.input.iter().map(String::as_str)),
                None if self.tensor(value).is_none() && !value.is_empty() => return true,
                None => {}
            }
        }
        false
    }

    /// The constant that a value is.
    pub(super) fn tensor(&self, value: &str) -> Option<&'a TensorProto> {
        self.tensors.get(self.source(value)).copied()
    }

    fn single(&self, value: &str) -> Option<Data> {
        let tensor = self.tensor(value)?;
        let is_single = matches!(tensor.dims[..], [] | [1]);
        let read = is_single.then(|| Reader { folder: None }.read(tensor))?;
        read.ok().map(|constant| constant.data)
    }
}

/// A value that is one number everywhere, in the shape of another.
pub(super) struct Filled<'a> {
    pub number: f32,
    pub like: &'a str,
}

impl<'a> Filled<'a> {
    pub(super) fn of(makers: &Makers<'a>, value: &str) -> Option<Self> {
        let node = makers.maker(value)?;
        let shape = match (&node.op_type[..], &node.input[..]) {
            ("ConstantOfShape", [shape]) | ("Expand", [_, shape]) => shape,
            _ => return None,
        };
        let number = makers.everywhere(value)?;
        let sizes = makers.node(shape, "Shape")?;
        let all = |name, plain| attribute(sizes, name).is_none_or(|a| a.i == Some(plain));
        let like = sizes.input.first()?;
        (all("start", 0) && attribute(sizes, "end").is_none()).then_some(Filled { number, like })
    }
}

/// Whether a cast keeps every index, as one to narrower numbers or truths does not: to float, int32 or int64.
fn keeps(cast: &NodeProto) -> bool {
    let to = cast.attribute.iter().find(|a| a.name == "to");
    matches!(to.and_then(|a| a.i), Some(1 | 6 | 7))
}

//! The data types of a file's values. Shares are fixed-point numbers whatever they stand for; what integers make of
//! each other is told from what floats make by the types that the standard derives.

use std::collections::HashMap;

use super::kind::DataType;
use super::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};

/// The types of values, by their names; of some none is known.
#[derive(Default)]
pub(super) struct Types<'a> {
    known: HashMap<&'a str, Option<DataType>>,
}

impl<'a> Types<'a> {
    /// The types of the values of a graph, whose nodes are sorted, and of the graphs inside.
    pub(super) fn of(graph: &'a GraphProto) -> Self {
        let mut types = Types::default();
        types.read(graph, &[]);
        types
    }

    /// The type of a value.
    pub(super) fn get(&self, name: &str) -> Option<DataType> {
        self.known.get(name).copied().flatten()
    }

    /// The types of a graph's outputs; its inputs have those of the file, or these.
    fn read(
        &mut self,
        graph: &'a GraphProto,
        inputs: &[Option<DataType>],
    ) -> Vec<Option<DataType>> {
        for tensor in &graph.initializer {
            self.note(&tensor.name, of_tensor(tensor));
        }
        for (i, input) in graph.input.iter().enumerate() {
            let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
            let declared = tensor.and_then(|t| DataType::of(t.elem_type).ok());
            self.note(&input.name, declared.or(inputs.get(i).copied().flatten()));
        }
        for node in &graph.node {
            let types = self.of_node(node);
            for (name, kind) in node.output.iter().zip(types) {
                self.note(name, kind);
            }
        }
        let outputs = graph.output.iter();
        outputs.map(|output| self.get(&output.name)).collect()
    }

    /// Notes the type of a name, none where it stands for values of different types in graphs beside each other.
    fn note(&mut self, name: &'a str, kind: Option<DataType>) {
        let known = self.known.entry(name).or_insert(kind);
        if *known != kind {
            *known = None;
        }
    }

    /// The types of a node's outputs.
    fn of_node(&mut self, node: &'a NodeProto) -> Vec<Option<DataType>> {
        let input = |i: usize| node.input.get(i).and_then(|name| self.get(name));
        let first = input(0);
        let whole = Some(DataType::Signed(64));
        let many = node.output.len();
        match node.op_type.as_str() {
            _ if !["", "ai.onnx"].contains(&&node.domain[..]) => of_table(node, first),
            "If" | "Loop" | "Scan" => self.of_graphs(node),
            "Equal" | "Greater" | "GreaterOrEqual" | "Less" | "LessOrEqual" | "And" | "Or"
            | "Xor" | "Not" | "IsNaN" | "IsInf" => vec![Some(DataType::Bool)],
            "ArgMax" | "ArgMin" | "NonZero" | "Shape" | "Size" => vec![whole],
            "MaxPool" | "TopK" => vec![first, whole],
            "ConvInteger" | "MatMulInteger" => vec![Some(DataType::Signed(32))],
            "Cast" => vec![code(node, "to")],
            "CastLike" => vec![input(1)],
            "Where" => vec![input(1)],
            "OneHot" => vec![input(2)],
            "Constant" => vec![of_constant(node)],
            "ConstantOfShape" => {
                let value = attribute(node, "value").and_then(|a| a.t.as_ref());
                vec![value.map_or(Some(DataType::Float), of_tensor)]
            }
            "EyeLike" => vec![code(node, "dtype").or(first)],
            op if KEEPS.contains(&op) => vec![first; many],
            _ => vec![None; many],
        }
    }

    /// The types of the outputs of a node with graphs; of a Loop the first are what it carries, as of a Scan.
    fn of_graphs(&mut self, node: &'a NodeProto) -> Vec<Option<DataType>> {
        let inputs = node.input.iter().map(|name| self.get(name));
        let given: Vec<_> = match node.op_type.as_str() {
            "If" => vec![],
            "Loop" => [Some(DataType::Signed(64)), Some(DataType::Bool)]
                .into_iter()
                .chain(inputs.skip(2))
                .collect(),
            _ => inputs.collect(),
        };
        let mut made: Vec<Vec<Option<DataType>>> = Vec::new();
        for graph in node.attribute.iter().filter_map(|a| a.g.as_ref()) {
            made.push(self.read(graph, &given));
        }
        let Some((first, others)) = made.split_first() else {
            return vec![];
        };
        let same = |i: &usize| others.iter().all(|other| other.get(*i) == first.get(*i));
        // The condition of a Loop is no output.
        let from = usize::from(node.op_type == "Loop");
        let all = (from..first.len()).map(|i| first[i].filter(|_| same(&i)));
        all.collect()
    }
}

/// Operations whose outputs have the type of their first input.
const KEEPS: &[&str] = &[
    "Abs",
    "Add",
    "BitwiseAnd",
    "BitwiseNot",
    "BitwiseOr",
    "BitwiseXor",
    "BitShift",
    "CenterCropPad",
    "Clip",
    "Compress",
    "Concat",
    "CumProd",
    "CumSum",
    "DepthToSpace",
    "Div",
    "Einsum",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gemm",
    "Identity",
    "MatMul",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Pad",
    "Pow",
    "Range",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Resize",
    "ReverseSequence",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Sign",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Sub",
    "Sum",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Upsample",
];

/// The types of what operations on tables give; one of another domain gives floats, or is not known.
fn of_table(node: &NodeProto, first: Option<DataType>) -> Vec<Option<DataType>> {
    match node.op_type.as_str() {
        "ArrayFeatureExtractor" => vec![first],
        _ => vec![None; node.output.len()],
    }
}

fn attribute<'a>(node: &'a NodeProto, name: &str) -> Option<&'a AttributeProto> {
    node.attribute.iter().find(|a| a.name == name)
}

/// The type that an attribute names.
fn code(node: &NodeProto, name: &str) -> Option<DataType> {
    let code = attribute(node, name)?.i?;
    DataType::of(i32::try_from(code).ok()?).ok()
}

fn of_tensor(tensor: &TensorProto) -> Option<DataType> {
    DataType::of(tensor.data_type).ok()
}

/// The type of a Constant, whatever attribute holds it.
fn of_constant(node: &NodeProto) -> Option<DataType> {
    let named = |name| attribute(node, name);
    if let Some(tensor) = named("value").and_then(|a| a.t.as_ref()) {
        return of_tensor(tensor);
    }
    let [int, ints] = ["value_int", "value_ints"].map(named);
    let [float, floats] = ["value_float", "value_floats"].map(named);
    match (int.or(ints), float.or(floats)) {
        (Some(_), _) => Some(DataType::Signed(64)),
        (None, Some(_)) => Some(DataType::Float),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::onnx::proto::{TensorTypeProto, TypeProto, ValueInfoProto, data_type};

    fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect();
        NodeProto {
            op_type: op.into(),
            input: all(inputs),
            output: all(outputs),
            ..NodeProto::default()
        }
    }

    fn declared(name: &str, elem_type: i32) -> ValueInfoProto {
        ValueInfoProto {
            name: name.into(),
            r#type: Some(TypeProto {
                tensor_type: Some(TensorTypeProto {
                    elem_type,
                    shape: None,
                }),
            }),
        }
    }

    fn undeclared(name: &str) -> ValueInfoProto {
        ValueInfoProto {
            name: name.into(),
            r#type: None,
        }
    }

    fn cast(from: &str, to: &str, code: i32) -> NodeProto {
        let mut cast = node("Cast", &[from], &[to]);
        cast.attribute.push(AttributeProto {
            name: "to".into(),
            i: Some(code.into()),
            ..AttributeProto::default()
        });
        cast
    }

    #[test]
    fn types_follow_the_nodes() {
        let graph = GraphProto {
            input: vec![
                declared("x", data_type::INT64),
                declared("y", data_type::FLOAT),
            ],
            node: vec![
                node("ReduceSum", &["x"], &["sum"]),
                node("Div", &["x", "sum"], &["share"]),
                node("Less", &["x", "sum"], &["less"]),
                node("TopK", &["y", "k"], &["values", "places"]),
                node("Where", &["less", "y", "y"], &["chosen"]),
                cast("y", "short", data_type::INT32),
                node("Split", &["short"], &["a", "b"]),
                node("Sqrt", &["y"], &["root"]),
            ],
            ..GraphProto::default()
        };
        let types = Types::of(&graph);
        let (long, short) = (DataType::Signed(64), DataType::Signed(32));
        for (name, kind) in [
            ("share", Some(long)),
            ("less", Some(DataType::Bool)),
            ("values", Some(DataType::Float)),
            ("places", Some(long)),
            ("chosen", Some(DataType::Float)),
            ("b", Some(short)),
            ("root", None),
        ] {
            assert_eq!(types.get(name), kind, "{name}");
        }
    }

    /// What a loop carries has the type of what it began with, and what branches of different types make has none.
    #[test]
    fn types_of_graphs_inside() {
        let inside = |name: &str, graph| AttributeProto {
            name: name.into(),
            g: Some(graph),
            ..AttributeProto::default()
        };
        let mut turned = node("Loop", &["n", "", "x"], &["end", "all"]);
        turned.attribute.push(inside(
            "body",
            GraphProto {
                input: ["turn", "go", "at"].map(undeclared).into(),
                output: ["go on", "next", "seen"].map(undeclared).into(),
                node: vec![
                    node("Identity", &["go"], &["go on"]),
                    node("Add", &["at", "turn"], &["next"]),
                    cast("at", "seen", data_type::FLOAT),
                ],
                ..GraphProto::default()
            },
        ));
        let mut either = node("If", &["c"], &["one"]);
        for (name, code) in [
            ("then_branch", data_type::FLOAT),
            ("else_branch", data_type::INT64),
        ] {
            let made = GraphProto {
                output: vec![undeclared("made")],
                node: vec![cast("x", "made", code)],
                ..GraphProto::default()
            };
            either.attribute.push(inside(name, made));
        }
        let graph = GraphProto {
            input: vec![
                declared("x", data_type::INT64),
                declared("c", data_type::BOOL),
            ],
            node: vec![turned, either],
            ..GraphProto::default()
        };
        let types = Types::of(&graph);
        assert_eq!(types.get("end"), Some(DataType::Signed(64)));
        assert_eq!(types.get("go on"), Some(DataType::Bool));
        assert_eq!(types.get("all"), Some(DataType::Float));
        assert_eq!(types.get("one"), None);
    }
}

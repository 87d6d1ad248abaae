//! ONNX files of networks, node by node.

use prost::Message;

use super::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    ShapeProto, TensorProto, TensorTypeProto, TypeProto, ValueInfoProto, data_type,
};

const OPSET: i64 = 17;
/// The version of the format that goes with the operator set.
const IR_VERSION: i64 = 8;
const INPUT: &str = "input";
const OUTPUT: &str = "output";
/// The kinds of an attribute: a number, a whole number, several of these.
const KINDS: [i32; 3] = [1, 2, 7];

/// A model that is being written. Each node reads the value of the one before, or the one gone to.
pub struct Writer {
    graph: GraphProto,
    value: String,
}

/// An attribute of a node.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// A float32 as an attribute.
    Float(f32),
    /// A whole number as an attribute.
    Int(i64),
    /// Several whole numbers as an attribute.
    Ints(Vec<i64>),
}

impl Writer {
    /// A model on items of a shape; the batch axis has no fixed size.
    pub fn new(name: &str, shape: &[usize]) -> Self {
        let graph = GraphProto {
            name: name.into(),
            input: vec![value(INPUT, shape)],
            ..GraphProto::default()
        };
        Writer {
            graph,
            value: INPUT.into(),
        }
    }

    /// Adds a node with fixed operands, each a shape and its numbers.
    pub fn node(
        &mut self,
        name: &str,
        op: &str,
        operands: &[(&str, &[usize], &[f32])],
        attributes: &[(&str, Attribute)],
    ) {
        let mut input = vec![std::mem::take(&mut self.value)];
        for (operand, shape, values) in operands {
            let operand = format!("{name}.{operand}");
            self.graph.initializer.push(TensorProto {
                dims: shape.iter().map(|n| *n as i64).collect(),
                data_type: data_type::FLOAT,
                name: operand.clone(),
                raw_data: Some(values.iter().flat_map(|v| v.to_le_bytes()).collect()),
                ..TensorProto::default()
            });
            input.push(operand);
        }
        self.value = format!("{name}.out");
        self.graph.node.push(NodeProto {
            input,
            output: vec![self.value.clone()],
            name: name.into(),
            op_type: op.into(),
            attribute: attributes.iter().map(attribute).collect(),
            ..NodeProto::default()
        });
    }

    /// The value that the next node reads.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Has the next node read this value of a node before, or the input.
    pub fn go_to(&mut self, value: &str) {
        self.value = value.into();
    }

    /// Adds a node that reads another value, too.
    pub fn join(&mut self, name: &str, op: &str, other: &str) {
        self.node(name, op, &[], &[]);
        if let Some(node) = self.graph.node.last_mut() {
            node.input.push(other.into());
        }
    }

    /// The file, whose output items have a shape.
    pub fn finish(mut self, shape: &[usize]) -> Vec<u8> {
        if let Some(last) = self.graph.node.last_mut() {
            last.output = vec![OUTPUT.into()];
        }
        self.graph.output = vec![value(OUTPUT, shape)];
        let model = ModelProto {
            ir_version: Some(IR_VERSION),
            graph: Some(self.graph),
            opset_import: vec![OperatorSetIdProto {
                domain: String::new(),
                version: OPSET,
            }],
            ..ModelProto::default()
        };
        model.encode_to_vec()
    }
}

fn attribute((name, value): &(&str, Attribute)) -> AttributeProto {
    let empty = AttributeProto {
        name: (*name).into(),
        ..AttributeProto::default()
    };
    match value {
        Attribute::Float(f) => AttributeProto {
            f: Some(*f),
            r#type: KINDS[0],
            ..empty
        },
        Attribute::Int(i) => AttributeProto {
            i: Some(*i),
            r#type: KINDS[1],
            ..empty
        },
        Attribute::Ints(ints) => AttributeProto {
            ints: ints.clone(),
            r#type: KINDS[2],
            ..empty
        },
    }
}

fn value(name: &str, shape: &[usize]) -> ValueInfoProto {
    let batch = DimensionProto {
        dim_value: None,
        dim_param: Some("batch".into()),
    };
    let sizes = shape.iter().map(|n| DimensionProto {
        dim_value: Some(*n as i64),
        dim_param: None,
    });
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorTypeProto {
                elem_type: data_type::FLOAT,
                shape: Some(ShapeProto {
                    dim: std::iter::once(batch).chain(sizes).collect(),
                }),
            }),
        }),
    }
}

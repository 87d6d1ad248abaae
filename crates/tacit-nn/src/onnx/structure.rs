//! How much memory the structure of a file takes, before it is read: an attribute of two bytes takes some hundred.

use prost::bytes::Buf;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use super::proto::{
    AttributeProto, DimensionProto, FunctionProto, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, ValueInfoProto,
};
use super::{ImportError, unusable};

/// The most memory that messages and strings take themselves, without what numbers and bytes they hold.
const MOST: usize = 1 << 30;

/// The deepest messages within others that are looked at; those that are deeper are refused when they are read.
const DEPTH: usize = 100;

/// The file's messages, if their structure does not take too much memory.
pub(super) fn decoded(bytes: impl Buf) -> Result<ModelProto, ImportError> {
    let mut left = MOST;
    // The bytes of a file stand together.
    let mut all = bytes.chunk();
    if weigh(&mut all, Kind::Model, 0, &mut left) == Some(false) {
        return Err(unusable(format!(
            "its nodes, attributes and names alone take more than {MOST} bytes of memory"
        )));
    }
    prost::Message::decode(bytes).map_err(|e| unusable(format!("it does not parse: {e}")))
}

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Function,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    /// A message without others within.
    Leaf(usize),
}

impl Kind {
    /// The bytes that one takes.
    fn size(self) -> usize {
        match self {
            Kind::Model => size_of::<ModelProto>(),
            Kind::Graph => size_of::<GraphProto>(),
            Kind::Function => size_of::<FunctionProto>(),
            Kind::Node => size_of::<NodeProto>(),
            Kind::Attribute => size_of::<AttributeProto>(),
            Kind::Tensor => size_of::<TensorProto>(),
            Kind::Value => size_of::<ValueInfoProto>(),
            // A part of the value.
            Kind::Type | Kind::TensorType | Kind::Shape => 0,
            Kind::Leaf(size) => size,
        }
    }

    /// What the field of this number holds, if it is one that takes memory of its own.
    fn field(self, tag: u32) -> Option<Kind> {
        const TEXT: Kind = Kind::Leaf(size_of::<String>());
        const SET: Kind = Kind::Leaf(size_of::<OperatorSetIdProto>());
        Some(match (self, tag) {
            (Kind::Model, 7) => Kind::Graph,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Model, 8) | (Kind::Function, 9) => SET,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Graph, 5) | (Kind::Attribute, 5) => Kind::Tensor,
            (Kind::Graph, 11..=13) => Kind::Value,
            (Kind::Function, 11) | (Kind::Node, 5) => Kind::Attribute,
            (Kind::Function, 4..=6) | (Kind::Node, 1 | 2) => TEXT,
            (Kind::Attribute, 6) => Kind::Graph,
            (Kind::Attribute, 9) | (Kind::Tensor, 6) => TEXT,
            (Kind::Tensor, 13) => Kind::Leaf(size_of::<StringStringEntryProto>()),
            (Kind::Value, 2) => Kind::Type,
            (Kind::Type, 1) => Kind::TensorType,
            (Kind::TensorType, 2) => Kind::Shape,
            (Kind::Shape, 1) => Kind::Leaf(size_of::<DimensionProto>()),
            _ => return None,
        })
    }
}

/// Takes what a message and those within take from what is `left`: `Some(false)` if that is not enough, `None` of what
/// is no message.
fn weigh(bytes: &mut &[u8], kind: Kind, depth: usize, left: &mut usize) -> Option<bool> {
    while bytes.has_remaining() {
        let (tag, wire) = decode_key(bytes).ok()?;
        let Some(field) = kind
            .field(tag)
            .filter(|_| wire == WireType::LengthDelimited)
        else {
            skip_field(wire, tag, bytes, DecodeContext::default()).ok()?;
            continue;
        };
        let len = usize::try_from(decode_varint(bytes).ok()?).ok()?;
        let (mut within, rest) = bytes.split_at_checked(len)?;
        *bytes = rest;
        match left.checked_sub(field.size()) {
            Some(less) => *left = less,
            None => return Some(false),
        }
        let goes_on = !matches!(field, Kind::Leaf(_)) && depth < DEPTH;
        if goes_on && !weigh(&mut within, field, depth + 1, left)? {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::onnx::made::node;

    /// A file whose attributes hold nothing takes some hundred times its bytes.
    #[test]
    fn many_empty_attributes_are_refused_before_they_are_read() {
        let many = |attributes: usize| {
            let mut bytes = Vec::new();
            let one = NodeProto {
                attribute: vec![AttributeProto::default(); attributes],
                ..node("Relu", &["x"], "y")
            };
            let graph = GraphProto {
                node: vec![one],
                ..GraphProto::default()
            };
            let model = ModelProto {
                graph: Some(graph),
                ..ModelProto::default()
            };
            model.encode(&mut bytes).expect("a vector grows");
            bytes
        };
        let some = decoded(many(1000).as_slice()).expect("few");
        assert_eq!(some.graph.expect("one").node[0].attribute.len(), 1000);
        let mut left = MOST;
        let bytes = many(1000);
        weigh(&mut bytes.as_slice(), Kind::Model, 0, &mut left);
        let each = (MOST - left) / 1000;
        assert!(each >= size_of::<AttributeProto>(), "{each}");
        let mut few = 900 * each;
        assert_eq!(
            weigh(&mut bytes.as_slice(), Kind::Model, 0, &mut few),
            Some(false)
        );
    }

    /// What is no message is left to what reads it.
    #[test]
    fn what_is_no_message_does_not_parse() {
        for bytes in [&[0x3a, 0xff, 0xff][..], &[0x3b], &[0xff; 20]] {
            let error = decoded(bytes).expect_err("no message").to_string();
            assert!(error.contains("does not parse"), "{error}");
        }
    }
}

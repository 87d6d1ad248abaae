//! Nodes and constants that forms are written with, in place of what a file has.

use super::proto::data_type::{FLOAT, INT64};
use super::proto::{AttributeProto, NodeProto, TensorProto};

/// The operator set from which on sums and new axes take their axes as an input.
pub(super) const AXES_GIVEN: i64 = 13;

/// The types of attributes: of one whole number, of several, and of a text.
const INT: i32 = 2;
const INTS: i32 = 7;
const STRING: i32 = 3;

/// A node of the standard's operations, with one output.
pub(super) fn node(kind: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: kind.into(),
        input: inputs.iter().map(|name| (*name).to_string()).collect(),
        output: vec![output.into()],
        ..NodeProto::default()
    }
}

/// An attribute of one whole number.
pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        i: Some(value),
        r#type: INT,
        ..AttributeProto::default()
    }
}

/// An attribute of several whole numbers.
pub(super) fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        ints: values.into(),
        r#type: INTS,
        ..AttributeProto::default()
    }
}

/// An attribute of a text.
pub(super) fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        s: Some(value.as_bytes().to_vec()),
        r#type: STRING,
        ..AttributeProto::default()
    }
}

/// A tensor of one axis that holds whole numbers.
pub(super) fn wholes(name: &str, values: &[i64]) -> TensorProto {
    TensorProto {
        name: name.into(),
        data_type: INT64,
        dims: vec![values.len() as i64],
        int64_data: values.into(),
        ..TensorProto::default()
    }
}

/// A tensor of one axis that holds floats.
pub(super) fn floats(name: &str, values: Vec<f32>) -> TensorProto {
    TensorProto {
        name: name.into(),
        data_type: FLOAT,
        dims: vec![values.len() as i64],
        float_data: values,
        ..TensorProto::default()
    }
}

/// A tensor of one float without an axis.
pub(super) fn single(name: &str, value: f32) -> TensorProto {
    TensorProto {
        name: name.into(),
        data_type: FLOAT,
        float_data: vec![value],
        ..TensorProto::default()
    }
}

//! Operations on the rows of a table, of the domain `ai.onnx.ml`: what their attributes say, and files that
//! lie about them. Real files are held against onnxruntime by `tests/python/test_tables.py`.

mod encoder;
mod features;
mod forest;
mod hostile;
mod missing;
mod missing_features;
mod ranks;
mod scores;
mod texts;

use crate::common::*;
use tacit_nn::onnx::proto::*;
use tacit_nn::reference;

/// A model of one node on rows, whose outputs are `l` and `y`, or `y` alone where it has one.
pub fn of_one(
    columns: i64,
    op: &str,
    outputs: &[&str],
    attributes: Vec<AttributeProto>,
) -> ModelProto {
    let mut one = node(op, &["x"], "y", attributes);
    one.domain = "ai.onnx.ml".into();
    one.output = outputs.iter().map(|name| name.to_string()).collect();
    with_tables(model(&[columns], vec![one], vec![]), 3)
}

/// The model with this operator set of the domain.
pub fn with_tables(mut model: ModelProto, version: i64) -> ModelProto {
    model.opset_import.push(OperatorSetIdProto {
        domain: "ai.onnx.ml".into(),
        version,
    });
    model
}

/// The float32 output of a model for rows.
pub fn answers(model: &ModelProto, x: &[f32]) -> Vec<f32> {
    let graph = imported(model).unwrap_or_else(|e| panic!("{e}"));
    reference::predict(&graph, &graph.rows(x)).expect("fitting rows")
}

/// The model is not taken over, and `part` stands in the reason.
pub fn refused(model: &ModelProto, part: &str) {
    let error = imported(model).expect_err("refused").to_string();
    assert!(error.contains(part), "'{error}' does not say '{part}'");
}

/// An attribute of several floats.
pub fn floats(name: &str, floats: &[f32]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        floats: floats.into(),
        ..Default::default()
    }
}

/// An attribute of several texts.
pub fn words(name: &str, texts: &[&str]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        strings: texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
        ..Default::default()
    }
}

/// An attribute that is a tensor.
pub fn held(name: &str, tensor: TensorProto) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        t: Some(tensor),
        ..Default::default()
    }
}

//! What the tests share: the folder of real models, `.npz` files, and hand-made ONNX models.
#![allow(dead_code)]

use std::io::Read;
use std::path::PathBuf;

use prost::Message;
use tacit_nn::onnx::proto::*;
use tacit_nn::onnx::{ImportError, ImportOptions, import};
use tacit_nn::{Graph, reference};

/// The folder of real models, or `None` with the reason printed.
pub fn models() -> Option<PathBuf> {
    let folder = std::env::var_os("TACIT_MODELS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: TACIT_MODELS does not name a folder of models");
    }
    folder
}

/// The real model `name`, imported.
pub fn real(folder: &std::path::Path, name: &str) -> Result<Graph, ImportError> {
    tacit_nn::onnx::load(
        &folder.join(format!("{name}.onnx")),
        &ImportOptions::default(),
    )
}

/// The array `key` of the model's samples.
pub fn samples(folder: &std::path::Path, name: &str, key: &str) -> Vec<f32> {
    let bytes = std::fs::read(folder.join(format!("{name}.samples.npz"))).expect("samples");
    npy(&member(&bytes, &format!("{key}.npy")))
}

fn u16_at(b: &[u8], at: usize) -> usize {
    u16::from_le_bytes([b[at], b[at + 1]]).into()
}

fn u32_at(b: &[u8], at: usize) -> usize {
    u16_at(b, at) | u16_at(b, at + 2) << 16
}

/// A member of a zip file, found by its central directory.
fn member(zip: &[u8], name: &str) -> Vec<u8> {
    let end = zip
        .windows(4)
        .rposition(|w| w == b"PK\x05\x06")
        .expect("a zip file");
    let mut at = u32_at(zip, end + 16);
    loop {
        assert_eq!(&zip[at..at + 4], b"PK\x01\x02", "no member {name}");
        let (packed, name_len) = (u32_at(zip, at + 20), u16_at(zip, at + 28));
        if &zip[at + 46..at + 46 + name_len] == name.as_bytes() {
            let local = u32_at(zip, at + 42);
            let start = local + 30 + u16_at(zip, local + 26) + u16_at(zip, local + 28);
            let data = &zip[start..start + packed];
            if u16_at(zip, at + 10) == 0 {
                return data.to_vec();
            }
            let mut out = Vec::new();
            flate2::read::DeflateDecoder::new(data)
                .read_to_end(&mut out)
                .expect("deflate");
            return out;
        }
        at += 46 + name_len + u16_at(zip, at + 30) + u16_at(zip, at + 32);
    }
}

/// A NumPy array of `f4` or `u1` as floats.
fn npy(bytes: &[u8]) -> Vec<f32> {
    let header = 10 + u16_at(bytes, 8);
    let text = String::from_utf8_lossy(&bytes[10..header]);
    if text.contains("'<f4'") {
        bytes[header..]
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    } else {
        assert!(text.contains("'|u1'"), "{text}");
        bytes[header..].iter().map(|&b| b.into()).collect()
    }
}

/// A float tensor.
pub fn tensor(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: dims.into(),
        data_type: data_type::FLOAT,
        raw_data: Some(values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        ..Default::default()
    }
}

/// A tensor of integers.
pub fn ints(name: &str, dims: &[i64], values: &[i64]) -> TensorProto {
    TensorProto {
        name: name.into(),
        dims: dims.into(),
        data_type: data_type::INT64,
        int64_data: values.into(),
        ..Default::default()
    }
}

/// A node with inputs and an output given by name.
pub fn node(op: &str, inputs: &[&str], output: &str, attribute: Vec<AttributeProto>) -> NodeProto {
    NodeProto {
        input: inputs.iter().map(|s| s.to_string()).collect(),
        output: vec![output.into()],
        name: format!("the {op}"),
        op_type: op.into(),
        attribute,
        domain: String::new(),
    }
}

/// An attribute of one integer.
pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        i: Some(i),
        ..Default::default()
    }
}

/// An attribute of several integers.
pub fn list(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        ints: ints.into(),
        ..Default::default()
    }
}

/// An attribute of one float.
pub fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        f: Some(f),
        ..Default::default()
    }
}

/// An attribute of text.
pub fn text(name: &str, s: &str) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        s: Some(s.into()),
        ..Default::default()
    }
}

/// A model from `x` (with a free batch `N` before the item shape) to `y`.
pub fn model(item: &[i64], node: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    let fixed = |&d: &i64| DimensionProto {
        dim_value: Some(d),
        dim_param: None,
    };
    let batch = DimensionProto {
        dim_value: None,
        dim_param: Some("N".into()),
    };
    let dim = std::iter::once(batch)
        .chain(item.iter().map(fixed))
        .collect();
    let tensor_type = TensorTypeProto {
        elem_type: data_type::FLOAT,
        shape: Some(ShapeProto { dim }),
    };
    let x = ValueInfoProto {
        name: "x".into(),
        r#type: Some(TypeProto {
            tensor_type: Some(tensor_type),
        }),
    };
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto {
            domain: String::new(),
            version: 17,
        }],
        graph: Some(GraphProto {
            node,
            name: "test".into(),
            initializer,
            input: vec![x],
            output: vec![ValueInfoProto {
                name: "y".into(),
                r#type: None,
            }],
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The model with `items` in place of the free batch.
pub fn of_fixed_sizes(mut model: ModelProto, items: i64) -> ModelProto {
    let input = &mut model.graph.as_mut().expect("a graph").input[0];
    let tensor = input.r#type.as_mut().expect("a type").tensor_type.as_mut();
    let shape = tensor.expect("a tensor").shape.as_mut().expect("a shape");
    shape.dim[0] = DimensionProto {
        dim_value: Some(items),
        dim_param: None,
    };
    model
}

/// Imports a hand-made model.
pub fn imported(model: &ModelProto) -> Result<Graph, ImportError> {
    import(&model.encode_to_vec(), None, &ImportOptions::default())
}

/// The float32 output of a hand-made model.
pub fn predict(
    item: &[i64],
    nodes: Vec<NodeProto>,
    initializer: Vec<TensorProto>,
    x: &[f32],
) -> Vec<f32> {
    let graph = imported(&model(item, nodes, initializer)).unwrap_or_else(|e| panic!("{e}"));
    reference::predict(&graph, x).expect("a fitting input")
}

/// The largest difference.
pub fn distance(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

/// Two layers: 'first' gives up to 100 |x|, 'second' a tenth of that.
pub fn two_layers() -> Graph {
    let mut nodes = vec![
        node("MatMul", &["x", "w"], "a", vec![]),
        node("Relu", &["a"], "b", vec![]),
        node("MatMul", &["b", "v"], "y", vec![]),
    ];
    nodes[0].name = "first".into();
    nodes[2].name = "second".into();
    let tensors = vec![
        tensor("w", &[2, 1], &[50.0, -50.0]),
        tensor("v", &[1, 1], &[0.1]),
    ];
    imported(&model(&[2], nodes, tensors))
        .unwrap_or_else(|e| panic!("{e}"))
        .optimise()
}

/// A small network with one of most things.
pub fn network() -> ModelProto {
    let pool = vec![list("kernel_shape", &[2, 2]), list("strides", &[2, 2])];
    let nodes = vec![
        node(
            "Conv",
            &["x", "w", "b"],
            "c",
            vec![list("pads", &[1, 1, 1, 1])],
        ),
        node("Relu", &["c"], "r", vec![]),
        node("MaxPool", &["r"], "m", pool.clone()),
        node("AveragePool", &["m"], "a", pool),
        node("Reshape", &["a", "flat"], "f", vec![]),
        node("Gemm", &["f", "g"], "l", vec![]),
        node("Clip", &["l", "low", "high"], "k", vec![]),
        node("Softmax", &["k"], "y", vec![]),
    ];
    let weights: Vec<f32> = (0..18).map(|i| (i as f32 - 9.0) / 10.0).collect();
    let tensors = vec![
        tensor("w", &[2, 1, 3, 3], &weights),
        tensor("b", &[2], &[0.1, -0.1]),
        ints("flat", &[2], &[0, -1]),
        tensor("g", &[2, 3], &weights[..6]),
        tensor("low", &[], &[-1.0]),
        tensor("high", &[], &[1.0]),
    ];
    model(&[1, 4, 4], nodes, tensors)
}

/// Two heads of attention with a mask and a row that is the same for every item.
pub fn attention_network() -> ModelProto {
    let turn = |from: &str, to: &str, perm: &[i64]| {
        node("Transpose", &[from], to, vec![list("perm", perm)])
    };
    let nodes = vec![
        node("Concat", &["token", "x"], "j", vec![int("axis", 1)]),
        node("MatMul", &["j", "w"], "q", vec![]),
        node("Reshape", &["q", "apart"], "a", vec![]),
        turn("a", "h", &[0, 2, 1, 3]),
        turn("a", "t", &[0, 2, 3, 1]),
        node("MatMul", &["h", "t"], "s", vec![]),
        node("Add", &["s", "mask"], "m", vec![]),
        node("Softmax", &["m"], "p", vec![]),
        node("MatMul", &["p", "h"], "o", vec![]),
        turn("o", "b", &[0, 2, 1, 3]),
        node("Reshape", &["b", "joined"], "y", vec![]),
    ];
    let weights: Vec<f32> = (0..16).map(|i| (i as f32 - 8.0) / 16.0).collect();
    let hidden = f32::NEG_INFINITY;
    let mask = [0., hidden, hidden, 0., 0., hidden, 0., 0., 0.];
    let tensors = vec![
        tensor("token", &[1, 1, 4], &[0.5, -1., 1., 0.25]),
        tensor("w", &[4, 4], &weights),
        tensor("mask", &[3, 3], &mask),
        ints("apart", &[4], &[0, 0, 2, 2]),
        ints("joined", &[3], &[0, 0, 4]),
    ];
    model(&[2, 4], nodes, tensors)
}

/// Attention and a normalisation in one node each, and a sum of products by an equation.
pub fn newer_network() -> ModelProto {
    let heads = vec![
        int("q_num_heads", 2),
        int("kv_num_heads", 2),
        int("is_causal", 1),
    ];
    let nodes = vec![
        node("RMSNormalization", &["x", "scale"], "n", vec![]),
        node(
            "Einsum",
            &["n", "w"],
            "q",
            vec![text("equation", "...ij,ojk->...io")],
        ),
        node("Attention", &["q", "n", "n", "mask"], "a", heads),
        node("Relu", &["a"], "y", vec![]),
    ];
    let weights: Vec<f32> = (0..16).map(|i| (i as f32 - 8.0) / 16.0).collect();
    let tensors = vec![
        tensor("scale", &[4], &[1., 0.5, 2., 1.]),
        tensor("w", &[4, 4, 1], &weights),
        tensor("mask", &[3, 3], &[0., 0., 1., 0.5, -1e9, 0., 0., 0., 0.]),
    ];
    let mut model = model(&[3, 4], nodes, tensors);
    model.opset_import[0].version = 23;
    model
}

/// A small network with one of each kind of recurrent node, and functions inside.
pub fn recurrent_network() -> ModelProto {
    let numbers = |n: usize| {
        (0..n)
            .map(|i| i as f32 / n as f32 - 0.5)
            .collect::<Vec<_>>()
    };
    let of = |op: &str, gates: i64, x: &str, out: &str| {
        let (w, r) = (format!("w{gates}"), format!("r{gates}"));
        let tensors = [(&w, gates), (&r, gates)]
            .map(|(name, gates)| tensor(name, &[1, 2 * gates, 2], &numbers(4 * gates as usize)));
        (
            node(op, &[x, &w, &r], out, vec![int("hidden_size", 2)]),
            tensors,
        )
    };
    let (gru, a) = of("GRU", 3, "t", "g");
    let (lstm, b) = of("LSTM", 4, "gs", "l");
    let (rnn, c) = of("RNN", 1, "ls", "n");
    let turn =
        |from: &str, to: &str| node("Transpose", &[from], to, vec![list("perm", &[1, 0, 2])]);
    let squeeze = |from: &str, to: &str| node("Squeeze", &[from, "one"], to, vec![]);
    let nodes = vec![
        turn("x", "t"),
        gru,
        squeeze("g", "gs"),
        lstm,
        squeeze("l", "ls"),
        rnn,
        squeeze("n", "ns"),
        turn("ns", "f"),
        node("LayerNormalization", &["f", "scale"], "m", vec![]),
        node("Softmax", &["m"], "p", vec![]),
        node("Mul", &["p", "f"], "y", vec![]),
    ];
    let more = vec![ints("one", &[1], &[1]), tensor("scale", &[2], &[1.0, 2.0])];
    model(
        &[3, 2],
        nodes,
        [a.to_vec(), b.to_vec(), c.to_vec(), more].concat(),
    )
}

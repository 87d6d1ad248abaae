//! What the tests share: a small convolutional network written as ONNX, and its inputs.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use prost::Message;
use tacit_nn::onnx::proto::*;
use tacit_run::{CompileOptions, Compiled, Progress, Tensor};

/// The shape of one input of the network.
pub const ITEM: [usize; 3] = [1, 8, 8];
/// Outputs of the network.
pub const CLASSES: usize = 5;

/// Numbers from -1 to 1 that repeat.
pub fn noise(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// A batch of inputs of the network.
pub fn inputs(n: usize) -> (Vec<f32>, Vec<usize>) {
    (noise(7, n * 64), [&[n], &ITEM[..]].concat())
}

/// A folder of the test's own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tacit-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The network's file in the folder.
pub fn write_network(folder: &Folder) -> PathBuf {
    write_model(folder, &network())
}

fn write_model(folder: &Folder, model: &ModelProto) -> PathBuf {
    let path = folder.path().join("network.onnx");
    std::fs::write(&path, model.encode_to_vec()).expect("the model is written");
    path
}

/// The network, compiled.
pub fn compiled(options: &CompileOptions) -> Compiled {
    of_model(&network(), options)
}

/// A model with the same inputs, compiled.
pub fn of_model(model: &ModelProto, options: &CompileOptions) -> Compiled {
    let folder = Folder::new(&format!("{:?}", std::thread::current().id()));
    let (x, shape) = inputs(32);
    let samples = Tensor {
        values: &x,
        shape: &shape,
    };
    let path = write_model(&folder, model);
    Compiled::from_file(&path, options, Some(samples)).expect("a plan")
}

/// The largest difference.
pub fn distance(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

/// Hears nothing.
pub fn quiet(_: Progress) -> bool {
    true
}

/// A network with every kind of call: convolutions, maxpool, ReLU, average pool, batch
/// normalisation that cannot be folded, clipping and a fully connected layer.
fn network() -> ModelProto {
    let mut weights = Vec::new();
    let mut tensor = |name: &str, dims: &[i64], scale: f32, shift: f32| {
        weights.push(random(weights.len() as u64 + 1, name, dims, [scale, shift]));
    };
    tensor("w1", &[3, 1, 3, 3], 0.5, 0.0);
    tensor("b1", &[3], 0.2, 0.0);
    for (name, shift) in [
        ("gamma", 1.0),
        ("beta", 0.0),
        ("mean", 0.3),
        ("variance", 1.0),
    ] {
        tensor(name, &[3], 0.3, shift);
    }
    tensor("w2", &[4, 3, 3, 3], 0.4, 0.0);
    tensor("w3", &[CLASSES as i64, 16], 0.5, 0.0);
    tensor("b3", &[CLASSES as i64], 0.2, 0.0);
    tensor("low", &[], 0.0, 0.0);
    tensor("high", &[], 0.0, 0.6);
    let window = || vec![list("kernel_shape", &[2, 2]), list("strides", &[2, 2])];
    let nodes = vec![
        node(
            "Conv",
            "conv1",
            &["x", "w1", "b1"],
            "c1",
            vec![list("pads", &[1; 4])],
        ),
        node("MaxPool", "pool1", &["c1"], "p1", window()),
        node("Relu", "relu1", &["p1"], "r1", vec![]),
        node(
            "BatchNormalization",
            "norm",
            &["r1", "gamma", "beta", "mean", "variance"],
            "n1",
            vec![],
        ),
        node(
            "Conv",
            "conv2",
            &["n1", "w2"],
            "c2",
            vec![list("pads", &[1; 4])],
        ),
        node("Clip", "clip", &["c2", "low", "high"], "r2", vec![]),
        node("AveragePool", "mean", &["r2"], "p2", window()),
        node("Flatten", "flat", &["p2"], "f", vec![]),
        node(
            "Gemm",
            "fc",
            &["f", "w3", "b3"],
            "output",
            vec![int("transB", 1)],
        ),
    ];
    model(nodes, weights)
}

/// A tensor of numbers around `shift` within `scale`.
pub fn random(seed: u64, name: &str, dims: &[i64], [scale, shift]: [f32; 2]) -> TensorProto {
    let values = noise(seed, dims.iter().product::<i64>() as usize);
    let values = values
        .iter()
        .flat_map(|v| (v * scale + shift).to_le_bytes());
    TensorProto {
        name: name.into(),
        dims: dims.into(),
        data_type: data_type::FLOAT,
        raw_data: Some(values.collect()),
        ..Default::default()
    }
}

pub fn node(
    op: &str,
    name: &str,
    inputs: &[&str],
    output: &str,
    attribute: Vec<AttributeProto>,
) -> NodeProto {
    NodeProto {
        input: inputs.iter().map(|s| s.to_string()).collect(),
        output: vec![output.into()],
        name: name.into(),
        op_type: op.into(),
        attribute,
        domain: String::new(),
    }
}

pub fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        i: Some(i),
        ..Default::default()
    }
}

pub fn list(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.into(),
        ints: ints.into(),
        ..Default::default()
    }
}

pub fn model(node: Vec<NodeProto>, initializer: Vec<TensorProto>) -> ModelProto {
    let fixed = |&d: &usize| DimensionProto {
        dim_value: Some(d as i64),
        dim_param: None,
    };
    let batch = DimensionProto {
        dim_value: None,
        dim_param: Some("N".into()),
    };
    let tensor_type = TensorTypeProto {
        elem_type: data_type::FLOAT,
        shape: Some(ShapeProto {
            dim: std::iter::once(batch)
                .chain(ITEM.iter().map(fixed))
                .collect(),
        }),
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
                name: "output".into(),
                r#type: None,
            }],
            ..Default::default()
        }),
        ..ModelProto::default()
    }
}

/// Moves parties whose config files are fresh from [`tacit_run::init`] to ports that are free, on an
/// address that no other test has: what is free for one is not taken by another.
pub fn move_ports(configs: &[PathBuf]) {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let k = TAKEN.fetch_add(1, Ordering::Relaxed);
    let host = match cfg!(target_os = "linux") {
        true => format!("127.2.{}.{}", k / 250, 1 + k % 250),
        false => "127.0.0.1".into(),
    };
    let held: Vec<_> = configs
        .iter()
        .map(|_| TcpListener::bind((host.as_str(), 0)).expect("a free port"))
        .collect();
    for (party, listener) in held.iter().enumerate() {
        let port = listener.local_addr().expect("its address").port();
        for config in configs {
            edit(
                config,
                &format!("127.0.0.1:{}", 7100 + party),
                &format!("{host}:{port}"),
            );
        }
    }
}

/// Changes the first `from` of a config file.
pub fn edit(config: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(config).expect("the config file");
    assert!(text.contains(from), "no '{from}' in\n{text}");
    std::fs::write(config, text.replacen(from, to, 1)).expect("the config file is changed");
}

//! Trained networks as ONNX files, and networks to train out of them.

use tacit_nn::Graph;
use tacit_nn::graph::{ConvGeometry, InputKind, Op, Pool};
use tacit_nn::onnx::{Attribute, Writer};

use crate::layers::constants;
use crate::{Error, Layer, Network};

/// The ONNX file of a network with these parameters.
pub fn to_onnx(network: &Network, parameters: &[Vec<f32>]) -> Vec<u8> {
    let mut writer = Writer::new("trained by Tacit", &network.input);
    let mut parameters = parameters.iter();
    let mut next = || parameters.next().map(Vec::as_slice).unwrap_or_default();
    let mut shape = network.input.clone();
    for (i, (layer, after)) in network.layers.iter().zip(&network.shapes).enumerate() {
        let name = format!("{}{i}", kind(layer));
        match layer {
            Layer::Linear {
                inputs,
                outputs,
                bias,
            } => {
                if shape.len() > 1 {
                    let flat = [("axis", Attribute::Int(1))];
                    writer.node(&format!("flatten{i}"), "Flatten", &[], &flat);
                }
                let (w, b) = ([*inputs, *outputs], [*outputs]);
                let mut operands = vec![("weight", &w[..], next())];
                if *bias {
                    operands.push(("bias", &b[..], next()));
                }
                writer.node(&name, "Gemm", &operands, &[]);
            }
            Layer::Conv { geometry, bias } => {
                let g = geometry;
                let w = [g.filters, g.channels / g.groups, g.kernel[0], g.kernel[1]];
                let b = [g.filters];
                let mut operands = vec![("weight", &w[..], next())];
                if *bias {
                    operands.push(("bias", &b[..], next()));
                }
                writer.node(
                    &name,
                    "Conv",
                    &operands,
                    &windows(g.kernel, g.stride, g.pad),
                );
            }
            Layer::Relu { .. } => writer.node(&name, "Relu", &[], &[]),
            Layer::MaxPool(pool) => {
                writer.node(
                    &name,
                    "MaxPool",
                    &[],
                    &windows(pool.kernel, pool.stride, pool.pad),
                );
            }
            Layer::AvgPool(pool) => {
                let attributes = windows(pool.kernel, pool.stride, pool.pad);
                writer.node(&name, "AveragePool", &[], &attributes);
            }
            Layer::BatchNorm { channels, .. } => {
                let shape = [*channels];
                let mut operand = |name| (name, &shape[..], next());
                let operands = ["scale", "B", "mean", "var"].map(&mut operand);
                let epsilon = [("epsilon", Attribute::Float(constants().0))];
                writer.node(&name, "BatchNormalization", &operands, &epsilon);
            }
        }
        shape.clone_from(after);
    }
    writer.finish(&shape)
}

fn kind(layer: &Layer) -> &'static str {
    match layer {
        Layer::Linear { .. } => "linear",
        Layer::Conv { .. } => "conv",
        Layer::Relu { .. } => "relu",
        Layer::MaxPool(_) | Layer::AvgPool(_) => "pool",
        Layer::BatchNorm { .. } => "norm",
    }
}

fn windows(
    kernel: [usize; 2],
    stride: [usize; 2],
    pad: [usize; 4],
) -> Vec<(&'static str, Attribute)> {
    let ints = |values: &[usize]| Attribute::Ints(values.iter().map(|v| *v as i64).collect());
    vec![
        ("kernel_shape", ints(&kernel)),
        ("strides", ints(&stride)),
        ("pads", ints(&pad)),
    ]
}

/// The network of an imported model, and its parameters to start from.
///
/// Layers must follow one another. Folded normalisations and what a training does not know are
/// refused by name.
pub fn from_graph(graph: &Graph) -> Result<(Network, Vec<Vec<f32>>), Error> {
    if graph.inputs.len() != 1 || graph.inputs[0].kind != InputKind::Numbers {
        let why = "a training takes one input of numbers";
        return Err(Error::network(graph.inputs_name(), why));
    }
    let mut network = Network {
        input: graph.input_shape(),
        layers: Vec::new(),
        shapes: Vec::new(),
    };
    let mut parameters = Vec::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        let refuse = |why: &str| Err(Error::network(format!("'{}'", node.name), why));
        if node.inputs != [i] {
            return refuse("a training needs layers that follow one another");
        }
        let layer = match &node.op {
            Op::Linear(linear) if linear.rows == 1 => Layer::Linear {
                inputs: linear.k,
                outputs: linear.n,
                bias: !linear.bias.is_empty(),
            },
            Op::Conv(conv) if trainable(&conv.geometry) => Layer::Conv {
                geometry: conv.geometry.clone(),
                bias: !conv.bias.is_empty(),
            },
            Op::Relu => Layer::Relu {
                len: node.shape.iter().product(),
            },
            Op::MaxPool(pool) if plain(pool) => Layer::MaxPool(pool.clone()),
            Op::AveragePool(pool) if plain(pool) => Layer::AvgPool(pool.clone()),
            Op::Conv(_) => {
                return refuse(
                    "a training knows convolutions of one group without dilation, padded less than the kernel is wide",
                );
            }
            Op::MaxPool(_) | Op::AveragePool(_) => {
                return refuse("a training knows pooling without padding and dilation");
            }
            op => {
                let why = format!(
                    "a training does not know {}; it knows linear layers, convolutions, ReLU and pooling, and normalisation in a list of layers",
                    op.kind()
                );
                return refuse(&why);
            }
        };
        let weights = node.op.weights();
        parameters.extend(
            weights
                .into_iter()
                .filter(|w| !w.is_empty())
                .map(|w| w.to_vec()),
        );
        network.layers.push(layer);
        network.shapes.push(node.shape.clone());
    }
    if graph.output != graph.nodes.len()
        || !matches!(network.layers.last(), Some(Layer::Linear { .. }))
    {
        return Err(Error::network(
            "the model's last layer",
            "it must be linear: a training adds the loss itself",
        ));
    }
    Ok((network, parameters))
}

fn trainable(g: &ConvGeometry) -> bool {
    let narrow = (0..4).all(|side| g.pad[side] < g.kernel[side % 2]);
    g.groups == 1 && g.dilation == [1, 1] && narrow
}

fn plain(pool: &Pool) -> bool {
    pool.pad == [0; 4] && pool.dilation == [1, 1]
}

//! Makes networks that can be trained out of imported models.

use tacit_nn::Graph;
use tacit_nn::graph::{Conv, ConvGeometry, Function, InputKind, Linear, Node, Op, Pool, Tail};

use crate::place::factor;
use crate::{Error, Layer, Network, Smooth};

/// The network of an imported model, and the parameters to start from.
///
/// Folded normalisations are part of the layers before them. An operation that cannot be trained is refused by its
/// name.
pub fn from_graph(graph: &Graph) -> Result<(Network, Vec<Vec<f32>>), Error> {
    refuse_ends(graph)?;
    let mut network = Network::empty(&graph.row_shape());
    let mut parameters = Vec::new();
    for node in &graph.nodes {
        let layer =
            layer(node, graph).map_err(|why| Error::network(format!("'{}'", node.name), why))?;
        if !matches!(layer, Layer::Scale { .. }) {
            let weights = node.op.weights().into_iter().filter(|w| !w.is_empty());
            parameters.extend(weights.map(|w| w.to_vec()));
        }
        network.push(layer, node.inputs.clone(), node.shape.clone());
    }
    if graph.output != graph.nodes.len() {
        return Err(Error::network(
            "the model's output",
            "it is not the value of its last layer",
        ));
    }
    network.check()?;
    Ok((network, parameters))
}

/// The layer of a node.
fn layer(node: &Node, graph: &Graph) -> Result<Layer, String> {
    let len = node.shape.iter().product();
    Ok(match &node.op {
        Op::Linear(linear) if linear.rows == 1 => whole(linear),
        Op::Conv(conv) if trainable(&conv.geometry) => convolution(conv),
        Op::Relu => Layer::Relu { len },
        Op::Function {
            function: Function::Sigmoid,
            ..
        } => smooth(len, Smooth::Sigmoid),
        Op::Function {
            function: Function::Tanh,
            ..
        } => smooth(len, Smooth::Tanh),
        Op::Function {
            function: Function::Erf,
            ..
        } => smooth(len, Smooth::Erf),
        Op::Affine(affine) if affine.scale.len() <= 1 && affine.shift.len() <= 1 => Layer::Scale {
            len,
            factor: factor("factor", f64::from(affine.scale_at(0)))?,
            shift: factor("shift", f64::from(affine.shift_at(0)))?,
        },
        Op::Add if same_shapes(node, graph) => Layer::Add { len },
        Op::Mul if same_shapes(node, graph) => Layer::Mul { len },
        Op::MaxPool(pool) if plain(pool) => Layer::MaxPool(pool.clone()),
        Op::AveragePool(pool) if plain(pool) => Layer::AvgPool(pool.clone()),
        Op::Conv(_) => {
            return Err(
                "a training knows convolutions that are padded less than the kernel is wide".into(),
            );
        }
        Op::MaxPool(_) | Op::AveragePool(_) => {
            return Err(
                "a training knows pooling whose windows lie inside the image: without padding, dilation and ceil_mode"
                    .into(),
            );
        }
        Op::Affine(_) => {
            return Err(
                "a training does not know factors of channels; normalise in a list of layers"
                    .into(),
            );
        }
        op => {
            return Err(format!(
                "a training does not know {}; it knows linear layers, convolutions, pooling, ReLU, LeakyReLU, sigmoid, tanh, GELU, sums and products of two values, and normalisation in a list of layers",
                op.kind()
            ));
        }
    })
}

fn whole(linear: &Linear) -> Layer {
    Layer::Linear {
        inputs: linear.k,
        outputs: linear.n,
        bias: !linear.bias.is_empty(),
    }
}

fn convolution(conv: &Conv) -> Layer {
    Layer::Conv {
        geometry: conv.geometry.clone(),
        bias: !conv.bias.is_empty(),
    }
}

fn smooth(len: usize, function: Smooth) -> Layer {
    Layer::Smooth { len, function }
}

/// Whether what a node reads has its shape, element by element.
fn same_shapes(node: &Node, graph: &Graph) -> bool {
    let len: usize = node.shape.iter().product();
    let read = |value: &usize| match value.checked_sub(1) {
        None => graph.row_len(),
        Some(i) => graph.nodes[i].shape.iter().product(),
    };
    node.inputs.len() == 2 && node.inputs.iter().all(|value| read(value) == len)
}

/// Refuses inputs that a training does not have, and what a file has behind its last layer, which the receiver of a prediction computes: a
/// training would drop it.
fn refuse_ends(graph: &Graph) -> Result<(), Error> {
    if graph.inputs.len() != 1 || graph.inputs[0].kind != InputKind::Numbers {
        let why = "a training takes one input of numbers";
        return Err(Error::network(graph.inputs_name(), why));
    }
    let [output] = &graph.outputs[..] else {
        let names: Vec<_> = graph.outputs.iter().map(|o| o.name.as_str()).collect();
        let why = format!(
            "there are {}: {}; a training has one",
            names.len(),
            names.join(", ")
        );
        return Err(Error::network("the model's outputs", why));
    };
    let what = format!("the output '{}'", output.name);
    match output.tail.first() {
        Some(Tail { function, .. }) => {
            let why = format!(
                "the model ends in {function:?}, which a training does not keep; leave it out: the loss of cross-entropy adds its softmax itself"
            );
            Err(Error::network(what, why))
        }
        None if output.classes.is_some() => Err(Error::network(
            what,
            "it gives names of classes; a training needs the values before them",
        )),
        None => Ok(()),
    }
}

fn trainable(g: &ConvGeometry) -> bool {
    let span = [0, 1].map(|d| (g.kernel[d] - 1) * g.dilation[d] + 1);
    (0..4).all(|side| g.pad[side] < span[side % 2])
}

/// Whether all windows of a pool lie inside its input.
fn plain(pool: &Pool) -> bool {
    let size = [pool.height, pool.width];
    let last = |d: usize| pool.out[d].saturating_sub(1) * pool.stride[d];
    let inside = |d: usize| last(d) + pool.kernel[d] <= size[d];
    pool.pad == [0; 4] && pool.dilation == [1, 1] && inside(0) && inside(1)
}

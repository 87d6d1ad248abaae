//! A network with all its shapes.

use serde::Serialize;
use tacit_nn::graph::{ConvGeometry, Pool};

use crate::{Error, LayerSpec};

/// A layer with its geometry; values are flat, items one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Layer {
    /// `x w + b`, `w` of `inputs` x `outputs`.
    Linear {
        /// Elements of an input item.
        inputs: usize,
        /// Elements of an output item.
        outputs: usize,
        /// Whether there is `b`.
        bias: bool,
    },
    /// A convolution.
    Conv {
        /// Its shapes.
        geometry: ConvGeometry,
        /// Whether there is a bias.
        bias: bool,
    },
    /// `max(x, 0)`.
    Relu {
        /// Elements of an item.
        len: usize,
    },
    /// The maximum of windows without padding.
    MaxPool(Pool),
    /// The mean of windows without padding.
    AvgPool(Pool),
    /// Batch normalisation.
    BatchNorm {
        /// Channels of an item.
        channels: usize,
        /// Elements of a channel.
        plane: usize,
    },
}

/// What a parameter is to its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Of a linear layer or a convolution.
    Weight,
    /// Of a linear layer or a convolution.
    Bias,
    /// A normalisation's factor.
    Gamma,
    /// A normalisation's summand.
    Beta,
    /// A normalisation's mean for inference: followed, not learnt.
    RunningMean,
    /// A normalisation's variance for inference.
    RunningVariance,
}

/// A tensor that the training changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The layer's number.
    pub layer: usize,
    /// What it is there.
    pub role: Role,
    /// Elements.
    pub len: usize,
    /// Inputs of one output, of weights and biases.
    pub fan_in: usize,
}

impl Parameter {
    /// Whether gradients change it.
    pub fn is_learnt(&self) -> bool {
        !matches!(self.role, Role::RunningMean | Role::RunningVariance)
    }
}

/// Layers one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Network {
    /// The shape of an input item.
    pub input: Vec<usize>,
    /// The layers.
    pub layers: Vec<Layer>,
    /// The shape after every layer.
    pub shapes: Vec<Vec<usize>>,
}

/// The most elements of a tensor.
const LARGEST: usize = 1 << 31;

impl Network {
    /// The layers `specs` on inputs of this shape: one axis, or channels, height and width.
    pub fn new(input: &[usize], specs: &[LayerSpec]) -> Result<Self, Error> {
        if !matches!(input.len(), 1 | 3) || input.contains(&0) {
            return Err(Error::network(
                "input",
                format!("{input:?} is not [elements] or [channels, height, width]"),
            ));
        }
        let mut network = Network {
            input: input.to_vec(),
            layers: Vec::new(),
            shapes: Vec::new(),
        };
        for (i, spec) in specs.iter().enumerate() {
            let shape = network.shape();
            let (layer, shape) = placed(spec, &shape)
                .map_err(|why| Error::network(format!("layer {i} ({spec:?})"), why))?;
            network.layers.push(layer);
            network.shapes.push(shape);
        }
        match network.layers.last() {
            Some(Layer::Linear { .. }) => Ok(network),
            _ => Err(Error::network(
                "layers",
                "the last layer must be linear: its outputs are the classes or the values",
            )),
        }
    }

    /// The shape after the last layer.
    fn shape(&self) -> Vec<usize> {
        self.shapes.last().unwrap_or(&self.input).clone()
    }

    /// Elements of an input item.
    pub fn inputs(&self) -> usize {
        self.input.iter().product()
    }

    /// Elements of an output item.
    pub fn outputs(&self) -> usize {
        self.shape().iter().product()
    }

    /// All parameters, layer by layer.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut all = Vec::new();
        for (layer, spec) in self.layers.iter().enumerate() {
            let mut add = |role, len, fan_in| {
                all.push(Parameter {
                    layer,
                    role,
                    len,
                    fan_in,
                });
            };
            match spec {
                Layer::Linear {
                    inputs,
                    outputs,
                    bias,
                } => {
                    add(Role::Weight, inputs * outputs, *inputs);
                    if *bias {
                        add(Role::Bias, *outputs, *inputs);
                    }
                }
                Layer::Conv { geometry, bias } => {
                    let taps = geometry.taps();
                    add(Role::Weight, geometry.filters * taps, taps);
                    if *bias {
                        add(Role::Bias, geometry.filters, taps);
                    }
                }
                Layer::BatchNorm { channels, .. } => {
                    for role in [
                        Role::Gamma,
                        Role::Beta,
                        Role::RunningMean,
                        Role::RunningVariance,
                    ] {
                        add(role, *channels, 1);
                    }
                }
                Layer::Relu { .. } | Layer::MaxPool(_) | Layer::AvgPool(_) => {}
            }
        }
        all
    }

    /// Numbers to start from: uniform up to `1 / sqrt(fan_in)` (as PyTorch draws them), factors and
    /// variances of 1, the rest 0. `uniform` draws from `[0, 1)`.
    pub fn initial(&self, mut uniform: impl FnMut() -> f64) -> Vec<Vec<f32>> {
        let mut of = |parameter: &Parameter| -> Vec<f32> {
            let bound = 1.0 / (parameter.fan_in as f64).sqrt();
            let mut draw = || ((2.0 * uniform() - 1.0) * bound) as f32;
            match parameter.role {
                Role::Weight | Role::Bias => (0..parameter.len).map(|_| draw()).collect(),
                Role::Gamma | Role::RunningVariance => vec![1.0; parameter.len],
                Role::Beta | Role::RunningMean => vec![0.0; parameter.len],
            }
        };
        self.parameters().iter().map(&mut of).collect()
    }
}

/// A layer on inputs of a shape, and the shape of its outputs.
fn placed(spec: &LayerSpec, shape: &[usize]) -> Result<(Layer, Vec<usize>), String> {
    let len: usize = shape.iter().product();
    match *spec {
        LayerSpec::Linear { outputs, bias } => {
            check_len(&[len, outputs])?;
            let layer = Layer::Linear {
                inputs: len,
                outputs,
                bias,
            };
            Ok((layer, vec![outputs]))
        }
        LayerSpec::Conv {
            filters,
            kernel,
            stride,
            pad,
            bias,
        } => {
            let [channels, height, width] = planes(shape)?;
            if pad >= kernel.max(1) {
                return Err(format!(
                    "padding of {pad} is as wide as the kernel; it must be below {kernel}"
                ));
            }
            let [height_out, width_out] = [height, width].map(|n| fits(n, kernel, stride, pad));
            check_len(&[channels, height, width, kernel, kernel])?;
            let shape = vec![filters, height_out?, width_out?];
            check_len(&shape)?;
            let geometry = ConvGeometry {
                channels,
                height,
                width,
                filters,
                kernel: [kernel; 2],
                stride: [stride; 2],
                pad: [pad; 4],
                dilation: [1; 2],
                groups: 1,
            };
            Ok((Layer::Conv { geometry, bias }, shape))
        }
        LayerSpec::Relu => Ok((Layer::Relu { len }, shape.to_vec())),
        LayerSpec::MaxPool { kernel, stride } => {
            let pool = pool(shape, kernel, stride)?;
            let shape = vec![pool.channels, pool.out[0], pool.out[1]];
            Ok((Layer::MaxPool(pool), shape))
        }
        LayerSpec::AvgPool { kernel, stride } => {
            let pool = pool(shape, kernel, stride)?;
            let shape = vec![pool.channels, pool.out[0], pool.out[1]];
            Ok((Layer::AvgPool(pool), shape))
        }
        LayerSpec::BatchNorm => {
            let layer = Layer::BatchNorm {
                channels: shape[0],
                plane: len / shape[0],
            };
            Ok((layer, shape.to_vec()))
        }
    }
}

fn pool(shape: &[usize], kernel: usize, stride: Option<usize>) -> Result<Pool, String> {
    let [channels, height, width] = planes(shape)?;
    let stride = stride.unwrap_or(kernel);
    let [rows, columns] = [height, width].map(|n| fits(n, kernel, stride, 0));
    Ok(Pool {
        channels,
        height,
        width,
        kernel: [kernel; 2],
        stride: [stride; 2],
        pad: [0; 4],
        dilation: [1; 2],
        out: [rows?, columns?],
        count_pad: false,
    })
}

fn planes(shape: &[usize]) -> Result<[usize; 3], String> {
    shape
        .try_into()
        .map_err(|_| format!("it needs channels, height and width; what comes in is {shape:?}"))
}

/// The places of a kernel along an axis of `n`.
fn fits(n: usize, kernel: usize, stride: usize, pad: usize) -> Result<usize, String> {
    if kernel == 0 || stride == 0 {
        return Err("kernel and stride must be at least 1".into());
    }
    let room = (n + 2 * pad).checked_sub(kernel);
    let room =
        room.ok_or_else(|| format!("the kernel of {kernel} is larger than the {n} input"))?;
    Ok(room / stride + 1)
}

fn check_len(factors: &[usize]) -> Result<(), String> {
    let len = factors.iter().try_fold(1usize, |a, b| a.checked_mul(*b));
    match len {
        Some(1..LARGEST) => Ok(()),
        _ => Err(format!("a tensor of {factors:?} elements cannot be")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{named, names};

    fn parameters(name: &str, input: &[usize]) -> usize {
        let specs = named(name, 10).expect("known");
        let network = Network::new(input, &specs).expect("fits");
        assert_eq!(network.outputs(), 10);
        network.parameters().iter().map(|p| p.len).sum()
    }

    #[test]
    fn the_papers_networks_have_their_sizes() {
        assert_eq!(parameters("network-a", &[1, 28, 28]), 118_282);
        assert_eq!(parameters("network-c", &[1, 28, 28]), 33_542);
        assert_eq!(parameters("lenet", &[1, 28, 28]), 431_080);
        assert!((99_000..100_000).contains(&parameters("network-b", &[1, 28, 28])));
        for name in ["alexnet", "alexnet-bn", "vgg16"] {
            assert!(parameters(name, &[3, 32, 32]) > 1_000_000, "{name}");
            let specs = named(name, 200).expect("known");
            assert!(Network::new(&[3, 64, 64], &specs).is_ok(), "{name}");
        }
        assert!(names().iter().all(|name| named(name, 2).is_some()));
    }

    #[test]
    fn layers_that_do_not_fit_are_named() {
        let refused = |input: &[usize], specs: &[LayerSpec]| {
            Network::new(input, specs).expect_err("refused").to_string()
        };
        let conv = LayerSpec::Conv {
            filters: 2,
            kernel: 5,
            stride: 1,
            pad: 0,
            bias: true,
        };
        let linear = LayerSpec::Linear {
            outputs: 2,
            bias: true,
        };
        assert!(refused(&[0], &[]).contains("input"));
        assert!(refused(&[4], &[LayerSpec::Relu]).contains("last layer"));
        assert!(refused(&[4], &[conv.clone(), linear.clone()]).contains("layer 0"));
        assert!(refused(&[1, 4, 4], &[conv, linear]).contains("larger than the 4 input"));
        let huge = LayerSpec::Linear {
            outputs: usize::MAX,
            bias: true,
        };
        assert!(refused(&[4], &[huge]).contains("cannot be"));
    }
}

//! Networks as they are written in a config, and those that have a name.

use serde::{Deserialize, Serialize};

/// One layer; its input's shape follows from the layers before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayerSpec {
    /// A fully connected layer on the flattened input.
    Linear {
        /// Elements of an output item.
        outputs: usize,
        /// Whether the layer has a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// A convolution with a square kernel.
    Conv {
        /// Channels of the output.
        filters: usize,
        /// Height and width of the kernel.
        kernel: usize,
        /// Step of the kernel.
        #[serde(default = "one")]
        stride: usize,
        /// Zeros on every side.
        #[serde(default)]
        pad: usize,
        /// Whether the layer has a bias.
        #[serde(default = "yes")]
        bias: bool,
        /// Groups of channels that do not mix.
        #[serde(default = "one")]
        groups: usize,
        /// Distance of a kernel's taps.
        #[serde(default = "one")]
        dilation: usize,
    },
    /// `max(x, 0)`.
    Relu {},
    /// `x`, where it is negative times `slope`.
    LeakyRelu {
        /// The factor of negative elements.
        #[serde(default = "slope")]
        slope: f64,
    },
    /// `1 / (1 + exp(-x))`.
    Sigmoid {},
    /// The hyperbolic tangent.
    Tanh {},
    /// The error function.
    Erf {},
    /// `x (1 + erf(x / sqrt 2)) / 2`.
    Gelu {},
    /// `x / (1 + exp(-x))`.
    Silu {},
    /// `factor x + shift` for public numbers, which are no parameters.
    Scale {
        /// The factor of every element.
        #[serde(default = "unit")]
        factor: f64,
        /// The summand of every element.
        #[serde(default)]
        shift: f64,
    },
    /// In training, each element is 0 with probability `p`, else over `1 - p`.
    Dropout {
        /// The probability of each element to be dropped.
        #[serde(default = "half")]
        p: f64,
    },
    /// The sum of two values of one shape.
    Add {},
    /// The product, element by element, of two values of one shape.
    Mul {},
    /// The maximum of square windows.
    MaxPool {
        /// Height and width of a window.
        kernel: usize,
        /// Step of the windows; as wide as they are if not given.
        stride: Option<usize>,
    },
    /// The mean of square windows.
    AvgPool {
        /// Height and width of a window.
        kernel: usize,
        /// Step of the windows; as wide as they are if not given.
        stride: Option<usize>,
    },
    /// Batch normalisation of every channel, with a learnt factor and summand.
    BatchNorm {
        /// What is added to variances.
        #[serde(default = "epsilon")]
        epsilon: f64,
        /// How much of a batch's statistics goes into the running ones.
        #[serde(default = "momentum")]
        momentum: f64,
    },
}

impl LayerSpec {
    /// Batch normalisation with the default numbers.
    pub fn batch_norm() -> Self {
        LayerSpec::BatchNorm {
            epsilon: epsilon(),
            momentum: momentum(),
        }
    }
}

/// A layer with its place: what it reads, and what its value is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// How others name its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The values that it reads by their names, `input` being the network's. The layer before if
    /// there are none; a sum or a product reads the layer before and one that is named, or two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// The layer itself.
    #[serde(flatten)]
    pub layer: LayerSpec,
}

impl From<LayerSpec> for Placed {
    fn from(layer: LayerSpec) -> Self {
        Placed {
            name: None,
            from: Vec::new(),
            layer,
        }
    }
}

fn slope() -> f64 {
    0.01
}

fn half() -> f64 {
    0.5
}

fn unit() -> f64 {
    1.0
}

fn epsilon() -> f64 {
    1.0 / 1024.0
}

fn momentum() -> f64 {
    0.1
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

fn linear(outputs: usize) -> LayerSpec {
    LayerSpec::Linear {
        outputs,
        bias: true,
    }
}

fn conv(filters: usize, kernel: usize, stride: usize, pad: usize) -> LayerSpec {
    LayerSpec::Conv {
        filters,
        kernel,
        stride,
        pad,
        bias: true,
        groups: 1,
        dilation: 1,
    }
}

fn pool(kernel: usize, stride: usize) -> LayerSpec {
    LayerSpec::MaxPool {
        kernel,
        stride: Some(stride),
    }
}

const RELU: LayerSpec = LayerSpec::Relu {};

/// The names that [`named`] knows.
pub fn names() -> [&'static str; 7] {
    [
        "network-a",
        "network-b",
        "network-c",
        "lenet",
        "alexnet",
        "alexnet-bn",
        "vgg16",
    ]
}

/// Falcon's networks (its section 5 and appendix; `alexnet` without, `alexnet-bn` with batch
/// normalisation), for inputs of so many classes. Pooling comes before ReLU, which is the same and
/// costs less.
pub fn named(name: &str, classes: usize) -> Option<Vec<LayerSpec>> {
    Some(match name {
        "network-a" => vec![linear(128), RELU, linear(128), RELU, linear(classes)],
        "network-b" => vec![conv(5, 5, 2, 2), RELU, linear(100), RELU, linear(classes)],
        "network-c" => lenet(16, 16, 100, classes),
        "lenet" => lenet(20, 50, 500, classes),
        "alexnet" => alexnet(classes),
        "alexnet-bn" => {
            let with = |spec: LayerSpec| match spec {
                LayerSpec::Conv { .. } => vec![spec, LayerSpec::batch_norm()],
                spec => vec![spec],
            };
            alexnet(classes).into_iter().flat_map(with).collect()
        }
        "vgg16" => vgg16(classes),
        _ => return None,
    })
}

fn lenet(first: usize, second: usize, hidden: usize, classes: usize) -> Vec<LayerSpec> {
    let mut layers = vec![conv(first, 5, 1, 0), pool(2, 2), RELU];
    layers.extend([conv(second, 5, 1, 0), pool(2, 2), RELU]);
    layers.extend([linear(hidden), RELU, linear(classes)]);
    layers
}

fn alexnet(classes: usize) -> Vec<LayerSpec> {
    let mut layers = vec![conv(96, 11, 4, 9), pool(3, 2), RELU];
    layers.extend([conv(256, 5, 1, 1), pool(2, 1), RELU]);
    for filters in [384, 384, 256] {
        layers.extend([conv(filters, 3, 1, 1), RELU]);
    }
    layers.extend([linear(256), RELU, linear(256), RELU, linear(classes)]);
    layers
}

fn vgg16(classes: usize) -> Vec<LayerSpec> {
    let mut layers = Vec::new();
    for (filters, convolutions) in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)] {
        for i in 0..convolutions {
            layers.push(conv(filters, 3, 1, 1));
            if i + 1 == convolutions {
                layers.push(pool(2, 2));
            }
            layers.push(RELU);
        }
    }
    layers.extend([linear(256), RELU, linear(256), RELU, linear(classes)]);
    layers
}

//! Networks as they are written in a config, and those that have a name.

use serde::{Deserialize, Serialize};

/// One layer; its input's shape follows from the layers before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayerSpec {
    /// A fully connected layer on the flattened input.
    Linear {
        /// Outputs.
        outputs: usize,
        /// Whether it has a bias.
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
        /// Whether it has a bias.
        #[serde(default = "yes")]
        bias: bool,
    },
    /// `max(x, 0)`.
    Relu,
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
    BatchNorm,
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
    }
}

fn pool(kernel: usize, stride: usize) -> LayerSpec {
    LayerSpec::MaxPool {
        kernel,
        stride: Some(stride),
    }
}

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
    use LayerSpec::{BatchNorm, Relu};
    Some(match name {
        "network-a" => vec![linear(128), Relu, linear(128), Relu, linear(classes)],
        "network-b" => vec![conv(5, 5, 2, 2), Relu, linear(100), Relu, linear(classes)],
        "network-c" => lenet(16, 16, 100, classes),
        "lenet" => lenet(20, 50, 500, classes),
        "alexnet" => alexnet(classes),
        "alexnet-bn" => {
            let with = |spec: LayerSpec| match spec {
                LayerSpec::Conv { .. } => vec![spec, BatchNorm],
                spec => vec![spec],
            };
            alexnet(classes).into_iter().flat_map(with).collect()
        }
        "vgg16" => vgg16(classes),
        _ => return None,
    })
}

fn lenet(first: usize, second: usize, hidden: usize, classes: usize) -> Vec<LayerSpec> {
    use LayerSpec::Relu;
    let mut layers = vec![conv(first, 5, 1, 0), pool(2, 2), Relu];
    layers.extend([conv(second, 5, 1, 0), pool(2, 2), Relu]);
    layers.extend([linear(hidden), Relu, linear(classes)]);
    layers
}

fn alexnet(classes: usize) -> Vec<LayerSpec> {
    use LayerSpec::Relu;
    let mut layers = vec![conv(96, 11, 4, 9), pool(3, 2), Relu];
    layers.extend([conv(256, 5, 1, 1), pool(2, 1), Relu]);
    for filters in [384, 384, 256] {
        layers.extend([conv(filters, 3, 1, 1), Relu]);
    }
    layers.extend([linear(256), Relu, linear(256), Relu, linear(classes)]);
    layers
}

fn vgg16(classes: usize) -> Vec<LayerSpec> {
    use LayerSpec::Relu;
    let mut layers = Vec::new();
    for (filters, convolutions) in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)] {
        for i in 0..convolutions {
            layers.push(conv(filters, 3, 1, 1));
            if i + 1 == convolutions {
                layers.push(pool(2, 2));
            }
            layers.push(Relu);
        }
    }
    layers.extend([linear(256), Relu, linear(256), Relu, linear(classes)]);
    layers
}

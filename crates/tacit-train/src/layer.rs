//! A layer with all its shapes, and its parameters.

use serde::Serialize;
use tacit_nn::graph::{ConvGeometry, Pool};

/// A layer with its geometry; values are flat, items one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
        /// The convolution's shapes.
        geometry: ConvGeometry,
        /// Whether there is a bias.
        bias: bool,
    },
    /// `max(x, 0)`.
    Relu {
        /// Elements of an item.
        len: usize,
    },
    /// `x`, where it is negative times `slope`.
    LeakyRelu {
        /// Elements of an item.
        len: usize,
        /// The factor of negative elements.
        slope: f64,
    },
    /// A function of every element.
    Smooth {
        /// Elements of an item.
        len: usize,
        /// The function that is computed of every element.
        function: Smooth,
    },
    /// `factor x + shift`.
    Scale {
        /// Elements of an item.
        len: usize,
        /// The public factor of every element.
        factor: f64,
        /// The public summand of every element.
        shift: f64,
    },
    /// Some elements dropped in training, the others scaled up.
    Dropout {
        /// Elements of an item.
        len: usize,
        /// The probability of each to be dropped.
        p: f64,
    },
    /// The sum of two values.
    Add {
        /// Elements of an item.
        len: usize,
    },
    /// The product of two values, element by element.
    Mul {
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
        /// What is added to variances.
        epsilon: f64,
        /// How much of a batch's statistics goes into the running ones.
        momentum: f64,
    },
}

/// A smooth function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Smooth {
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
}

impl Layer {
    /// The layer's name in files and messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Layer::Linear { .. } => "linear",
            Layer::Conv { .. } => "conv",
            Layer::Relu { .. } => "relu",
            Layer::LeakyRelu { .. } => "leaky-relu",
            Layer::Smooth { function, .. } => match function {
                Smooth::Sigmoid => "sigmoid",
                Smooth::Tanh => "tanh",
                Smooth::Erf => "erf",
            },
            Layer::Scale { .. } => "scale",
            Layer::Dropout { .. } => "dropout",
            Layer::Add { .. } => "add",
            Layer::Mul { .. } => "mul",
            Layer::MaxPool(_) | Layer::AvgPool(_) => "pool",
            Layer::BatchNorm { .. } => "norm",
        }
    }

    /// What the parameters are, with their elements and the inputs of one output.
    pub(crate) fn parameters(&self) -> Vec<(ParameterKind, usize, usize)> {
        let with = |weights: usize, outputs: usize, fan_in: usize, bias: bool| {
            let bias = bias.then_some((ParameterKind::Bias, outputs, fan_in));
            let weight = (ParameterKind::Weight, weights, fan_in);
            std::iter::once(weight).chain(bias).collect()
        };
        match self {
            Layer::Linear {
                inputs,
                outputs,
                bias,
            } => with(inputs * outputs, *outputs, *inputs, *bias),
            Layer::Conv { geometry, bias } => {
                let (filters, taps) = (geometry.filters, geometry.taps());
                with(filters * taps, filters, taps, *bias)
            }
            Layer::BatchNorm { channels, .. } => NORMAL.map(|kind| (kind, *channels, 1)).to_vec(),
            _ => Vec::new(),
        }
    }
}

/// The parameters of a normalisation, in their order.
const NORMAL: [ParameterKind; 4] = [
    ParameterKind::Gamma,
    ParameterKind::Beta,
    ParameterKind::RunningMean,
    ParameterKind::RunningVariance,
];

/// What a parameter is to its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// The factors of a linear layer or a convolution.
    Weight,
    /// The summands of a linear layer or a convolution.
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
    /// The number of the parameter's layer.
    pub layer: usize,
    /// What the parameter is to its layer.
    pub kind: ParameterKind,
    /// Elements of the tensor.
    pub len: usize,
    /// Inputs of one output, of weights and biases.
    pub fan_in: usize,
}

impl Parameter {
    /// Whether gradients change it.
    pub fn is_learnt(&self) -> bool {
        !matches!(
            self.kind,
            ParameterKind::RunningMean | ParameterKind::RunningVariance
        )
    }
}

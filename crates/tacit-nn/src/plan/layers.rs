//! What a plan consists of.

use serde::{Deserialize, Serialize};

use tacit_protocols::machine::{BatchMatMul, Bilinear, Conv2d, MatMul};
use tacit_protocols::math::Number;

use super::{
    Functions, Keys, Modulus, Opening, Order, Places, PlannedFunction, PlannedInput, Widths,
};
use crate::graph::{ConvGeometry, Matrices, Output, Pool, ValueId, Whole, len};

/// A model's plan. It is public: the weights' owner sends it to the other parties.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The modulus that the plan's numbers are computed by.
    pub modulus: Modulus,
    /// Fraction bits of every value; where every tensor has its own, of the result.
    pub fraction_bits: u32,
    /// Bits in which the sign of every compared value is certain, whatever the input: 32, or all
    /// of the ring; always all of a field.
    pub compare_bits: u32,
    /// Whether every party knows the weights.
    pub public_model: bool,
    /// The order of product and truncation.
    pub order: Order,
    /// How near elementary functions are.
    pub functions: Functions,
    /// The widths of the input, where every tensor has its own.
    pub input_widths: Option<Widths>,
    /// The inputs, one or more, which are parts of value 0.
    pub inputs: Vec<PlannedInput>,
    /// The layers in order; layer `i` makes value `i + 1`.
    pub layers: Vec<Layer>,
    /// The value that is revealed.
    pub output: ValueId,
    /// What is opened of that value.
    pub opening: Opening,
    /// The outputs, one or more, which are parts of what is opened.
    pub outputs: Vec<Output>,
    /// Warnings of what the planner could not be sure of. They stay with the planner, as they may tell of
    /// the weights.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// Warnings of key bits, for protocols that have them. They stay with the planner, too.
    #[serde(skip)]
    pub key_warnings: Vec<String>,
    /// The largest error that rounding is expected to make in an output: four times that of a trial. It
    /// stays with the planner.
    #[serde(skip)]
    pub error: f64,
    /// For every output the largest error of an answer in the plan's trial, as the receiver has the
    /// answer. It stays with the planner.
    #[serde(skip)]
    pub answers_errors: Vec<f64>,
}

/// One layer of a [`Plan`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layer {
    /// A name that no other layer has.
    pub name: String,
    /// The operation that the layer computes.
    pub op: LayerOp,
    /// The earlier layer whose weights this one uses; these are shared only once.
    pub weights_of: Option<usize>,
    /// The values it reads.
    pub inputs: Vec<ValueId>,
    /// The shape of one item of its output.
    pub shape: Vec<usize>,
    /// Bits dropped from the input before a product.
    pub input_trunc: u32,
    /// Fraction bits of the weights, or of the public factor of a mean.
    pub weight_bits: u32,
    /// Bits dropped from the result.
    pub trunc: u32,
    /// The bits that hold the signs which the layer takes.
    pub keys: Keys,
    /// Bits that hold the arguments of an elementary function, whatever the input.
    pub argument_bits: u32,
    /// Fraction bits of its result, where they are not those of all values.
    pub own_fraction: Option<u32>,
    /// The widths of its numbers, where every tensor has its own.
    pub widths: Option<Widths>,
    /// The magnitude planned for. Stays with the planner: it may tell of the weights.
    #[serde(skip)]
    pub range: f64,
}

/// The operations of a [`Plan`]; weights are shared apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LayerOp {
    /// Convolution.
    Conv {
        /// Shapes of the convolution.
        geometry: ConvGeometry,
        /// Whether there is a bias.
        bias: bool,
    },
    /// The item's `rows` x `k` times `k` x `n` weights.
    Linear {
        /// Rows of one item.
        rows: usize,
        /// Columns of the input.
        k: usize,
        /// Columns of the output.
        n: usize,
        /// Whether there is a bias.
        bias: bool,
    },
    /// The row of a table for every token of an input. The tokens are `tokens` x `k` numbers of value 0,
    /// from `start` on; the table has `k` x `n` weights.
    Lookup {
        /// Where the tokens begin among the shared numbers.
        start: usize,
        /// The tokens of one item.
        tokens: usize,
        /// Rows of the table.
        k: usize,
        /// Columns of the table.
        n: usize,
    },
    /// Element-wise scale and shift, as in [`Affine`].
    Affine {
        /// Neighbouring elements that share a number.
        inner: usize,
        /// The number of channels.
        channels: usize,
        /// Whether there are factors.
        scale: bool,
        /// Whether there are terms.
        shift: bool,
    },
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// Element-wise `x y`.
    Mul,
    /// Matrix products of `x` and `y`.
    MatMul(Matrices),
    /// An elementary function.
    Function(PlannedFunction),
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, low), high)`, encoded; without bounds, `x`.
    Clip {
        /// The lower bound, encoded, if there is one.
        low: Option<i64>,
        /// The upper bound, encoded, if there is one.
        high: Option<i64>,
    },
    /// The maximum of each window.
    MaxPool(Pool),
    /// The mean of each window.
    AveragePool(Pool),
    /// The sum of each window.
    SumPool(Pool),
    /// `out[i] = x[index[i]]`, or `fill` (encoded) where that is padding.
    Rearrange {
        /// A place of the input item for each element of the output item.
        index: Places,
        /// The value of padding.
        fill: i64,
    },
    /// The inputs joined along an axis.
    Concat {
        /// The product of the item's axes before the joined one.
        outer: usize,
    },
    /// 1 where `x >= 0`, else 0.
    NonNegative,
    /// The whole number near `x`, among those from `low` to just below `low + 2^steps`.
    Whole {
        /// The whole number that is taken, such as the one below.
        whole: Whole,
        /// The first that is searched.
        low: i64,
        /// How often the numbers are halved, by a sign each time.
        steps: u32,
    },
}

impl ConvGeometry {
    /// The convolution of a batch.
    fn batched(&self, batch: usize) -> Conv2d {
        Conv2d {
            batch,
            channels: self.channels,
            height: self.height,
            width: self.width,
            filters: self.filters,
            kernel: self.kernel,
            stride: self.stride,
            pad: self.pad,
            dilation: self.dilation,
            groups: self.groups,
        }
    }
}

impl LayerOp {
    /// The operation's name for tables.
    pub fn kind(&self) -> &'static str {
        match self {
            LayerOp::Conv { .. } => "Conv",
            LayerOp::Linear { .. } => "Linear",
            LayerOp::Lookup { .. } => "Lookup",
            LayerOp::Affine { .. } => "Affine",
            LayerOp::Add => "Add",
            LayerOp::Sub => "Sub",
            LayerOp::Mul => "Mul",
            LayerOp::MatMul(_) => "MatMul",
            LayerOp::Function(function) => function.name(),
            LayerOp::Relu => "Relu",
            LayerOp::NonNegative => "NonNegative",
            LayerOp::Whole { whole, .. } => whole.name(),
            LayerOp::Clip { .. } => "Clip",
            LayerOp::MaxPool(_) => "MaxPool",
            LayerOp::AveragePool(_) => "AveragePool",
            LayerOp::SumPool(_) => "SumPool",
            LayerOp::Rearrange { .. } => "Rearrange",
            LayerOp::Concat { .. } => "Concat",
        }
    }

    /// Whether the layer compares values that it computes.
    pub(crate) fn takes_signs(&self) -> bool {
        match self {
            LayerOp::Relu | LayerOp::NonNegative => true,
            LayerOp::Clip { low, high } => low.is_some() || high.is_some(),
            LayerOp::Whole { steps, .. } => *steps > 0,
            LayerOp::MaxPool(pool) => pool.window() > 1,
            _ => false,
        }
    }

    /// Whether the layer is an elementary function.
    pub fn is_function(&self) -> bool {
        matches!(self, LayerOp::Function(_))
    }

    /// The number of factors and of terms that the layer uses.
    pub fn weight_lens(&self) -> (usize, usize) {
        let given = |yes: bool, n: usize| if yes { n } else { 0 };
        match *self {
            LayerOp::Conv { ref geometry, bias } => (
                geometry.filters * geometry.taps(),
                given(bias, geometry.filters),
            ),
            LayerOp::Linear { k, n, bias, .. } => (k * n, given(bias, n)),
            LayerOp::Lookup { k, n, .. } => (k * n, 0),
            LayerOp::Affine {
                channels,
                scale,
                shift,
                ..
            } => (given(scale, channels), given(shift, channels)),
            _ => (0, 0),
        }
    }
}

impl Layer {
    /// The product of a batch with the layer's weights, or of its two inputs. The weights of an affine
    /// layer are spread over the batch first. `None` for a layer that is no product.
    pub(crate) fn bilinear(&self, batch: usize) -> Option<Bilinear> {
        match &self.op {
            LayerOp::Conv { geometry, .. } => Some(Bilinear::Conv2d(geometry.batched(batch))),
            &LayerOp::Linear { rows, k, n, .. }
            | &LayerOp::Lookup {
                tokens: rows, k, n, ..
            } => Some(Bilinear::MatMul(MatMul {
                m: batch * rows,
                k,
                n,
            })),
            &LayerOp::MatMul(Matrices {
                batch: own,
                m,
                k,
                n,
            }) => {
                let each = MatMul { m, k, n };
                let batch = batch * own;
                Some(Bilinear::BatchMatMul(BatchMatMul { batch, each }))
            }
            LayerOp::Affine { scale: true, .. } | LayerOp::Mul => {
                Some(Bilinear::Elementwise(batch * self.out_len()))
            }
            _ => None,
        }
    }

    /// The number of factors and of terms that the model's owner shares for this layer.
    pub fn shared_lens(&self) -> (usize, usize) {
        match self.weights_of {
            Some(_) => (0, 0),
            None => self.op.weight_lens(),
        }
    }

    /// Whether the layer's weights are the right operand of a product in every batch, so that it pays to
    /// make them reusable.
    pub(crate) fn reuses_weights(&self) -> bool {
        let product = matches!(
            self.op,
            LayerOp::Conv { .. } | LayerOp::Linear { .. } | LayerOp::Lookup { .. }
        );
        product && self.weights_of.is_none()
    }

    /// Elements of one output item.
    pub fn out_len(&self) -> usize {
        len(&self.shape)
    }
}

impl Plan {
    /// Elements that are revealed of one item.
    pub fn revealed_len(&self) -> usize {
        let ends = self.outputs.iter().map(|o| o.start + o.part_len());
        ends.max().unwrap_or(0)
    }

    /// The shape of one revealed item: flat where there are several outputs.
    pub fn revealed_shape(&self) -> Vec<usize> {
        match self.outputs.as_slice() {
            [one] => one.revealed_shape.clone(),
            _ => vec![self.revealed_len()],
        }
    }

    /// Elements of one item of all outputs together.
    pub fn outputs_len(&self) -> usize {
        self.outputs.iter().map(|output| len(&output.shape)).sum()
    }

    /// The shape of one item of what the receiver has: flat where there are several outputs.
    pub fn output_shape(&self) -> Vec<usize> {
        match self.outputs.as_slice() {
            [one] => one.shape.clone(),
            _ => vec![self.outputs_len()],
        }
    }

    /// Elements of one item of a value.
    pub fn value_len(&self, id: ValueId) -> usize {
        id.checked_sub(1)
            .map_or(self.input_len(), |layer| self.layers[layer].out_len())
    }

    /// What the numbers of a value are.
    pub fn number(&self, id: ValueId) -> Number {
        match id.checked_sub(1) {
            None => self.plain(None, self.input_widths),
            Some(layer) => self.number_of(&self.layers[layer]),
        }
    }

    /// What the numbers are that a layer makes.
    pub(crate) fn number_of(&self, layer: &Layer) -> Number {
        self.plain(layer.own_fraction, layer.widths)
    }

    fn plain(&self, own: Option<u32>, widths: Option<Widths>) -> Number {
        let plain = Number {
            bits: self.modulus.bits(),
            fraction: own.unwrap_or(self.fraction_bits),
        };
        widths.map_or(plain, Widths::number)
    }

    /// The warnings for a run, by a protocol with key bits or by one without.
    pub fn warnings_for(&self, key_bits: bool) -> Vec<String> {
        let of_keys = self.key_warnings.iter().filter(|_| key_bits);
        self.warnings.iter().chain(of_keys).cloned().collect()
    }

    /// How many numbers of weights the model's owner shares.
    pub fn parameters(&self) -> usize {
        self.layers
            .iter()
            .map(Layer::shared_lens)
            .map(|(w, b)| w + b)
            .sum()
    }
}

/// `value` with `f` fraction bits.
pub(crate) fn encode(value: f64, f: u32) -> i64 {
    scaled(value, f) as i64
}

/// The whole number that holds `value` with `f` fraction bits.
pub(crate) fn scaled(value: f64, f: u32) -> f64 {
    (value * f64::from(f).exp2()).round()
}

//! The model as a graph of a few operations with typed, resolved geometry.
//!
//! Shapes are those of one item: the batch axis, always the first, is left out. Values are
//! row-major and flat, so a reshape is no operation at all.

mod function;
mod input;
mod lookup;
mod matrices;
mod output;
mod pool;
mod whole;

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

pub use function::Function;
pub(crate) use input::marks;
pub use input::{Input, InputKind, Missing, Texts, given_shape, row_shape};
pub use lookup::Lookup;
pub use matrices::Matrices;
pub use output::{Classes, Output};
pub use pool::Pool;
pub use tacit_client::tail::{Tail, TailFunction};
pub use whole::Whole;

/// A value of the graph: 0 is the row of all inputs, `i + 1` the output of node `i`.
pub type ValueId = usize;

/// Fixed numbers of a node. Nodes that hold the same allocation use the same weights: these are
/// planned and shared once.
pub type Weights = Arc<[f32]>;

/// The index that [`Op::Rearrange`] answers with its fill value.
pub const FILL: u32 = u32::MAX;

/// A model, ready to be run in the clear or planned.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The inputs, one or more.
    pub inputs: Vec<Input>,
    /// The operations; a node reads only values of earlier nodes and the inputs.
    pub nodes: Vec<Node>,
    /// The value that is revealed: that of all outputs, one behind the other.
    pub output: ValueId,
    /// The outputs, one or more.
    pub outputs: Vec<Output>,
    /// What a user must hear of, whatever the plan: where another runtime computes otherwise what the file says.
    pub remarks: Vec<String>,
}

impl Graph {
    /// The numbers that are given of one item.
    pub fn given_len(&self) -> usize {
        self.inputs.iter().map(Input::given_len).sum()
    }

    /// The numbers of one item's row.
    pub fn row_len(&self) -> usize {
        self.inputs.iter().map(Input::row_len).sum()
    }

    /// The elements that every value has of one item.
    pub(crate) fn lens(&self) -> Vec<usize> {
        let made = self.nodes.iter().map(|node| len(&node.shape));
        std::iter::once(self.row_len()).chain(made).collect()
    }

    /// The shape of one item of what is given: flat where there are several inputs.
    pub fn input_shape(&self) -> Vec<usize> {
        given_shape(&self.inputs)
    }

    /// The shape of one item's row: flat where there are several inputs, or marks.
    pub fn row_shape(&self) -> Vec<usize> {
        row_shape(&self.inputs)
    }

    /// What the inputs are called in messages.
    pub fn inputs_name(&self) -> String {
        let names: Vec<&str> = self.inputs.iter().map(|input| &input.name[..]).collect();
        format!("input '{}'", names.join("', '"))
    }
}

/// One operation of a [`Graph`].
#[derive(Clone, Debug)]
pub struct Node {
    /// The node's name in the model's file, or that of its output.
    pub name: String,
    /// The operation that the node computes.
    pub op: Op,
    /// The values it reads.
    pub inputs: Vec<ValueId>,
    /// The shape of one item of its output.
    pub shape: Vec<usize>,
}

impl Node {
    /// Whether the node reads nothing: it gives its fill alone.
    pub fn is_fill(&self) -> bool {
        matches!(&self.op, Op::Rearrange { index, .. } if index.iter().all(|&i| i == FILL))
    }
}

/// The operations of a [`Graph`].
#[derive(Clone, PartialEq)]
pub enum Op {
    /// Convolution with fixed weights.
    Conv(Conv),
    /// Matrix product with fixed weights.
    Linear(Linear),
    /// The row of a table for every token of an input; reads value 0.
    Lookup(Lookup),
    /// Element-wise scale and shift with fixed numbers.
    Affine(Affine),
    /// `x + y`.
    Add,
    /// `x - y`.
    Sub,
    /// Element-wise `x y`.
    Mul,
    /// Matrix products of `x` and `y`.
    MatMul(Matrices),
    /// An elementary function.
    Function {
        /// The elementary function that is computed of every element.
        function: Function,
        /// Where its arguments lie by construction; infinite where nothing is known.
        domain: (f32, f32),
    },
    /// `max(x, 0)`.
    Relu,
    /// 1 where `x >= 0`, else 0.
    NonNegative,
    /// A whole number near `x`.
    Whole(Whole),
    /// `min(max(x, low), high)`.
    Clip {
        /// The lower bound, if there is one.
        low: Option<f32>,
        /// The upper bound, if there is one.
        high: Option<f32>,
    },
    /// The maximum of each window.
    MaxPool(Pool),
    /// The mean of each window.
    AveragePool(Pool),
    /// The sum of each window.
    SumPool(Pool),
    /// `out[i] = x[index[i]]`, or `fill` where the index is [`FILL`]; per item.
    Rearrange {
        /// One index into the input item for each element of the output item.
        index: Vec<u32>,
        /// The value of padding.
        fill: f32,
    },
    /// The inputs joined along an axis.
    Concat {
        /// The product of the item's axes before the joined one.
        outer: usize,
    },
}

impl Op {
    /// The operation's name for tables and messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Op::Conv(_) => "Conv",
            Op::Linear(_) => "Linear",
            Op::Lookup(_) => "Lookup",
            Op::Affine(_) => "Affine",
            Op::Add => "Add",
            Op::Sub => "Sub",
            Op::Mul => "Mul",
            Op::MatMul(_) => "MatMul",
            Op::Function { function, .. } => function.name(),
            Op::Relu => "Relu",
            Op::NonNegative => "NonNegative",
            Op::Whole(whole) => whole.name(),
            Op::Clip { .. } => "Clip",
            Op::MaxPool(_) => "MaxPool",
            Op::AveragePool(_) => "AveragePool",
            Op::SumPool(_) => "SumPool",
            Op::Rearrange { .. } => "Rearrange",
            Op::Concat { .. } => "Concat",
        }
    }

    /// The factors and the terms of the operation; empty where it has none.
    pub fn weights(&self) -> [&Weights; 2] {
        static NONE: LazyLock<Weights> = LazyLock::new(Weights::default);
        match self {
            Op::Conv(conv) => [&conv.weight, &conv.bias],
            Op::Linear(linear) => [&linear.weight, &linear.bias],
            Op::Lookup(lookup) => [&lookup.table, &NONE],
            Op::Affine(affine) => [&affine.scale, &affine.shift],
            _ => [&NONE, &NONE],
        }
    }
}

/// Shows the operation and not its weights, which may be secret.
impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.kind())
    }
}

/// A convolution with fixed weights.
#[derive(Clone, PartialEq)]
pub struct Conv {
    /// Shapes of the convolution.
    pub geometry: ConvGeometry,
    /// OIHW, with I the channels of one group.
    pub weight: Weights,
    /// One number per filter, or empty.
    pub bias: Weights,
}

/// The shapes of a two-dimensional convolution over one item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvGeometry {
    /// Channels of the input.
    pub channels: usize,
    /// Height of the input.
    pub height: usize,
    /// Width of the input.
    pub width: usize,
    /// Channels of the output.
    pub filters: usize,
    /// Height and width of the kernel.
    pub kernel: [usize; 2],
    /// Vertical and horizontal stride.
    pub stride: [usize; 2],
    /// Zero padding: top, left, bottom, right.
    pub pad: [usize; 4],
    /// Vertical and horizontal dilation.
    pub dilation: [usize; 2],
    /// Groups of channels that do not mix.
    pub groups: usize,
}

impl ConvGeometry {
    /// Height and width of the output; the geometry must be valid.
    pub fn out(&self) -> [usize; 2] {
        let size = [self.height, self.width];
        std::array::from_fn(|d| {
            let span = (self.kernel[d] - 1) * self.dilation[d] + 1;
            (size[d] + self.pad[d] + self.pad[d + 2] - span) / self.stride[d] + 1
        })
    }

    /// Elements of one output item.
    pub fn out_len(&self) -> usize {
        let [h, w] = self.out();
        self.filters * h * w
    }

    /// Elements of one input item.
    pub fn in_len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Weights of one filter.
    pub fn taps(&self) -> usize {
        self.channels / self.groups * self.kernel[0] * self.kernel[1]
    }
}

/// A matrix product with fixed weights: the item's `rows` x `k` by `k` x `n`.
#[derive(Clone, PartialEq)]
pub struct Linear {
    /// Rows of one item.
    pub rows: usize,
    /// Columns of the input.
    pub k: usize,
    /// Columns of the output.
    pub n: usize,
    /// `k` x `n`, row-major.
    pub weight: Weights,
    /// One number per column, or empty.
    pub bias: Weights,
}

/// `x[e] * scale[c] + shift[c]` with `c = (e / inner) % channels` for element `e` of an item.
#[derive(Clone, PartialEq)]
pub struct Affine {
    /// Neighbouring elements that share a number.
    pub inner: usize,
    /// One factor per channel, or empty for 1.
    pub scale: Weights,
    /// One term per channel, or empty for 0.
    pub shift: Weights,
}

impl Affine {
    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.scale.len().max(self.shift.len())
    }

    /// The channel of element `e`.
    pub fn channel(&self, e: usize) -> usize {
        (e / self.inner) % self.channels()
    }

    /// The factor and the term of a channel.
    pub(crate) fn numbers(&self, channel: usize) -> (f32, f32) {
        let number = |of: &Weights, none| of.get(channel).copied().unwrap_or(none);
        (number(&self.scale, 1.0), number(&self.shift, 0.0))
    }

    /// The factor of element `e`.
    pub fn scale_at(&self, e: usize) -> f32 {
        if self.scale.is_empty() {
            1.0
        } else {
            self.scale[self.channel(e)]
        }
    }

    /// The term of element `e`.
    pub fn shift_at(&self, e: usize) -> f32 {
        if self.shift.is_empty() {
            0.0
        } else {
            self.shift[self.channel(e)]
        }
    }
}

/// The number of elements of a shape.
pub fn len(shape: &[usize]) -> usize {
    shape.iter().product()
}

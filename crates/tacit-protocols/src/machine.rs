//! The seam between models and protocols: a secure tensor machine.
//!
//! A model is a straight-line program over [`Machine`]; every protocol implements it, so every
//! model runs on every protocol. Values are integers of the machine's ring in two's complement;
//! what they mean (fixed point, which scale) is the business of the caller.
//!
//! Tensors are row-major; a share knows its number of elements, not its shape: shapes belong to
//! the plan.

use std::ops::Range;

use tacit_net::Party;

use crate::{Cost, Error, pool};

pub use tacit_algebra::{Conv2d, MatMul};

/// Who learns an opened value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Every party.
    All,
    /// One party only.
    One(usize),
}

/// The weights of a linear layer: secret, or known to every party.
#[derive(Clone, Debug)]
pub enum Operand<S> {
    /// Shared like any other secret.
    Secret(S),
    /// Ring elements that every party knows.
    Public(Vec<i64>),
}

/// One call of the machine with its size: what a plan counts before any data arrives.
///
/// `n` counts elements, the batch included; `trunc` is the number of low bits dropped from the
/// result (0: none).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// `input` of `n` elements by party `owner`.
    Input {
        /// The party that knows the values.
        owner: usize,
        /// Elements.
        n: usize,
    },
    /// `reveal` of `n` elements.
    Reveal {
        /// Elements.
        n: usize,
        /// Who learns them.
        to: Audience,
    },
    /// `mul`, `matmul` or `conv2d` of two secrets with `n` output elements.
    Product {
        /// Output elements.
        n: usize,
        /// Bits truncated.
        trunc: u32,
    },
    /// `truncate`; also a linear layer with a public operand, which is local but for this.
    Truncate {
        /// Elements.
        n: usize,
        /// Bits truncated.
        trunc: u32,
    },
    /// `drelu`.
    Drelu {
        /// Elements.
        n: usize,
    },
    /// `relu`.
    Relu {
        /// Elements.
        n: usize,
    },
    /// `select`.
    Select {
        /// Elements.
        n: usize,
    },
    /// `maxpool` over `windows` windows of `size` elements each.
    Maxpool {
        /// Windows, that is output elements.
        windows: usize,
        /// Elements of a window.
        size: usize,
    },
}

/// What a protocol declares of its own cost; tests hold it against the meters.
pub trait CostModel {
    /// Hops on the longest path and bytes sent by each party for one online call.
    fn online(&self, call: &Call) -> Cost;
    /// The same for making all correlated randomness that these calls, in this order, consume.
    fn offline(&self, calls: &[Call]) -> Cost;
    /// About how many bytes of material one party holds for a call between the phases.
    fn stored(&self, call: &Call) -> u64;
}

/// A secure tensor machine: one party's end of a protocol over one ring.
///
/// Every party makes the same calls in the same order. A call that moves data may fail with
/// [`Error`]; after that the machine must not be used again.
pub trait Machine {
    /// One party's share of a tensor.
    type Share: Clone;
    /// One party's share of a tensor of bits.
    type Bits: Clone;

    /// Bits of the ring.
    fn ring_bits(&self) -> u32;
    /// This party's identity, links and meters.
    fn party(&mut self) -> &mut Party;
    /// The declared cost of this machine's calls.
    fn cost_model(&self) -> &dyn CostModel;

    /// Makes the correlated randomness that `calls`, in this order, will consume. An online
    /// call that finds its material missing is an error, never a stand-in value.
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error>;

    /// Shares `n` values known to `owner`; the others pass `None`.
    fn input(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Self::Share, Error>;
    /// A sharing of values that every party knows. Local.
    fn constant(&mut self, values: &[i64]) -> Self::Share;
    /// Opens `x`; `None` for those outside the audience.
    fn reveal(&mut self, x: &Self::Share, to: Audience) -> Result<Option<Vec<i64>>, Error>;

    /// The number of elements.
    fn len(&self, x: &Self::Share) -> usize;
    /// `x + y`. Local.
    fn add(&mut self, x: &Self::Share, y: &Self::Share) -> Self::Share;
    /// `x - y`. Local.
    fn sub(&mut self, x: &Self::Share, y: &Self::Share) -> Self::Share;
    /// `k x` for a public integer. Local.
    fn scale(&mut self, x: &Self::Share, k: i64) -> Self::Share;
    /// `out[i] = x[index[i]]`, or a sharing of 0 where `index[i]` is [`PAD`]. Local: reshapes,
    /// transposes, pads, broadcasts and windows are all this.
    fn gather(&mut self, x: &Self::Share, index: &[u32]) -> Self::Share;
    /// The elements of `range`. Local.
    fn slice(&mut self, x: &Self::Share, range: Range<usize>) -> Self::Share;
    /// The parts one after the other. Local.
    fn concat(&mut self, parts: &[&Self::Share]) -> Self::Share;

    /// Element-wise `(x y) >> trunc`; with a public operand the product itself is local.
    fn mul(
        &mut self,
        x: &Self::Share,
        y: &Operand<Self::Share>,
        trunc: u32,
    ) -> Result<Self::Share, Error>;
    /// `(x w + bias) >> trunc` for `x` (m x k) and `w` (k x n), one truncation per output element.
    /// `bias`, at the product's scale, has one element per column.
    fn matmul(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        shape: MatMul,
        trunc: u32,
    ) -> Result<Self::Share, Error>;
    /// `(conv(x, w) + bias) >> trunc`, NCHW and OIHW; `bias`, at the product's scale, has one
    /// element per output channel.
    fn conv2d(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        shape: &Conv2d,
        trunc: u32,
    ) -> Result<Self::Share, Error>;
    /// `x >> trunc` with the machine's kind of truncation.
    fn truncate(&mut self, x: &Self::Share, trunc: u32) -> Result<Self::Share, Error>;

    /// 1 where `x >= 0`, else 0.
    fn drelu(&mut self, x: &Self::Share) -> Result<Self::Bits, Error>;
    /// `x` where `bit` is 0, `y` where it is 1.
    fn select(
        &mut self,
        bit: &Self::Bits,
        x: &Self::Share,
        y: &Self::Share,
    ) -> Result<Self::Share, Error>;
    /// `max(x, 0)`.
    fn relu(&mut self, x: &Self::Share) -> Result<Self::Share, Error>;
    /// The maximum of each window: element `j` of window `i` is `x[j * windows + i]`.
    /// Differences within a window must lie in the ring's signed range.
    fn maxpool(
        &mut self,
        x: &Self::Share,
        windows: usize,
        size: usize,
    ) -> Result<Self::Share, Error> {
        pool::maxpool(self, x, windows, size)
    }
}

/// The index that [`Machine::gather`] answers with a sharing of 0.
pub const PAD: u32 = u32::MAX;

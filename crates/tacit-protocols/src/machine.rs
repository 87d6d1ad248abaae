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

pub use crate::bilinear::Bilinear;
use crate::math::Elementary;
use crate::mixed::{Between, Mixed};
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

/// The bits of a value that its sign is taken from (Bicoptor 2.0, section 5): the caller's promise
/// that `-2^{dropped + kept} + 2^dropped <= x < 2^{dropped + kept}`.
///
/// A protocol may take the sign at less cost for it. With `dropped` = 0 signs stay exact; else a
/// protocol that uses them may take an `x` in `-2^dropped < x < 0` for non-negative, and then a
/// ReLU lets it through. Values beyond the promise may get any sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyBits {
    /// Low bits that need not be looked at.
    pub dropped: u32,
    /// The bits above them that tell the sign.
    pub kept: u32,
}

impl KeyBits {
    /// No promise: the sign is exact for every element of the machine's ring or field, by its
    /// representative nearest to 0 (`-2^(l-1)` over a ring of `l` bits).
    ///
    /// So it is of `drelu`, `relu` and the `maxpool` of windows whose differences the ring holds, on
    /// every protocol: clear text, Falcon, Shamir sharing, SiRnn and both settings of Bicoptor, where
    /// it costs more than key bits do. The one exception is asked for where a machine is made, by
    /// whoever knows that all values fit: narrow signs (Falcon's `with_narrow_signs`, SiRnn's
    /// `sign_bits`), which take them modulo `2^32` or what is named.
    pub const ALL: KeyBits = KeyBits {
        dropped: 0,
        kept: u32::MAX,
    };

    /// Whether nothing is promised.
    pub fn is_all(self) -> bool {
        self.kept == KeyBits::ALL.kept
    }

    /// The key bits of a difference of two such values.
    pub fn of_difference(self) -> KeyBits {
        KeyBits {
            kept: self.kept.saturating_add(1),
            ..self
        }
    }
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
    /// `fix` of `n` elements.
    Fix {
        /// Elements.
        n: usize,
    },
    /// `mul`, `matmul` or `conv2d` of two secrets.
    Product {
        /// Which of them, with its sizes.
        map: Bilinear,
        /// The right operand's number among those fixed so far, if it is one of them.
        fixed: Option<usize>,
        /// Who knows the right operand, if [`Machine::known`] was told.
        known_to: Option<usize>,
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
        /// Where the sign is.
        keys: KeyBits,
    },
    /// `relu`.
    Relu {
        /// Elements.
        n: usize,
        /// Where the sign is.
        keys: KeyBits,
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
        /// Where the signs of differences within a window are.
        keys: KeyBits,
    },
    /// `function`; only a cost model to which it is native sees it, see [`lowered`].
    ///
    /// [`lowered`]: crate::mixed::lowered
    Function {
        /// Elements.
        n: usize,
        /// The function.
        function: Elementary,
    },
    /// A checkpoint of what waits to be verified: [`Machine::settle`], or one that the machine makes
    /// by itself and [`CostModel::checked`] adds to the calls; it also fills in what waits.
    Verify {
        /// Element-wise products of the ring.
        gates: usize,
        /// Entries that matrix products and convolutions come down to.
        entries: usize,
    },
    /// A call on tensors with widths of their own, which only a cost model with these sees.
    Mixed(Mixed),
}

impl Call {
    /// An element-wise product of two secrets.
    pub fn elementwise(n: usize, trunc: u32) -> Call {
        Call::Product {
            map: Bilinear::Elementwise(n),
            fixed: None,
            known_to: None,
            trunc,
        }
    }

    /// `drelu` of values of any size.
    pub fn drelu(n: usize) -> Call {
        let keys = KeyBits::ALL;
        Call::Drelu { n, keys }
    }

    /// `relu` of values of any size.
    pub fn relu(n: usize) -> Call {
        let keys = KeyBits::ALL;
        Call::Relu { n, keys }
    }

    /// `maxpool` of values of any size.
    pub fn maxpool(windows: usize, size: usize) -> Call {
        let keys = KeyBits::ALL;
        Call::Maxpool {
            windows,
            size,
            keys,
        }
    }
}

/// What a protocol declares of its own cost; tests hold it against the meters.
pub trait CostModel {
    /// Hops on the longest path and bytes sent by each party for one online call.
    fn online(&self, call: &Call) -> Cost;
    /// The same for these calls one after the other, of one layer: their sum, unless a call can begin
    /// at some parties before the last has ended at the others.
    fn in_a_row(&self, calls: &[Call]) -> Cost {
        let mut sum = Cost::default();
        calls.iter().for_each(|call| sum += &self.online(call));
        sum
    }
    /// The same for making all correlated randomness that these calls, in this order, consume.
    fn offline(&self, calls: &[Call]) -> Cost;
    /// About how many bytes of material one party holds for a call between the phases.
    fn stored(&self, call: &Call) -> u64;
    /// Whether the protocol computes the function in a way of its own, at a cost of its own.
    fn native(&self, _function: &Elementary) -> bool {
        false
    }
    /// Whether tensors have widths of their own.
    fn mixed(&self) -> bool {
        false
    }
    /// The calls with the checkpoints that the machine makes among them.
    fn checked(&self, calls: Vec<Call>) -> Vec<Call> {
        calls
    }
    /// The same as [`CostModel::native`] of a function between numbers of such widths.
    fn native_between(&self, _function: &Between) -> bool {
        false
    }
}

/// The answer of a protocol without the functions or widths of its own that a call asks for.
pub fn not_native(call: &Call) -> ! {
    unreachable!("{call:?} must be lowered before it is counted or prepared")
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

    /// Verifies all that waits for it, in protocols that verify (`Call::Verify`). What is given out
    /// is verified without; this says when, and in which phase.
    fn settle(&mut self) -> Result<(), Error> {
        Ok(())
    }

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

    /// Makes `x` cheap to be the right operand of many products, each of which then names it by
    /// its number among all that were fixed. Where a protocol gains nothing, `x` itself. Local
    /// maps of the result are no longer fixed.
    fn fix(&mut self, x: Self::Share) -> Result<Self::Share, Error> {
        Ok(x)
    }

    /// Says that `x` are weights that `owner` knows: products with `x` or a gather of it as their
    /// right operand say so in their calls, and cost less in a protocol that makes use of it.
    fn known(&mut self, x: Self::Share, _owner: usize) -> Self::Share {
        x
    }

    /// This party's part of `x` as bytes, for a checkpoint. As secret as the share.
    fn save(&self, x: &Self::Share) -> Vec<u8>;
    /// A share of `n` elements that [`Machine::save`] made bytes of; others are refused.
    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Self::Share, Error>;

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
    fn drelu(&mut self, x: &Self::Share, keys: KeyBits) -> Result<Self::Bits, Error>;
    /// `x` where `bit` is 0, `y` where it is 1.
    fn select(
        &mut self,
        bit: &Self::Bits,
        x: &Self::Share,
        y: &Self::Share,
    ) -> Result<Self::Share, Error>;
    /// `max(x, 0)`.
    fn relu(&mut self, x: &Self::Share, keys: KeyBits) -> Result<Self::Share, Error>;
    /// The maximum of each window: element `j` of window `i` is `x[j * windows + i]`.
    /// `keys` are those of differences within a window, which must lie in the ring's signed range.
    fn maxpool(
        &mut self,
        x: &Self::Share,
        windows: usize,
        size: usize,
        keys: KeyBits,
    ) -> Result<Self::Share, Error> {
        pool::maxpool(self, x, windows, size, keys)
    }
    /// `x >> trunc` in numbers of `bits` bits, which hold it; exactly the floor where tensors have
    /// widths of their own. Local where nothing is dropped and `x` has as many bits or more.
    fn resize(&mut self, x: &Self::Share, trunc: u32, _bits: u32) -> Result<Self::Share, Error> {
        match trunc {
            0 => Ok(x.clone()),
            trunc => self.truncate(x, trunc),
        }
    }
    /// `x w + bias`, of any kind of product, in numbers of `bits` bits, which hold it.
    fn product(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        map: &Bilinear,
        _bits: u32,
    ) -> Result<Self::Share, Error> {
        match map {
            Bilinear::Elementwise(_) => self.mul(x, w, 0),
            Bilinear::MatMul(shape) => self.matmul(x, w, bias, *shape, 0),
            Bilinear::Conv2d(shape) => self.conv2d(x, w, bias, shape, 0),
        }
    }
    /// A function between numbers of different widths, as [`Machine::function`].
    fn function_between(
        &mut self,
        function: &Between,
        x: &Self::Share,
    ) -> Result<Self::Share, Error>
    where
        Self: Sized,
    {
        function.apply(self, x)
    }
    /// The function of every element of `x`, whose numbers have the function's format and lie in
    /// its domain.
    fn function(&mut self, function: &Elementary, x: &Self::Share) -> Result<Self::Share, Error>
    where
        Self: Sized,
    {
        function.apply(self, x)
    }
}

/// The refusal of bytes that are no saved share of `n` elements.
pub fn not_saved(n: usize) -> Error {
    Error::Invalid(format!("the bytes are no saved share of {n} elements"))
}

/// The index that [`Machine::gather`] answers with a sharing of 0.
pub const PAD: u32 = u32::MAX;

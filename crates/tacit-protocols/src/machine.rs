//! The seam between models and protocols: a secure tensor machine.
//!
//! A model is a straight-line program over [`Machine`]; every protocol implements it, so every
//! model runs on every protocol. Values are integers of the machine's ring in two's complement;
//! what they mean (fixed point, which scale) is the business of the caller.
//!
//! Tensors are row-major; a share knows its number of elements, not its shape: shapes belong to
//! the plan.

mod erased;

use std::ops::Range;
use std::sync::Arc;

use tacit_net::Party;

pub use crate::bilinear::Bilinear;
pub use crate::call::{Audience, Call, KeyBits, Unverified};
pub use crate::cost::CostModel;
use crate::material_portions::{Ahead, MaterialPortions, begin_stage};
use crate::math::Elementary;
use crate::{Error, pool};

pub use erased::{Erased, Handle, Hidden};
pub use tacit_algebra::{BatchMatMul, Conv2d, MatMul};

/// The weights of a linear layer: secret, or known to every party.
#[derive(Clone, Debug)]
pub enum Operand<S> {
    /// Shared like any other secret.
    Secret(S),
    /// Ring elements that every party knows.
    Public(Arc<[i64]>),
}

impl<S> Operand<S> {
    /// The number of elements, by that of a share.
    pub fn elements(&self, of: impl FnOnce(&S) -> usize) -> usize {
        match self {
            Operand::Secret(share) => of(share),
            Operand::Public(values) => values.len(),
        }
    }
}

/// A secure tensor machine: one party's end of a protocol over one ring.
///
/// Every party makes the same calls in the same order. A call that moves data may fail with
/// [`Error`]; after that the machine must not be used again.
pub trait Machine: Sized {
    /// One party's share of a tensor.
    type Share: Clone;
    /// One party's share of a tensor of bits.
    type Bits: Clone;

    /// Bits of the ring.
    fn element_bits(&self) -> u32;
    /// This party's identity, links and meters.
    fn party(&mut self) -> &mut Party;
    /// What of the program's material is not made yet.
    fn ahead(&mut self) -> &mut Ahead;
    /// Says what the program that follows demands, which begins its stages by [`Machine::stage`] or
    /// [`Machine::layer`].
    fn provide(&mut self, portions: &MaterialPortions) {
        *self.ahead() = Ahead::of(portions);
    }
    /// Begins a stage of the program: if a portion of its material begins with this stage, it is made.
    fn stage(&mut self) -> Result<(), Error> {
        begin_stage(self)
    }
    /// Begins a stage, and meters what follows under this name.
    fn layer(&mut self, name: &str) -> Result<(), Error> {
        self.stage()?;
        self.party().set_layer(name);
        Ok(())
    }
    /// The declared cost of this machine's calls.
    fn cost_model(&self) -> &dyn CostModel;

    /// Makes the correlated randomness that `calls`, in this order, will consume. An online
    /// call that finds its material missing is an error, never a stand-in value.
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error>;

    /// Verifies all that waits for it, in protocols that verify (`Call::Verify`). What is given out
    /// is verified without; this says when, and in which phase.
    fn verify(&mut self) -> Result<(), Error> {
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
    /// A sharing of `n` values that every party knows, made only where they are needed. Local.
    fn constant_by(&mut self, _n: usize, values: impl FnOnce() -> Vec<i64>) -> Self::Share {
        self.constant(&values())
    }
    /// An operand that every party knows, made only where it is needed.
    fn public_by(&mut self, values: impl FnOnce() -> Vec<i64>) -> Operand<Self::Share> {
        Operand::Public(values().into())
    }
    /// The most last places by which a truncation may be off a quotient that is exact: what compares such numbers for
    /// equality leaves room for them.
    fn off_exact(&self) -> i64 {
        0
    }

    /// Opens `x`; `None` for those outside the audience.
    fn reveal(&mut self, x: &Self::Share, to: Audience) -> Result<Option<Vec<i64>>, Error>;

    /// Makes `x` cheap to be the right operand of many products, each of which then names it by
    /// its number among all reusable ones. Where a protocol gains nothing, `x` itself. Local
    /// maps of the result are no longer reusable.
    fn reusable(&mut self, x: Self::Share) -> Result<Self::Share, Error> {
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
    /// A share of what clients that are no party gave every party a part of, as [`Machine::load`] read it. What they gave
    /// may be no sharing of anything; what comes of it is one.
    fn take_in(&mut self, given: Self::Share) -> Result<Self::Share, Error> {
        Ok(given)
    }
    /// This party's part of `x` as bytes for a client that is no party, who puts the values together
    /// from the parts of all: after a verification, where there is one. The client learns the values, and
    /// no more than a party to whom they are revealed, even together with one that is corrupt.
    fn hand_out(&mut self, x: &Self::Share) -> Result<Vec<u8>, Error> {
        self.verify()?;
        Ok(self.save(x))
    }

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
    /// Gathers as [`Machine::gather`] does, by an index of `n` elements that is made only where it is
    /// needed. Local.
    fn gather_by(
        &mut self,
        x: &Self::Share,
        _n: usize,
        index: impl FnOnce() -> Vec<u32>,
    ) -> Self::Share {
        self.gather(x, &index())
    }
    /// The elements of `range`. Local.
    fn slice(&mut self, x: &Self::Share, range: Range<usize>) -> Self::Share;
    /// The parts one after the other. Local.
    fn concat(&mut self, parts: &[&Self::Share]) -> Self::Share;

    /// `(x w + bias) >> trunc` for any bilinear map, one truncation per output element; with a public
    /// `w` the product itself is local. `bias`, at the product's scale, has one element per element, per column of a
    /// matrix product or per output channel of a convolution.
    ///
    /// Where tensors have widths of their own, `bits` are those of the product and of the result, which
    /// hold them; without, both have the ring's.
    fn linear(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        map: &Bilinear,
        trunc: u32,
        bits: Option<[u32; 2]>,
    ) -> Result<Self::Share, Error>;
    /// [`Machine::linear`], element by element.
    fn mul(
        &mut self,
        x: &Self::Share,
        y: &Operand<Self::Share>,
        trunc: u32,
    ) -> Result<Self::Share, Error> {
        let n = self.len(x);
        self.linear(x, y, None, &Bilinear::Elementwise(n), trunc, None)
    }
    /// [`Machine::linear`] of `x` (m x k) and `w` (k x n).
    fn matmul(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        shape: MatMul,
        trunc: u32,
    ) -> Result<Self::Share, Error> {
        self.linear(x, w, bias, &Bilinear::MatMul(shape), trunc, None)
    }
    /// [`Machine::linear`] of `x` (NCHW) and `w` (OIHW).
    fn conv2d(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        shape: &Conv2d,
        trunc: u32,
    ) -> Result<Self::Share, Error> {
        self.linear(x, w, bias, &Bilinear::Conv2d(*shape), trunc, None)
    }
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
        self.truncate(x, trunc)
    }
    /// The function of every element of `x` in the machine's own way; `None` where it has none:
    /// [`Erased::function`] takes the program that all machines have in common.
    fn native(
        &mut self,
        _function: &Elementary,
        _x: &Self::Share,
    ) -> Option<Result<Self::Share, Error>> {
        None
    }
}

/// The refusal of bytes that are no saved share of `n` elements.
pub fn not_saved(n: usize) -> Error {
    Error::Invalid(format!("the bytes are no saved share of {n} elements"))
}

/// The index that [`Machine::gather`] answers with a sharing of 0.
pub const PAD: u32 = u32::MAX;

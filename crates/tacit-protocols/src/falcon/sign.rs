//! DReLU and what it chooses, by the comparison that is asked for: the adder (docs/spec/adder.md), or the
//! paper's (`compare.rs`).

use tacit_algebra::{Bits, Buffer, Ring};

use super::{Comparison, Falcon};
use crate::Error;
use crate::machine::KeyBits;
use crate::replicated::Rss;

impl<R: Ring> Falcon<R> {
    /// DReLU as shared bits: 1 where `x >= 0`.
    pub(super) fn not_negative(
        &mut self,
        x: &Rss<Buffer<R>>,
        keys: KeyBits,
    ) -> Result<Rss<Bits>, Error> {
        match self.options.comparison {
            Comparison::Falcon => self.sign_bits(x),
            Comparison::Adder => {
                let width = self.options.sign_width::<R>(keys);
                self.waits(x.own.len());
                let mut bit = self.negative(x, width)?;
                self.rss.flip_all(&mut bit);
                Ok(bit)
            }
        }
    }

    /// `max(x, 0)`.
    pub(super) fn rectify(
        &mut self,
        x: &Rss<Buffer<R>>,
        keys: KeyBits,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match self.options.comparison {
            Comparison::Falcon => self.sign_times(x),
            Comparison::Adder => {
                let bit = self.not_negative(x, keys)?;
                self.chosen(&bit, x)
            }
        }
    }

    /// `x` where `bit` is 0, `y` where it is 1.
    pub(super) fn select_by(
        &mut self,
        bit: &Rss<Bits>,
        x: &Rss<Buffer<R>>,
        y: &Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match self.options.comparison {
            Comparison::Falcon => self.select_shares(bit, x, y),
            Comparison::Adder => {
                let z = self.chosen(bit, &y.zip(x, Buffer::sub))?;
                Ok(x.zip(&z, Buffer::add))
            }
        }
    }

    /// `x` where `bit` is 1, else 0.
    pub(super) fn chosen(
        &mut self,
        bit: &Rss<Bits>,
        x: &Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        self.waits(x.own.len());
        self.times(bit, x)
    }

    /// Counts what `n` signs or choices leave to be verified.
    pub(super) fn waits(&mut self, n: usize) {
        if let Some(checks) = &mut self.checks {
            checks.waiting += 3 * n;
        }
    }
}

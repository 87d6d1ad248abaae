//! What the two kinds of security do differently, in one place: every step that has two forms is
//! asked for here, and its forms are files of the same name in `semi_honest/` and `malicious/`.

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};

use super::Falcon;
use super::domain::Wide;
use super::malicious::gates::Verified;
use super::material::CompareBatch;
use super::preprocess::{LowPart, Sum};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Domain, Rss};

impl<R: Ring> Falcon<R> {
    /// `x y` element by element. 1 hop; every party sends `n` elements.
    pub(super) fn multiply<D: Verified<R>>(
        &mut self,
        step: Message<D::Family>,
        x: Rss<D::Vec>,
        y: Rss<D::Vec>,
    ) -> Result<Rss<D::Vec>, Error> {
        match &mut self.checks {
            None => self.rss.multiply::<D>(step, &x, &y),
            Some(checks) => checks.multiply::<D>(&mut self.rss, step, x, y),
        }
    }

    /// Opens `x` to all. 1 hop; every party sends `n` elements.
    pub(super) fn open<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
    ) -> Result<D::Vec, Error> {
        self.rss.begin_open::<D>(step, x)?;
        self.finish_open::<D>(step, x)
    }

    /// The receiving half of [`Falcon::open`], for openings that share a hop.
    pub(super) fn finish_open<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
    ) -> Result<D::Vec, Error> {
        let mut opened = self.missing::<D>(step, x)?;
        D::add_assign(&mut opened, &x.own);
        D::add_assign(&mut opened, &x.next);
        Ok(opened)
    }

    /// The component of `x` that this party lacks, as the party before opens it.
    pub(super) fn missing<D: Domain>(
        &mut self,
        step: Message<D::Family>,
        x: &Rss<D::Vec>,
    ) -> Result<D::Vec, Error> {
        let heard = self
            .rss
            .recv::<D>(self.rss.prev_party(), step, D::len(&x.own))?;
        if let Some(checks) = &mut self.checks {
            checks.opened::<D>(x, &heard);
        }
        Ok(heard)
    }

    /// See `adder.rs`.
    pub(super) fn add_components<S: Ring>(&mut self, x: &Rss<Buffer<S>>) -> Result<Sum<S>, Error> {
        match self.checks {
            None => self.add_components_unchecked(x),
            Some(_) => self.add_components_checked(x),
        }
    }

    /// See `inject.rs`.
    pub(super) fn inject<D: Wide + Verified<R>>(
        &mut self,
        bits: &Rss<Bits>,
    ) -> Result<Rss<D::Vec>, Error> {
        match self.checks {
            None => self.inject_unchecked::<D>(bits),
            Some(_) => self.inject_checked::<D>(bits),
        }
    }

    /// See `inject.rs`.
    pub(super) fn random_nonzero<S: Ring>(&mut self, n: usize) -> Result<Rss<Buffer<u8>>, Error> {
        match self.checks {
            None => self.random_nonzero_unchecked::<S>(n),
            Some(_) => self.random_nonzero_checked::<S>(n),
        }
    }

    /// See `truncate.rs`.
    pub(super) fn shift_low(
        &mut self,
        groups: &[(usize, u32)],
        low: &Rss<Buffer<R>>,
        sum: &Sum<R>,
        start: usize,
        msb: &Rss<Bits>,
    ) -> Result<LowPart<R>, Error> {
        match self.checks {
            None => self.shift_low_unchecked(groups, low, sum, start, msb),
            Some(_) => self.shift_low_checked(groups, low, sum, start, msb),
        }
    }

    /// `x >> trunc` without masks (docs/spec/adder.md, sections 6 and 7).
    pub(super) fn quotient(
        &mut self,
        x: Rss<Buffer<R>>,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match self.checks {
            None => self.rss.truncate(&x, trunc),
            Some(_) => self.truncate_checked(x, trunc),
        }
    }

    /// Whether numbers of `width` bits are negative (docs/spec/adder.md, sections 1 and 7).
    pub(super) fn negative(&mut self, x: &Rss<Buffer<R>>, width: u32) -> Result<Rss<Bits>, Error> {
        match self.checks {
            None => self.rss.negative(x, width),
            Some(_) => self.negative_checked(x, width),
        }
    }

    /// `x` where `bit` is 1, else 0 (docs/spec/adder.md, sections 2 and 7).
    pub(super) fn times(
        &mut self,
        bit: &Rss<Bits>,
        x: &Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match self.checks {
            None => self.rss.times(bit, x),
            Some(_) => self.times_checked(bit, x),
        }
    }

    /// Private compare (Falcon, Algorithm 1, section 3.3; docs/spec/falcon.md, section 3): what is
    /// opened of `[x > r]` for the secret `x` of the material and a public `r`, both of `rows`
    /// bits.
    ///
    /// Returns `beta' = [d != 0]`; `[x > r] = beta ^ beta'`. Of `d` the parties learn that it is 0
    /// (probability 1/2 whatever `x`) or a uniform non-zero residue. See `compare.rs`.
    pub(super) fn private_compare<S: Ring>(
        &mut self,
        batch: &CompareBatch,
        range: Range<usize>,
        rows: usize,
        r: &Buffer<S>,
    ) -> Result<Bits, Error> {
        match self.checks {
            None => self.compare_unchecked(batch, range, rows, r),
            Some(_) => self.compare_checked(batch, range, rows, r),
        }
    }
}

//! The kinds of vectors that may be shared, behind one trait, so that sending, opening, resharing
//! and multiplying are written once.

use std::ops::Range;

use tacit_algebra::buffer::Sizes;
use tacit_algebra::{Bits, Buffer, Prg, Ring};

use super::sharing::Rss;
use crate::message::Encoding;

/// Elements that long steps work on at once, so that what they make on the way stays in cache.
/// It shows in the number of messages, so all parties have the same.
const BLOCK: usize = 1 << 17;

/// The ranges of `n` columns of `rows` elements each that are worked on at once.
pub(crate) fn blocks(n: usize, rows: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let step = (BLOCK / rows).next_power_of_two().max(64);
    (0..n)
        .step_by(step)
        .map(move |start| start..(start + step).min(n))
}

/// A vector space of shares: words of Z_2^l, packed bits, or what a protocol adds.
pub(crate) trait Domain: Encoding<Value = Self::Vec, Len = usize> {
    /// A vector of elements.
    type Vec: Clone + Sizes;

    /// `n` uniformly random elements.
    fn draw(prg: &mut Prg, n: usize) -> Self::Vec;
    /// `n` zeros.
    fn zeros(n: usize) -> Self::Vec;
    fn part(v: &Self::Vec, range: Range<usize>) -> Self::Vec;
    fn concat(parts: &[&Self::Vec]) -> Self::Vec;
    /// Adds the next part of what will have `n` elements.
    fn grow(v: &mut Self::Vec, part: Self::Vec, n: usize);
    fn add_assign(a: &mut Self::Vec, b: &Self::Vec);
    fn sub_assign(a: &mut Self::Vec, b: &Self::Vec);
    /// `acc += x y` on this party's components.
    fn product_assign(acc: &mut Self::Vec, x: &Rss<Self::Vec>, y: &Rss<Self::Vec>);
}

/// Z_2^l; `Words` alone is what messages of them are called.
pub(crate) struct Words<R = ()>(std::marker::PhantomData<R>);
/// The domain of bits, Z_2.
pub struct Booleans;

impl<R: Ring> Domain for Words<R> {
    type Vec = Buffer<R>;

    fn draw(prg: &mut Prg, n: usize) -> Buffer<R> {
        prg.words(n)
    }
    fn zeros(n: usize) -> Buffer<R> {
        Buffer::zeros(n)
    }
    fn part(v: &Buffer<R>, range: Range<usize>) -> Buffer<R> {
        v.part(range)
    }
    fn concat(parts: &[&Buffer<R>]) -> Buffer<R> {
        Buffer::concat(parts)
    }
    fn grow(v: &mut Buffer<R>, part: Buffer<R>, n: usize) {
        v.grow(part, n);
    }
    fn add_assign(a: &mut Buffer<R>, b: &Buffer<R>) {
        a.add_assign(b);
    }
    fn sub_assign(a: &mut Buffer<R>, b: &Buffer<R>) {
        a.sub_assign(b);
    }
    fn product_assign(acc: &mut Buffer<R>, x: &Rss<Buffer<R>>, y: &Rss<Buffer<R>>) {
        acc.product_assign([&x.own, &x.next], [&y.own, &y.next]);
    }
}

impl Domain for Booleans {
    type Vec = Bits;

    fn draw(prg: &mut Prg, n: usize) -> Bits {
        prg.bits(n)
    }
    fn zeros(n: usize) -> Bits {
        Bits::zeros(n)
    }
    fn part(v: &Bits, range: Range<usize>) -> Bits {
        v.slice(range.start, range.len())
    }
    fn concat(parts: &[&Bits]) -> Bits {
        Bits::concat(parts)
    }
    fn grow(v: &mut Bits, part: Bits, _n: usize) {
        v.append(&part);
    }
    fn add_assign(a: &mut Bits, b: &Bits) {
        a.xor_assign(b);
    }
    fn sub_assign(a: &mut Bits, b: &Bits) {
        a.xor_assign(b);
    }
    fn product_assign(acc: &mut Bits, x: &Rss<Bits>, y: &Rss<Bits>) {
        tacit_algebra::bits::and_product_assign(acc, &x.own, &x.next, &y.own, &y.next);
    }
}

//! What Falcon shares besides words and bits: residues modulo the prime of its comparison.

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Prg, Ring};

use crate::replicated::{Domain, Rss, Words};

/// A domain into which bits can be injected: odd characteristic or more than one bit.
pub(super) trait Wide: Domain {
    /// Bits as 0 and 1.
    fn expand(bits: &Bits) -> Self::Vec;
    /// `x (1 - 2 b)`, and `+ b` if `add_bit`.
    fn flip(x: &Self::Vec, b: &Bits, add_bit: bool) -> Self::Vec;
    /// `x b`.
    fn kept(x: &Self::Vec, b: &Bits) -> Self::Vec;
    /// `x - 2 y`.
    fn less_doubled(x: &Self::Vec, y: &Self::Vec) -> Self::Vec {
        let mut out = x.clone();
        (0..2).for_each(|_| Self::sub_assign(&mut out, y));
        out
    }
    /// `b - 2 y`.
    fn bits_less_doubled(b: &Bits, y: &Self::Vec) -> Self::Vec {
        Self::less_doubled(&Self::expand(b), y)
    }
}

/// Z_p for the comparison prime of the ring; `Residues` alone is what messages of them are called.
pub(crate) struct Residues<R = ()>(std::marker::PhantomData<R>);

impl<R: Ring> Wide for Words<R> {
    fn expand(bits: &Bits) -> Buffer<R> {
        bits.words_of()
    }
    fn flip(x: &Buffer<R>, b: &Bits, add_bit: bool) -> Buffer<R> {
        x.flip(b, add_bit)
    }
    fn kept(x: &Buffer<R>, b: &Bits) -> Buffer<R> {
        x.kept(b)
    }
    fn less_doubled(x: &Buffer<R>, y: &Buffer<R>) -> Buffer<R> {
        x.less_doubled(y)
    }
    fn bits_less_doubled(b: &Bits, y: &Buffer<R>) -> Buffer<R> {
        b.less_doubled(y)
    }
}

impl<R: Ring> Domain for Residues<R> {
    type Vec = Buffer<u8>;

    fn draw(prg: &mut Prg, n: usize) -> Buffer<u8> {
        prg.residues(R::PRIME, n)
    }
    fn zeros(n: usize) -> Buffer<u8> {
        Buffer::zeros(n)
    }
    fn part(v: &Buffer<u8>, range: Range<usize>) -> Buffer<u8> {
        v.part(range)
    }
    fn concat(parts: &[&Buffer<u8>]) -> Buffer<u8> {
        Buffer::concat(parts)
    }
    fn grow(v: &mut Buffer<u8>, part: Buffer<u8>, n: usize) {
        v.grow(part, n);
    }
    fn add_assign(a: &mut Buffer<u8>, b: &Buffer<u8>) {
        a.residues_add(R::PRIME, b);
    }
    fn sub_assign(a: &mut Buffer<u8>, b: &Buffer<u8>) {
        a.residues_sub(R::PRIME, b);
    }
    fn product_assign(acc: &mut Buffer<u8>, x: &Rss<Buffer<u8>>, y: &Rss<Buffer<u8>>) {
        acc.residues_product(R::PRIME, [&x.own, &x.next], [&y.own, &y.next]);
    }
}

impl<R: Ring> Wide for Residues<R> {
    fn expand(bits: &Bits) -> Buffer<u8> {
        bits.residues_of()
    }
    fn flip(x: &Buffer<u8>, b: &Bits, add_bit: bool) -> Buffer<u8> {
        x.residues_flip(R::PRIME, b, add_bit)
    }
    fn kept(x: &Buffer<u8>, b: &Bits) -> Buffer<u8> {
        x.residues_mul(R::PRIME, &b.residues_of())
    }
}

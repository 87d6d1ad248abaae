//! What Falcon shares besides words and bits: residues modulo the prime of its comparison.

use std::ops::Range;

use tacit_algebra::{Bits, Prg, Ring, flip, prime};

use crate::replicated::{Domain, Rss, Words};

/// A domain into which bits can be injected: odd characteristic or more than one bit.
pub(super) trait Wide: Domain {
    /// Bits as 0 and 1.
    fn expand(bits: &Bits) -> Self::Vec;
    /// `x (1 - 2 b)`, and `+ b` if `add_bit`.
    fn flip(x: &Self::Vec, b: &Bits, add_bit: bool) -> Self::Vec;
}

/// Z_p for the comparison prime of the ring.
pub(super) struct Residues<R>(std::marker::PhantomData<R>);
impl<R: Ring> Wide for Words<R> {
    fn expand(bits: &Bits) -> Vec<R> {
        bits.expand_ring()
    }
    fn flip(x: &Vec<R>, b: &Bits, add_bit: bool) -> Vec<R> {
        flip::ring(x, b, add_bit)
    }
}

impl<R: Ring> Domain for Residues<R> {
    type Vec = Vec<u8>;
    const VALID: &'static str = "residues below the comparison prime";

    fn draw(prg: &mut Prg, n: usize) -> Vec<u8> {
        prg.prime(R::PRIME, n)
    }
    fn zeros(n: usize) -> Vec<u8> {
        vec![0; n]
    }
    fn len(v: &Vec<u8>) -> usize {
        v.len()
    }
    fn with_capacity(n: usize) -> Vec<u8> {
        Vec::with_capacity(n)
    }
    fn append(v: &mut Vec<u8>, part: &Vec<u8>) {
        v.extend_from_slice(part);
    }
    fn add_assign(a: &mut Vec<u8>, b: &Vec<u8>) {
        prime::add_assign(R::PRIME, a, b);
    }
    fn sub_assign(a: &mut Vec<u8>, b: &Vec<u8>) {
        prime::sub_assign(R::PRIME, a, b);
    }
    fn product_assign(acc: &mut Vec<u8>, x: &Rss<Vec<u8>>, y: &Rss<Vec<u8>>, range: Range<usize>) {
        let [x0, x1, y0, y1] = [&x.own, &x.next, &y.own, &y.next].map(|v| &v[range.clone()]);
        prime::product_assign(R::PRIME, acc, x0, x1, y0, y1);
    }
    fn wire_len(n: usize) -> usize {
        prime::packed_len(R::PRIME, n)
    }
    fn to_wire(v: &Vec<u8>) -> Vec<u8> {
        prime::pack(R::PRIME, v)
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<u8>> {
        prime::unpack(R::PRIME, bytes, n)
    }
}

impl<R: Ring> Wide for Residues<R> {
    fn expand(bits: &Bits) -> Vec<u8> {
        bits.expand()
    }
    fn flip(x: &Vec<u8>, b: &Bits, add_bit: bool) -> Vec<u8> {
        flip::residues(R::PRIME, x, b, add_bit)
    }
}

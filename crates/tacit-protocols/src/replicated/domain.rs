//! What may be shared, behind one trait, so that sending, opening, resharing and multiplying are
//! written once.

use std::ops::Range;

use tacit_algebra::{Bits, Prg, Ring, vec};

use super::sharing::Rss;

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
pub(crate) trait Domain {
    /// A vector of elements.
    type Vec: Clone;
    /// What a peer's message must be, for the error when it is not.
    const VALID: &'static str;

    /// `n` uniformly random elements.
    fn draw(prg: &mut Prg, n: usize) -> Self::Vec;
    /// `n` zeros.
    fn zeros(n: usize) -> Self::Vec;
    fn len(v: &Self::Vec) -> usize;
    /// An empty vector with room for `n`.
    fn with_capacity(n: usize) -> Self::Vec;
    fn append(v: &mut Self::Vec, part: &Self::Vec);
    fn add_assign(a: &mut Self::Vec, b: &Self::Vec);
    fn sub_assign(a: &mut Self::Vec, b: &Self::Vec);
    /// `acc += x y` on this party's components, for a range of the elements of `x` and `y`.
    fn product_assign(
        acc: &mut Self::Vec,
        x: &Rss<Self::Vec>,
        y: &Rss<Self::Vec>,
        range: Range<usize>,
    );
    /// Bytes of `n` elements on the wire.
    fn wire_len(n: usize) -> usize;
    fn to_wire(v: &Self::Vec) -> Vec<u8>;
    /// `None` if the bytes are not `n` elements: they come from a peer.
    fn from_wire(bytes: &[u8], n: usize) -> Option<Self::Vec>;
}

/// Z_2^l.
pub(crate) struct Words<R>(std::marker::PhantomData<R>);
/// Z_2.
pub(crate) struct Booleans;

impl<R: Ring> Domain for Words<R> {
    type Vec = Vec<R>;
    const VALID: &'static str = "whole ring elements";

    fn draw(prg: &mut Prg, n: usize) -> Vec<R> {
        prg.ring(n)
    }
    fn zeros(n: usize) -> Vec<R> {
        vec![R::ZERO; n]
    }
    fn len(v: &Vec<R>) -> usize {
        v.len()
    }
    fn with_capacity(n: usize) -> Vec<R> {
        Vec::with_capacity(n)
    }
    fn append(v: &mut Vec<R>, part: &Vec<R>) {
        v.extend_from_slice(part);
    }
    fn add_assign(a: &mut Vec<R>, b: &Vec<R>) {
        vec::add_assign(a, b);
    }
    fn sub_assign(a: &mut Vec<R>, b: &Vec<R>) {
        vec::sub_assign(a, b);
    }
    fn product_assign(acc: &mut Vec<R>, x: &Rss<Vec<R>>, y: &Rss<Vec<R>>, range: Range<usize>) {
        let [x0, x1, y0, y1] = [&x.own, &x.next, &y.own, &y.next].map(|v| &v[range.clone()]);
        vec::product_assign(acc, x0, x1, y0, y1);
    }
    fn wire_len(n: usize) -> usize {
        n * size_of::<R>()
    }
    fn to_wire(v: &Vec<R>) -> Vec<u8> {
        bytemuck::cast_slice(v).to_vec()
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<R>> {
        (bytes.len() == Self::wire_len(n)).then(|| bytemuck::pod_collect_to_vec(bytes))
    }
}

impl Domain for Booleans {
    type Vec = Bits;
    const VALID: &'static str = "bits with a clean tail";

    fn draw(prg: &mut Prg, n: usize) -> Bits {
        prg.bits(n)
    }
    fn zeros(n: usize) -> Bits {
        Bits::zeros(n)
    }
    fn len(v: &Bits) -> usize {
        v.len()
    }
    fn with_capacity(_n: usize) -> Bits {
        Bits::zeros(0)
    }
    fn append(v: &mut Bits, part: &Bits) {
        *v = if v.is_empty() {
            part.clone()
        } else {
            Bits::concat(&[v, part])
        };
    }
    fn add_assign(a: &mut Bits, b: &Bits) {
        a.xor_assign(b);
    }
    fn sub_assign(a: &mut Bits, b: &Bits) {
        a.xor_assign(b);
    }
    fn product_assign(acc: &mut Bits, x: &Rss<Bits>, y: &Rss<Bits>, range: Range<usize>) {
        let [x0, x1, y0, y1] =
            [&x.own, &x.next, &y.own, &y.next].map(|v| v.slice(range.start, range.len()));
        tacit_algebra::bits::and_product_assign(acc, &x0, &x1, &y0, &y1);
    }
    fn wire_len(n: usize) -> usize {
        n.div_ceil(8)
    }
    fn to_wire(v: &Bits) -> Vec<u8> {
        v.to_bytes()
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Bits> {
        Bits::from_bytes(n, bytes)
    }
}

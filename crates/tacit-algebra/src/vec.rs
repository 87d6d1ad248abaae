//! Element-wise kernels over rings. Operands have equal lengths, else these functions panic.

use bytemuck::Pod;

use crate::isa::{self, simd};
use crate::{Ring, par};

simd! {
    fn add_into<R: Ring>(out: &mut [R], a: &[R], b: &[R]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.add(*b);
        }
    }

    fn add3_into<R: Ring>(out: &mut [R], a: &[R], b: &[R], c: &[R]) {
        for (((o, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *o = a.add(*b).add(*c);
        }
    }

    fn sub_into<R: Ring>(out: &mut [R], a: &[R], b: &[R]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.sub(*b);
        }
    }

    fn mul_into<R: Ring>(out: &mut [R], a: &[R], b: &[R]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.mul(*b);
        }
    }

    fn scale_into<R: Ring>(out: &mut [R], a: &[R], k: R) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = a.mul(k);
        }
    }

    fn shr_into<R: Ring>(out: &mut [R], a: &[R], k: u32) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = a.shr(k);
        }
    }

    fn shl_into<R: Ring>(out: &mut [R], a: &[R], k: u32) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = a.shl(k);
        }
    }

    fn sar_into<R: Ring>(out: &mut [R], a: &[R], k: u32) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = a.sar(k);
        }
    }

    fn add_to<R: Ring>(a: &mut [R], b: &[R]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = a.add(*b);
        }
    }

    fn sub_to<R: Ring>(a: &mut [R], b: &[R]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = a.sub(*b);
        }
    }

    fn add_scalar_to<R: Ring>(a: &mut [R], k: R) {
        for a in a.iter_mut() {
            *a = a.add(k);
        }
    }

    fn product_to<R: Ring>(acc: &mut [R], x0: &[R], x1: &[R], y0: &[R], y1: &[R]) {
        let x = x0.iter().zip(x1);
        let y = y0.iter().zip(y1);
        for ((acc, (x0, x1)), (y0, y1)) in acc.iter_mut().zip(x).zip(y) {
            *acc = acc.add(x0.mul(y0.add(*y1))).add(x1.mul(*y0));
        }
    }

    fn encode_into<R: Ring>(out: &mut [R], v: &[i64]) {
        for (o, v) in out.iter_mut().zip(v) {
            *o = R::from_i64(*v);
        }
    }

    fn decode_into<R: Ring>(out: &mut [i64], v: &[R]) {
        for (o, v) in out.iter_mut().zip(v) {
            *o = v.to_i64();
        }
    }
}

/// A new buffer of `n` elements filled part by part by `f(start, part)`.
pub(crate) fn build<T: Pod + Send>(n: usize, f: impl Fn(usize, &mut [T]) + Sync) -> Vec<T> {
    let mut out = vec![T::zeroed(); n];
    par::for_each(&mut out, f);
    out
}

/// The part of `a` that goes with `part`, which starts at `start`.
macro_rules! at {
    ($a:ident, $start:ident, $part:ident) => {
        &$a[$start..$start + $part.len()]
    };
}

/// `a + b`.
pub fn add<R: Ring>(a: &[R], b: &[R]) -> Vec<R> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        add_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
}

/// `a + b + c`.
pub fn add3<R: Ring>(a: &[R], b: &[R], c: &[R]) -> Vec<R> {
    assert!(a.len() == b.len() && a.len() == c.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        add3_into(isa, out, at!(a, s, out), at!(b, s, out), at!(c, s, out))
    })
}

/// `a - b`.
pub fn sub<R: Ring>(a: &[R], b: &[R]) -> Vec<R> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        sub_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
}

/// `a * b`, element by element.
pub fn mul<R: Ring>(a: &[R], b: &[R]) -> Vec<R> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        mul_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
}

/// `-a`.
pub fn neg<R: Ring>(a: &[R]) -> Vec<R> {
    scale(a, R::ONE.neg())
}

/// `k a`.
pub fn scale<R: Ring>(a: &[R], k: R) -> Vec<R> {
    let isa = isa::current();
    build(a.len(), |s, out| scale_into(isa, out, at!(a, s, out), k))
}

/// `a 2^k` in the ring.
pub fn shl<R: Ring>(a: &[R], k: u32) -> Vec<R> {
    let isa = isa::current();
    build(a.len(), |s, out| shl_into(isa, out, at!(a, s, out), k))
}

/// The low `k` bits of every element, for `0 < k < BITS`.
pub fn low_bits<R: Ring>(a: &[R], k: u32) -> Vec<R> {
    shr(&shl(a, R::BITS - k), R::BITS - k)
}

/// Every element `inner` times, and that `outer` times over.
pub fn tile<T: Pod>(a: &[T], inner: usize, outer: usize) -> Vec<T> {
    let once: Vec<T> = if inner == 1 {
        a.to_vec()
    } else {
        a.iter()
            .flat_map(|&v| std::iter::repeat_n(v, inner))
            .collect()
    };
    once.repeat(outer)
}

/// Logical `a >> k` for `k < BITS`.
pub fn shr<R: Ring>(a: &[R], k: u32) -> Vec<R> {
    assert!(k < R::BITS);
    let isa = isa::current();
    build(a.len(), |s, out| shr_into(isa, out, at!(a, s, out), k))
}

/// Arithmetic `a >> k` for `k < BITS`.
pub fn sar<R: Ring>(a: &[R], k: u32) -> Vec<R> {
    assert!(k < R::BITS);
    let isa = isa::current();
    build(a.len(), |s, out| sar_into(isa, out, at!(a, s, out), k))
}

/// `a += b`.
pub fn add_assign<R: Ring>(a: &mut [R], b: &[R]) {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    par::for_each(a, |s, part| add_to(isa, part, at!(b, s, part)));
}

/// `a -= b`.
pub fn sub_assign<R: Ring>(a: &mut [R], b: &[R]) {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    par::for_each(a, |s, part| sub_to(isa, part, at!(b, s, part)));
}

/// `a += k`, every element.
pub fn add_scalar_assign<R: Ring>(a: &mut [R], k: R) {
    let isa = isa::current();
    par::for_each(a, |_, part| add_scalar_to(isa, part, k));
}

/// The local part of a replicated product: `acc += x0 y0 + x1 y0 + x0 y1`. `acc` enters as the
/// zero-sharing mask.
pub fn product_assign<R: Ring>(acc: &mut [R], x0: &[R], x1: &[R], y0: &[R], y1: &[R]) {
    assert!([x0, x1, y0, y1].iter().all(|v| v.len() == acc.len()));
    let isa = isa::current();
    par::for_each(acc, |s, acc| {
        product_to(
            isa,
            acc,
            at!(x0, s, acc),
            at!(x1, s, acc),
            at!(y0, s, acc),
            at!(y1, s, acc),
        )
    });
}

/// Integers to ring elements, wrapping.
pub fn encode<R: Ring>(v: &[i64]) -> Vec<R> {
    let isa = isa::current();
    build(v.len(), |s, out| encode_into(isa, out, at!(v, s, out)))
}

/// Ring elements to centred integers.
pub fn decode<R: Ring>(v: &[R]) -> Vec<i64> {
    let isa = isa::current();
    build(v.len(), |s, out| decode_into(isa, out, at!(v, s, out)))
}

/// `out[i] = a[index[i]]`, or zero where `index[i]` is `u32::MAX`.
///
/// # Panics
/// If another index is outside `a`.
pub fn gather<T: Pod + Send + Sync>(a: &[T], index: &[u32]) -> Vec<T> {
    build(index.len(), |s, out| {
        let index = at!(index, s, out);
        for (o, &i) in out.iter_mut().zip(index) {
            if i != u32::MAX {
                *o = a[i as usize];
            }
        }
    })
}

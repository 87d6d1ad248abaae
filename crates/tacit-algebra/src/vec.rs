//! Element-wise kernels over rings. Operands have equal lengths, else these functions panic.

use bytemuck::Pod;

use crate::fresh::build;
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

    fn less_doubled_into<R: Ring>(out: &mut [R], a: &[R], b: &[R]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.sub(*b).sub(*b);
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

    fn convert_into<R: Ring, S: Ring>(out: &mut [S], a: &[R]) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = S::from_u64(a.to_u64());
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

/// `a - 2 b`.
pub fn less_doubled<R: Ring>(a: &[R], b: &[R]) -> Vec<R> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        less_doubled_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
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

/// Every element modulo the size of another ring: the low bits of a wider word.
pub fn convert<R: Ring, S: Ring>(a: &[R]) -> Vec<S> {
    let isa = isa::current();
    build(a.len(), |s, out| convert_into(isa, out, at!(a, s, out)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    const LENGTHS: [usize; 8] = [0, 1, 15, 63, 64, 65, 1001, 70_001];

    /// `kernel` on every processor against `element`, at every length.
    fn check<R: Ring, T: Pod + Eq>(
        name: &str,
        kernel: impl Fn(&[R], &[R], &[R]) -> Vec<T>,
        element: impl Fn(R, R, R) -> T,
    ) {
        for n in LENGTHS {
            let mut prg = Prg::new([1; 16]);
            let [a, b, c] = [0; 3].map(|_| prg.ring::<R>(n));
            let out = same_everywhere(|| kernel(&a, &b, &c));
            assert_eq!(out.len(), n);
            assert!(
                (0..n).all(|i| out[i] == element(a[i], b[i], c[i])),
                "{name}, {n} elements"
            );
        }
    }

    fn every_kernel<R: Ring>() {
        let changed = |f: &dyn Fn(&mut Vec<R>), a: &[R]| {
            let mut a = a.to_vec();
            f(&mut a);
            a
        };
        let k = R::from_i64(-77);
        check::<R, R>("add", |a, b, _| add(a, b), |a, b, _| a.add(b));
        check::<R, R>("add3", add3, |a, b, c| a.add(b).add(c));
        check::<R, R>("sub", |a, b, _| sub(a, b), |a, b, _| a.sub(b));
        check::<R, R>(
            "less_doubled",
            |a, b, _| less_doubled(a, b),
            |a, b, _| a.sub(b.add(b)),
        );
        check::<R, R>("mul", |a, b, _| mul(a, b), |a, b, _| a.mul(b));
        check::<R, R>("neg", |a, _, _| neg(a), |a, _, _| a.neg());
        check::<R, R>("scale", |a, _, _| scale(a, k), |a, _, _| a.mul(k));
        for k in [0, 1, R::BITS / 2, R::BITS - 1] {
            check::<R, R>("shl", |a, _, _| shl(a, k), |a, _, _| a.shl(k));
            check::<R, R>("shr", |a, _, _| shr(a, k), |a, _, _| a.shr(k));
            check::<R, R>("sar", |a, _, _| sar(a, k), |a, _, _| a.sar(k));
        }
        check::<R, R>(
            "add_assign",
            |a, b, _| changed(&|a| add_assign(a, b), a),
            |a, b, _| a.add(b),
        );
        check::<R, R>(
            "sub_assign",
            |a, b, _| changed(&|a| sub_assign(a, b), a),
            |a, b, _| a.sub(b),
        );
        check::<R, R>(
            "add_scalar_assign",
            |a, _, _| changed(&|a| add_scalar_assign(a, k), a),
            |a, _, _| a.add(k),
        );
        check::<R, R>(
            "product_assign",
            |a, b, c| changed(&|acc| product_assign(acc, a, b, c, a), a),
            |a, b, c| a.add(a.mul(c)).add(b.mul(c)).add(a.mul(a)),
        );
        check::<R, i64>("decode", |a, _, _| decode(a), |a, _, _| a.to_i64());
        check::<R, R>("encode", |a, _, _| encode(&decode(a)), |a, _, _| a);
    }

    #[test]
    fn kernels_are_their_definitions() {
        every_kernel::<u8>();
        every_kernel::<u16>();
        every_kernel::<u32>();
        every_kernel::<u64>();
    }

    #[test]
    fn gather_puts_zero_for_the_pad() {
        assert_eq!(gather(&[5u8, 6], &[1, u32::MAX, 0, 1]), [6, 0, 5, 6]);
        let index: Vec<u32> = (0..70_001).rev().collect();
        let all: Vec<u64> = (0..70_001).collect();
        assert!(gather(&all, &index).iter().rev().eq(&all));
    }

    #[test]
    #[should_panic]
    fn lengths_must_agree() {
        add(&[1u32, 2], &[1]);
    }
}

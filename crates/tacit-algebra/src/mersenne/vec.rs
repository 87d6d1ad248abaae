//! Element-wise kernels over fields. Operands have equal lengths, else these functions panic.

use super::Field;
use crate::fresh::build;
use crate::isa::{self, simd};
use crate::par;

pub use super::power::{inverse, inverse_sqrt};
pub use crate::vec::{gather, tile};

simd! {
    fn add_into<F: Field>(out: &mut [F], a: &[F], b: &[F]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.add(*b);
        }
    }

    fn sub_into<F: Field>(out: &mut [F], a: &[F], b: &[F]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.sub(*b);
        }
    }

    fn mul_into<F: Field>(out: &mut [F], a: &[F], b: &[F]) {
        for ((o, a), b) in out.iter_mut().zip(a).zip(b) {
            *o = a.mul(*b);
        }
    }

    fn neg_into<F: Field>(out: &mut [F], a: &[F]) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = a.neg();
        }
    }

    fn scale_into<F: Field>(out: &mut [F], a: &[F], k: F) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = a.mul(k);
        }
    }

    fn mul_add_into<F: Field>(out: &mut [F], x: &[F], y: &[F], r: &[F]) {
        for (((o, x), y), r) in out.iter_mut().zip(x).zip(y).zip(r) {
            *o = F::mul_add(*x, *y, *r);
        }
    }

    fn is_zero_into<F: Field>(out: &mut [F], a: &[F]) {
        for (o, a) in out.iter_mut().zip(a) {
            *o = F::from_u64((*a == F::ZERO) as u64);
        }
    }

    fn add_to<F: Field>(a: &mut [F], b: &[F]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = a.add(*b);
        }
    }

    fn sub_to<F: Field>(a: &mut [F], b: &[F]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = a.sub(*b);
        }
    }

    fn add_scalar_to<F: Field>(a: &mut [F], k: F) {
        for a in a.iter_mut() {
            *a = a.add(k);
        }
    }

    fn scale_to<F: Field>(a: &mut [F], k: F) {
        for a in a.iter_mut() {
            *a = a.mul(k);
        }
    }

    fn mul_add_to<F: Field>(acc: &mut [F], x: &[F], y: &[F]) {
        for ((acc, x), y) in acc.iter_mut().zip(x).zip(y) {
            *acc = F::mul_add(*x, *y, *acc);
        }
    }

    fn axpy_to<F: Field>(acc: &mut [F], k: F, x: &[F]) {
        for (acc, x) in acc.iter_mut().zip(x) {
            *acc = F::mul_add(k, *x, *acc);
        }
    }

    fn encode_into<F: Field>(out: &mut [F], v: &[i64]) {
        for (o, v) in out.iter_mut().zip(v) {
            *o = F::from_i64(*v);
        }
    }

    fn decode_into<F: Field>(out: &mut [i64], v: &[F]) {
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
pub(super) use at;

/// `a + b`.
pub fn add<F: Field>(a: &[F], b: &[F]) -> Vec<F> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        add_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
}

/// `a - b`.
pub fn sub<F: Field>(a: &[F], b: &[F]) -> Vec<F> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        sub_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
}

/// `a * b`, element by element.
pub fn mul<F: Field>(a: &[F], b: &[F]) -> Vec<F> {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    build(a.len(), |s, out| {
        mul_into(isa, out, at!(a, s, out), at!(b, s, out))
    })
}

/// `-a`.
pub fn neg<F: Field>(a: &[F]) -> Vec<F> {
    let isa = isa::current();
    build(a.len(), |s, out| neg_into(isa, out, at!(a, s, out)))
}

/// `k a`.
pub fn scale<F: Field>(a: &[F], k: F) -> Vec<F> {
    let isa = isa::current();
    build(a.len(), |s, out| scale_into(isa, out, at!(a, s, out), k))
}

/// `x y + r`, element by element.
pub fn mul_add<F: Field>(x: &[F], y: &[F], r: &[F]) -> Vec<F> {
    assert!(x.len() == y.len() && x.len() == r.len());
    let isa = isa::current();
    build(x.len(), |s, out| {
        mul_add_into(isa, out, at!(x, s, out), at!(y, s, out), at!(r, s, out))
    })
}

/// `a += b`.
pub fn add_assign<F: Field>(a: &mut [F], b: &[F]) {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    par::for_each(a, |s, part| add_to(isa, part, at!(b, s, part)));
}

/// `a -= b`.
pub fn sub_assign<F: Field>(a: &mut [F], b: &[F]) {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    par::for_each(a, |s, part| sub_to(isa, part, at!(b, s, part)));
}

/// `a += k`, every element.
pub fn add_scalar_assign<F: Field>(a: &mut [F], k: F) {
    let isa = isa::current();
    par::for_each(a, |_, part| add_scalar_to(isa, part, k));
}

/// `a *= k`, every element.
pub fn scale_assign<F: Field>(a: &mut [F], k: F) {
    let isa = isa::current();
    par::for_each(a, |_, part| scale_to(isa, part, k));
}

/// `acc += x y`, element by element.
pub fn mul_add_assign<F: Field>(acc: &mut [F], x: &[F], y: &[F]) {
    assert!(x.len() == acc.len() && y.len() == acc.len());
    let isa = isa::current();
    par::for_each(acc, |s, acc| {
        mul_add_to(isa, acc, at!(x, s, acc), at!(y, s, acc))
    });
}

/// `acc += k x`.
pub fn axpy<F: Field>(acc: &mut [F], k: F, x: &[F]) {
    assert_eq!(acc.len(), x.len());
    let isa = isa::current();
    par::for_each(acc, |s, acc| axpy_to(isa, acc, k, at!(x, s, acc)));
}

/// Integers to field elements, modulo `p`.
pub fn encode<F: Field>(v: &[i64]) -> Vec<F> {
    let isa = isa::current();
    build(v.len(), |s, out| encode_into(isa, out, at!(v, s, out)))
}

/// Field elements to centred integers.
pub fn decode<F: Field>(v: &[F]) -> Vec<i64> {
    let isa = isa::current();
    build(v.len(), |s, out| decode_into(isa, out, at!(v, s, out)))
}

/// 1 where the element is 0, else 0.
pub fn is_zero<F: Field>(v: &[F]) -> Vec<F> {
    let isa = isa::current();
    build(v.len(), |s, out| is_zero_into(isa, out, at!(v, s, out)))
}

/// The zeros among public values.
pub fn find_zeros<F: Field>(v: &[F]) -> Vec<usize> {
    let zeros = v.iter().enumerate().filter(|(_, v)| **v == F::ZERO);
    zeros.map(|(at, _)| at).collect()
}

/// Puts rows of `at.len()` elements in place of the columns `at` of rows of `n`.
pub fn put_columns<F: Field>(rows: &mut [F], n: usize, at: &[usize], columns: &[F]) {
    assert_eq!(rows.len() * at.len(), columns.len() * n);
    let columns = columns.chunks_exact(at.len().max(1));
    for (row, new) in rows.chunks_exact_mut(n.max(1)).zip(columns) {
        at.iter().zip(new).for_each(|(at, new)| row[*at] = *new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::mersenne::{on_every_field, sample};

    const LENGTHS: [usize; 8] = [0, 1, 15, 63, 64, 65, 1001, 70_001];

    /// `kernel` on every processor against `element`, at every length.
    fn check<F: Field, T: PartialEq + Copy>(
        kernel: impl Fn(&[F], &[F], &[F]) -> Vec<T>,
        element: impl Fn(F, F, F) -> T,
    ) {
        for n in LENGTHS {
            let [a, b, c] = [1, 2, 3].map(|seed| sample::<F>(seed, n));
            let out = same_everywhere(|| kernel(&a, &b, &c));
            assert_eq!(out.len(), n);
            let wrong = (0..n).find(|&i| out[i] != element(a[i], b[i], c[i]));
            assert_eq!(wrong, None, "of {n}, {} bits", F::BITS);
        }
    }

    fn changed<F: Field>(a: &[F], f: impl Fn(&mut [F])) -> Vec<F> {
        let mut a = a.to_vec();
        f(&mut a);
        a
    }

    fn every_kernel<F: Field>() {
        let k = F::from_i64(-77);
        check::<F, F>(|a, b, _| add(a, b), |a, b, _| a.add(b));
        check::<F, F>(|a, b, _| sub(a, b), |a, b, _| a.sub(b));
        check::<F, F>(|a, b, _| mul(a, b), |a, b, _| a.mul(b));
        check::<F, F>(|a, _, _| neg(a), |a, _, _| a.neg());
        check::<F, F>(|a, _, _| scale(a, k), |a, _, _| a.mul(k));
        check::<F, F>(mul_add, |a, b, c| a.mul(b).add(c));
        check::<F, F>(
            |a, b, _| changed(a, |a| add_assign(a, b)),
            |a, b, _| a.add(b),
        );
        check::<F, F>(
            |a, b, _| changed(a, |a| sub_assign(a, b)),
            |a, b, _| a.sub(b),
        );
        check::<F, F>(
            |a, _, _| changed(a, |a| add_scalar_assign(a, k)),
            |a, _, _| a.add(k),
        );
        check::<F, F>(
            |a, _, _| changed(a, |a| scale_assign(a, k)),
            |a, _, _| a.mul(k),
        );
        check::<F, F>(
            |a, b, c| changed(a, |a| mul_add_assign(a, b, c)),
            |a, b, c| a.add(b.mul(c)),
        );
        check::<F, F>(
            |a, b, _| changed(a, |a| axpy(a, k, b)),
            |a, b, _| a.add(b.mul(k)),
        );
        check::<F, i64>(|a, _, _| decode(a), |a, _, _| a.to_i64());
        check::<F, F>(|a, _, _| encode(&decode(a)), |a, _, _| a);
        check::<F, F>(
            |a, _, _| is_zero(a),
            |a, _, _| if a == F::ZERO { F::ONE } else { F::ZERO },
        );
    }

    #[test]
    fn kernels_are_their_definitions() {
        on_every_field!(every_kernel);
    }

    fn every_integer<F: Field>() {
        let edges = [0, 1, i64::MAX, i64::MAX - 1, 1 << 31, 1 << 61, 1 << 62];
        let values: Vec<i64> = edges
            .into_iter()
            .flat_map(|v| [v, -v, v - 1, -v - 1])
            .chain(
                crate::Prg::new([3; 16])
                    .ring(1000)
                    .into_iter()
                    .map(|v: u64| v as i64),
            )
            .collect();
        let out = same_everywhere(|| encode::<F>(&values));
        assert!(values.iter().zip(out).all(|(v, x)| x == F::from_i64(*v)));
    }

    #[test]
    fn every_integer_has_its_class() {
        on_every_field!(every_integer);
    }

    #[test]
    fn zeros_are_found() {
        use crate::mersenne::F31;
        let v = [3, 0, 5, 0].map(F31::from_u64);
        assert_eq!((find_zeros(&v), find_zeros(&v[..1])), (vec![1, 3], vec![]));
        assert_eq!(gather(&v, &[u32::MAX, 0]), [F31::ZERO, v[0]]);
    }

    #[test]
    #[should_panic]
    fn lengths_must_agree() {
        use crate::mersenne::F61;
        mul_add(&[F61::ONE; 2], &[F61::ONE; 2], &[F61::ONE]);
    }
}

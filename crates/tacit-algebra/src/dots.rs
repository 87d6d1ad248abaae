//! Inner products of pairs of short vectors, of which a polynomial with secret coefficients takes one for each
//! element: as matrix products each would cost far more than its few multiplications.

use crate::isa::{self, simd};
use crate::kernel::Kernels;
use crate::par;

/// `acc[i] += sum of a[i k + t] b[i k + t]` over all `t` below `k`.
///
/// # Panics
/// If the lengths differ, or `k` is 0.
pub(crate) fn accumulate<R: Kernels>(acc: &mut [R], a: &[R], b: &[R], k: usize) {
    assert!(a.len() == acc.len() * k && b.len() == a.len());
    let isa = isa::current();
    par::for_each(acc, |start, acc| {
        let part = start * k..(start + acc.len()) * k;
        add_into(isa, acc, &a[part.clone()], &b[part], k);
    });
}

simd! {
    fn add_into<R: Kernels>(acc: &mut [R], a: &[R], b: &[R], k: usize) {
        for (acc, (a, b)) in acc.iter_mut().zip(a.chunks_exact(k).zip(b.chunks_exact(k))) {
            let products = a.iter().zip(b).map(|(a, b)| a.times(*b));
            *acc = products.fold(*acc, R::plus);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::isa::same_everywhere;
    use crate::{BatchMatMul, MatMul, Prg, Ring, batch_matmul_acc};

    fn check<R: Ring>(n: usize, k: usize) {
        let mut prg = Prg::new([3; 16]);
        let (acc, a, b) = (prg.ring::<R>(n), prg.ring::<R>(n * k), prg.ring::<R>(n * k));
        let each = MatMul { m: 1, k, n: 1 };
        let out = same_everywhere(|| {
            let mut acc = acc.clone();
            batch_matmul_acc(&mut acc, &a, &b, BatchMatMul { batch: n, each });
            acc
        });
        let dot = |i: usize| (i * k..(i + 1) * k).fold(acc[i], |sum, t| sum.add(a[t].mul(b[t])));
        assert!(out == (0..n).map(dot).collect::<Vec<_>>(), "{n} of {k}");
    }

    #[test]
    fn short_and_long_vectors_few_and_many() {
        for k in [0, 1, 2, 3, 7, 8, 9, 16, 33] {
            for n in [0, 1, 5, 64, 1000] {
                check::<u32>(n, k);
                check::<u64>(n, k);
            }
        }
        check::<u64>(70_001, 6);
    }
}

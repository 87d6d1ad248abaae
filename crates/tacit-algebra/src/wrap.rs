//! Sums of components and how often they wrap (Falcon's wrap function; docs/spec/falcon.md,
//! section 4). Throughout, `m = BITS - 1`.

use crate::isa::{self, simd};
use crate::words::top_bits;
use crate::{Bits, Ring, par};

simd! {
    fn masked_add_into<R: Ring>(sum: &mut [R], a: &[R], x: &[R]) {
        for ((s, a), x) in sum.iter_mut().zip(a).zip(x) {
            *s = a.shl(1).shr(1).add(*x);
        }
    }

    fn sum3_into<R: Ring>(sum: &mut [R], a: &[R], b: &[R], c: &[R]) {
        for (((s, a), b), c) in sum.iter_mut().zip(a).zip(b).zip(c) {
            *s = a.add(*b).add(*c);
        }
    }

    /// The top bit where `a + b` exceeds the ring.
    fn exceeds_into<R: Ring>(out: &mut [R], a: &[R], b: &[R]) {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            let exceeds = a.add(*b).to_u64() < a.to_u64();
            *out = R::from_u64(u64::from(exceeds)).shl(R::BITS - 1);
        }
    }

    fn drop_top<R: Ring>(sum: &mut [R]) {
        for s in sum {
            *s = s.shl(1).shr(1);
        }
    }
}

/// Elements that stay in the first-level cache between the passes of a fused step.
const STRIP: usize = 1024;

/// Fills sums by `f(start, part)` and parts them into their low `m` bits and bit `m`.
fn split_sums<R: Ring>(n: usize, f: impl Fn(usize, &mut [R]) + Sync) -> (Vec<R>, Bits) {
    let isa = isa::current();
    let mut sums = vec![R::ZERO; n];
    let mut carries = vec![0; n.div_ceil(64)];
    par::for_each_pair(n, (&mut sums, 64), (&mut carries, 1), |s, sums, carries| {
        let strips = sums.chunks_mut(STRIP).zip(carries.chunks_mut(STRIP / 64));
        for (i, (sums, carries)) in strips.enumerate() {
            f(s + i * STRIP, sums);
            top_bits(isa, carries, sums);
            drop_top(isa, sums);
        }
    });
    (sums, Bits::from_words(n, carries))
}

/// `(a + x) mod 2^m` over the low `m` bits of `a`, and the carry `(a mod 2^m) + x >= 2^m`.
///
/// Every `x` is below `2^m`.
pub fn masked_add<R: Ring>(a: &[R], x: &[R]) -> (Vec<R>, Bits) {
    assert_eq!(a.len(), x.len());
    let isa = isa::current();
    split_sums(a.len(), |s, sum| {
        let e = s + sum.len();
        masked_add_into(isa, sum, &a[s..e], &x[s..e])
    })
}

/// `(a + b) mod 2^m` and the carry, for values below `2^m`.
pub fn sum2<R: Ring>(a: &[R], b: &[R]) -> (Vec<R>, Bits) {
    masked_add(a, b)
}

/// Where `a + b` is not below the ring's size.
pub fn exceeds<R: Ring>(a: &[R], b: &[R]) -> Bits {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    let mut bits = vec![0; a.len().div_ceil(64)];
    par::for_each_unit(a.len(), &mut bits, 1, |s, bits| {
        for (i, bits) in bits.chunks_mut(STRIP / 64).enumerate() {
            let start = s + i * STRIP;
            let end = a.len().min(start + 64 * bits.len());
            let mut top = [R::ZERO; STRIP];
            let top = &mut top[..end - start];
            exceeds_into(isa, top, &a[start..end], &b[start..end]);
            top_bits(isa, bits, top);
        }
    });
    Bits::from_words(a.len(), bits)
}

/// `(a + b + c) mod 2^m` and the parity of `floor((a + b + c) / 2^m)`, for values below `2^m`.
pub fn sum3<R: Ring>(a: &[R], b: &[R], c: &[R]) -> (Vec<R>, Bits) {
    assert!(a.len() == b.len() && a.len() == c.len());
    let isa = isa::current();
    split_sums(a.len(), |s, sum| {
        let e = s + sum.len();
        sum3_into(isa, sum, &a[s..e], &b[s..e], &c[s..e])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::{Prg, vec};

    /// Every pair of low parts and every sign: 2^15 elements at 8 bits.
    #[test]
    fn every_sum_of_two() {
        let all: Vec<u16> = (0..1 << 15).collect();
        let a: Vec<u8> = all.iter().map(|v| *v as u8).collect();
        let x: Vec<u8> = all.iter().map(|v| (v >> 8) as u8).collect();
        let (sum, carry) = same_everywhere(|| masked_add(&a, &x));
        for i in 0..all.len() {
            let wide = (a[i] & 127) as u32 + x[i] as u32;
            assert_eq!((sum[i] as u32, carry.get(i)), (wide % 128, wide >= 128));
        }
        let low = vec::low_bits(&a, 7);
        assert!(sum2(&low, &x) == (sum, carry));
    }

    /// Every pair of 8 bits, and random ones of others.
    #[test]
    fn sums_that_exceed_the_ring() {
        let all: Vec<u32> = (0..1 << 16).collect();
        let [a, b] = [0, 8].map(|at| all.iter().map(|v| (v >> at) as u8).collect::<Vec<_>>());
        let right = Bits::from_fn(all.len(), |i| a[i].checked_add(b[i]).is_none());
        assert!(same_everywhere(|| exceeds(&a, &b)) == right);
        for n in [0, 1, 63, 64, 65, 1025, 40_001] {
            let mut prg = Prg::new([2; 16]);
            let [a, b] = [0; 2].map(|_| prg.ring::<u64>(n));
            let right = Bits::from_fn(n, |i| a[i].checked_add(b[i]).is_none());
            assert!(same_everywhere(|| exceeds(&a, &b)) == right, "{n} elements");
        }
    }

    fn sums<R: Ring>() {
        let modulus = 1u128 << (R::BITS - 1);
        for n in [0, 1, 63, 64, 65, 1025, 40_001] {
            let mut prg = Prg::new([1; 16]);
            let [a, b, c] = [0; 3].map(|_| vec::shr(&prg.ring::<R>(n), 1));
            let (sum, parity) = same_everywhere(|| sum3(&a, &b, &c));
            for i in 0..n {
                let wide = [a[i], b[i], c[i]]
                    .iter()
                    .map(|v| v.to_u64() as u128)
                    .sum::<u128>();
                assert_eq!(sum[i].to_u64() as u128, wide % modulus);
                assert_eq!(parity.get(i), wide / modulus % 2 == 1);
            }
        }
    }

    #[test]
    fn sums_of_three() {
        sums::<u8>();
        sums::<u16>();
        sums::<u32>();
        sums::<u64>();
    }
}

//! Flips of shared bits by public ones, and of a product with such a bit.

use crate::fresh::build;
use crate::isa::{self, simd};
use crate::prime::reduce_once;
use crate::words::expand_bytes_into;
use crate::{Bits, Ring};

simd! {
    fn residues_into(p: u8, out: &mut [u8], x: &[u8], add_bit: bool) {
        let top = p + add_bit as u8;
        for (bit, x) in out.iter_mut().zip(x) {
            *bit = if *bit != 0 { reduce_once(p, top - x) } else { *x };
        }
    }

    fn ring_into<R: Ring>(out: &mut [R], x: &[R], bits: &[u64], add_bit: bool) {
        let one = if add_bit { R::ONE } else { R::ZERO };
        for ((out, x), word) in out.chunks_mut(64).zip(x.chunks(64)).zip(bits) {
            for (j, (out, x)) in out.iter_mut().zip(x).enumerate() {
                *out = if word >> j & 1 != 0 { one.sub(*x) } else { *x };
            }
        }
    }

    fn kept_into<R: Ring>(out: &mut [R], x: &[R], bits: &[u64]) {
        for ((out, x), word) in out.chunks_mut(64).zip(x.chunks(64)).zip(bits) {
            for (j, (out, x)) in out.iter_mut().zip(x).enumerate() {
                *out = R::from_u64(x.to_u64() & (word >> j & 1).wrapping_neg());
            }
        }
    }

    fn bits_less_doubled_into<R: Ring>(out: &mut [R], bits: &[u64], y: &[R]) {
        for ((out, y), word) in out.chunks_mut(64).zip(y.chunks(64)).zip(bits) {
            for (j, (out, y)) in out.iter_mut().zip(y).enumerate() {
                *out = R::from_u64(word >> j & 1).sub(*y).sub(*y);
            }
        }
    }

    fn undo_into<R: Ring>(out: &mut [R], z: &[R], x: &[R], flips: &[u64]) {
        for (((out, z), x), word) in out
            .chunks_mut(64)
            .zip(z.chunks(64))
            .zip(x.chunks(64))
            .zip(flips)
        {
            for (j, ((out, z), x)) in out.iter_mut().zip(z).zip(x).enumerate() {
                *out = if word >> j & 1 != 0 { x.sub(*z) } else { *z };
            }
        }
    }
}

/// Elements that stay in the first-level cache between the passes of a fused step.
const STRIP: usize = 1024;

/// `x (1 - 2b)`, with `add_bit` plus `b`, modulo `p`: the XOR of a shared bit with a public one
/// in the component that carries constants, and in the others.
pub fn residues(p: u8, x: &[u8], b: &Bits, add_bit: bool) -> Vec<u8> {
    assert_eq!(x.len(), b.len());
    let isa = isa::current();
    build(x.len(), |s, out: &mut [u8]| {
        for (i, out) in out.chunks_mut(STRIP).enumerate() {
            let s = s + STRIP * i;
            expand_bytes_into(isa, out, &b.words()[s / 64..]);
            residues_into(isa, p, out, &x[s..s + out.len()], add_bit);
        }
    })
}

/// `x (1 - 2b)`, with `add_bit` plus `b`, over a ring.
pub fn ring<R: Ring>(x: &[R], b: &Bits, add_bit: bool) -> Vec<R> {
    assert_eq!(x.len(), b.len());
    let isa = isa::current();
    build(x.len(), |s, out| {
        ring_into(
            isa,
            out,
            &x[s..s + out.len()],
            &b.words()[s / 64..],
            add_bit,
        )
    })
}

/// `b - 2 y`.
pub fn bits_less_doubled<R: Ring>(b: &Bits, y: &[R]) -> Vec<R> {
    assert_eq!(b.len(), y.len());
    let isa = isa::current();
    build(y.len(), |s, out| {
        bits_less_doubled_into(isa, out, &b.words()[s / 64..], &y[s..s + out.len()])
    })
}

/// `x` where the bit is 1, else 0: their product.
pub fn kept<R: Ring>(x: &[R], b: &Bits) -> Vec<R> {
    assert_eq!(x.len(), b.len());
    let isa = isa::current();
    build(x.len(), |s, out| {
        kept_into(isa, out, &x[s..s + out.len()], &b.words()[s / 64..])
    })
}

/// `x - z` where the flip is 1, else `z`: a product with a bit from that with its complement.
pub fn undo<R: Ring>(z: &[R], x: &[R], flips: &Bits) -> Vec<R> {
    assert!(z.len() == x.len() && z.len() == flips.len());
    let isa = isa::current();
    build(z.len(), |s, out| {
        let e = s + out.len();
        undo_into(isa, out, &z[s..e], &x[s..e], &flips.words()[s / 64..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    #[test]
    fn flips() {
        for n in [0, 1, 63, 64, 65, 1025, 40_001] {
            let mut prg = Prg::new([2; 16]);
            let (x, y, b) = (prg.prime(37, n), prg.ring::<u32>(n), prg.bits(n));
            for one in [0, 1] {
                let out =
                    same_everywhere(|| (residues(37, &x, &b, one == 1), ring(&y, &b, one == 1)));
                for i in 0..n {
                    let expected = if b.get(i) {
                        ((37 + one - x[i]) % 37, (one as u32).wrapping_sub(y[i]))
                    } else {
                        (x[i], y[i])
                    };
                    assert_eq!((out.0[i], out.1[i]), expected, "{i} of {n}");
                }
            }
        }
    }

    #[test]
    fn products_with_bits() {
        for n in [0, 1, 63, 65, 40_001] {
            let mut prg = Prg::new([2; 16]);
            let (x, y, b) = (prg.ring::<u32>(n), prg.ring::<u64>(n), prg.bits(n));
            let less = same_everywhere(|| bits_less_doubled(&b, &x));
            assert!(
                less == crate::vec::less_doubled(&b.expand_ring(), &x),
                "{n}"
            );
            let (x_kept, y_kept) = same_everywhere(|| (kept(&x, &b), kept(&y, &b)));
            assert!(x_kept == crate::vec::mul(&x, &b.expand_ring()), "{n}");
            assert!(y_kept == crate::vec::mul(&y, &b.expand_ring()), "{n}");
        }
    }

    #[test]
    fn flips_are_undone() {
        for n in [0, 1, 63, 65, 40_001] {
            let mut prg = Prg::new([2; 16]);
            let (z, x, t) = (prg.ring::<u32>(n), prg.ring::<u32>(n), prg.bits(n));
            let out = same_everywhere(|| undo(&z, &x, &t));
            for i in 0..n {
                let expected = if t.get(i) {
                    x[i].wrapping_sub(z[i])
                } else {
                    z[i]
                };
                assert_eq!(out[i], expected, "{i} of {n}");
            }
        }
    }
}

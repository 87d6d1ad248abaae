//! Residues modulo a prime `p` of at most 67, one per byte, always in `0..p`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::fresh::{build, build_units};
use crate::isa::{self, simd};
use crate::words::squeeze;
use crate::{Bits, par};

/// Subtracts `p` from a value below `2p` where it is not below `p`.
#[inline(always)]
pub(crate) fn reduce_once(p: u8, v: u8) -> u8 {
    v.min(v.wrapping_sub(p))
}

simd! {
    fn product_to(p: u8, acc: &mut [u8], x0: &[u8], x1: &[u8], y0: &[u8], y1: &[u8]) {
        let (p16, inverse) = (p as u16, (65536 / p as u32) as u16);
        let x = x0.iter().zip(x1);
        let y = y0.iter().zip(y1);
        for ((acc, (&x0, &x1)), (&y0, &y1)) in acc.iter_mut().zip(x).zip(y) {
            // Below 3 p^2 + p < 2^14; the quotient's estimate is at most one too small.
            let v = x0 as u16 * (y0 as u16 + y1 as u16) + x1 as u16 * y0 as u16 + *acc as u16;
            let quotient = ((v as u32 * inverse as u32) >> 16) as u16;
            *acc = reduce_once(p, v.wrapping_sub(quotient.wrapping_mul(p16)) as u8);
        }
    }

    fn add_to(p: u8, a: &mut [u8], b: &[u8]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = reduce_once(p, a.wrapping_add(*b));
        }
    }

    fn sub_to(p: u8, a: &mut [u8], b: &[u8]) {
        for (a, b) in a.iter_mut().zip(b) {
            *a = reduce_once(p, a.wrapping_add(p.wrapping_sub(*b)));
        }
    }
}

/// The local part of a replicated product: `acc = acc + x0 y0 + x1 y0 + x0 y1 mod p`.
pub fn product_assign(p: u8, acc: &mut [u8], x0: &[u8], x1: &[u8], y0: &[u8], y1: &[u8]) {
    assert!([x0, x1, y0, y1].iter().all(|v| v.len() == acc.len()));
    let isa = isa::current();
    par::for_each(acc, |s, acc| {
        let e = s + acc.len();
        product_to(isa, p, acc, &x0[s..e], &x1[s..e], &y0[s..e], &y1[s..e])
    });
}

/// `a + b mod p`.
pub fn add(p: u8, a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = a.to_vec();
    add_assign(p, &mut out, b);
    out
}

/// `a - b mod p`.
pub fn sub(p: u8, a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut out = a.to_vec();
    sub_assign(p, &mut out, b);
    out
}

/// `-a mod p`.
pub fn neg(p: u8, a: &[u8]) -> Vec<u8> {
    let mut out = vec![0; a.len()];
    sub_assign(p, &mut out, a);
    out
}

/// `a = a + b mod p`.
pub fn add_assign(p: u8, a: &mut [u8], b: &[u8]) {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    par::for_each(a, |s, part| add_to(isa, p, part, &b[s..s + part.len()]));
}

/// `a = a - b mod p`.
pub fn sub_assign(p: u8, a: &mut [u8], b: &[u8]) {
    assert_eq!(a.len(), b.len());
    let isa = isa::current();
    par::for_each(a, |s, part| sub_to(isa, p, part, &b[s..s + part.len()]));
}

/// Bits that a residue takes on the wire: 4 for 11, 5 for 19, 6 for 37, 7 for 67.
pub fn packed_bits(p: u8) -> u32 {
    u8::BITS - (p - 1).leading_zeros()
}

/// Bytes that `n` residues take on the wire.
pub fn packed_len(p: u8, n: usize) -> usize {
    (n * packed_bits(p) as usize).div_ceil(8)
}

/// A word with the low `field` bits of every `step` set.
const fn fields(field: usize, step: usize) -> u64 {
    u64::MAX / (u64::MAX >> (64 - step)) * (u64::MAX >> (64 - field))
}

/// Moves the low `BITS` bits of 8 bytes together, neighbours first.
#[inline(always)]
fn close_up<const BITS: usize>(x: u64) -> u64 {
    let gap = 8 - BITS;
    let x = (x & fields(BITS, 16)) | (x >> gap & (fields(BITS, 16) << BITS));
    let x = (x & fields(2 * BITS, 32)) | (x >> (2 * gap) & (fields(2 * BITS, 32) << (2 * BITS)));
    let low = (1 << (4 * BITS)) - 1;
    (x & low) | (x >> (4 * gap) & (low << (4 * BITS)))
}

/// The inverse of [`close_up`].
#[inline(always)]
fn open_up<const BITS: usize>(x: u64) -> u64 {
    let gap = 8 - BITS;
    let low = (1 << (4 * BITS)) - 1;
    let x = (x & low) | (x & (low << (4 * BITS))) << (4 * gap);
    let x = (x & fields(2 * BITS, 32)) | (x & (fields(2 * BITS, 32) << (2 * BITS))) << (2 * gap);
    (x & fields(BITS, 16)) | (x & (fields(BITS, 16) << BITS)) << gap
}

/// Little-endian word of up to 8 bytes.
#[inline(always)]
fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn pack_into<const BITS: usize>(out: &mut [u8], a: &[u8]) {
    let (groups, rest) = a.as_chunks::<8>();
    let (whole, tail) = out.split_at_mut(BITS * groups.len());
    for (out, group) in whole.as_chunks_mut::<BITS>().0.iter_mut().zip(groups) {
        out.copy_from_slice(&close_up::<BITS>(u64::from_le_bytes(*group)).to_le_bytes()[..BITS]);
    }
    tail.copy_from_slice(&close_up::<BITS>(load(rest)).to_le_bytes()[..tail.len()]);
}

/// Whether the bytes were those of [`pack_into`].
fn unpack_into<const BITS: usize>(p: u8, out: &mut [u8], bytes: &[u8]) -> bool {
    const EACH: u64 = fields(1, 8);
    // Has the top bit of every byte that is p or more; no sum leaves its byte.
    let at_least_p = |residues: u64| residues + EACH * (128 - p as u64);
    let mut seen = 0;
    let (groups, rest) = out.as_chunks_mut::<8>();
    let (whole, tail) = bytes.split_at(BITS * groups.len());
    for (group, bytes) in groups.iter_mut().zip(whole.as_chunks::<BITS>().0) {
        let residues = open_up::<BITS>(load(bytes));
        seen |= at_least_p(residues);
        *group = residues.to_le_bytes();
    }
    let last = load(tail);
    let residues = open_up::<BITS>(last);
    seen |= at_least_p(residues);
    rest.copy_from_slice(&residues.to_le_bytes()[..rest.len()]);
    seen & (EACH << 7) == 0 && last >> (BITS * rest.len()) == 0
}

/// Residues for the wire: residue `i` is bits `i w .. (i + 1) w` of the little-endian result,
/// where `w` is [`packed_bits`]; unused bits of the last byte are zero.
pub fn pack(p: u8, a: &[u8]) -> Vec<u8> {
    let bits = packed_bits(p) as usize;
    let pack_into = match bits {
        4 => pack_into::<4>,
        5 => pack_into::<5>,
        6 => pack_into::<6>,
        _ => pack_into::<7>,
    };
    build_units(a.len(), packed_len(p, a.len()), 8 * bits, |s, out| {
        let e = a.len().min(s + out.len() * 8 / bits);
        pack_into(out, &a[s..e]);
    })
}

/// The inverse of [`pack`] for `n` residues; `None` if the length is wrong, a residue is `p` or
/// more, or an unused bit is set.
pub fn unpack(p: u8, bytes: &[u8], n: usize) -> Option<Vec<u8>> {
    let bits = packed_bits(p) as usize;
    if n.checked_mul(bits)?.div_ceil(8) != bytes.len() {
        return None;
    }
    let unpack_into = match bits {
        4 => unpack_into::<4>,
        5 => unpack_into::<5>,
        6 => unpack_into::<6>,
        _ => unpack_into::<7>,
    };
    let good = AtomicBool::new(true);
    let out = build(n, |s, out| {
        let (from, to) = (s * bits / 8, ((s + out.len()) * bits).div_ceil(8));
        if !unpack_into(p, out, &bytes[from..to]) {
            good.store(false, Ordering::Relaxed);
        }
    });
    good.into_inner().then_some(out)
}

/// Bit `i` tells whether residue `i` is not 0.
pub fn is_nonzero(a: &[u8]) -> Bits {
    let nonzero = |residues: u64| squeeze((residues + fields(7, 8)) >> 7 & fields(1, 8)) as u64;
    let mut words = vec![0; a.len().div_ceil(64)];
    par::for_each_unit(a.len(), &mut words, 1, |s, words| {
        for (word, a) in words.iter_mut().zip(a[s..].chunks(64)) {
            let (groups, rest) = a.as_chunks::<8>();
            for (i, group) in groups.iter().enumerate() {
                *word |= nonzero(u64::from_le_bytes(*group)) << (8 * i);
            }
            if !rest.is_empty() {
                *word |= nonzero(load(rest)) << (8 * groups.len());
            }
        }
    });
    Bits::from_words(a.len(), words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    const PRIMES: [u8; 4] = [11, 19, 37, 67];
    const LENGTHS: [usize; 10] = [0, 1, 7, 8, 9, 63, 64, 65, 1000, 70_001];

    #[test]
    fn every_product() {
        for p in PRIMES {
            let all: Vec<u8> = (0..p)
                .flat_map(|x| std::iter::repeat_n(x, p as usize))
                .collect();
            let other: Vec<u8> = (0..p).cycle().take(all.len()).collect();
            for (x1, y1) in [(0, 0), (p - 1, p - 1), (p / 2, 1)] {
                let (x1, y1) = (vec![x1; all.len()], vec![y1; all.len()]);
                let out = same_everywhere(|| {
                    let mut acc = other.clone();
                    product_assign(p, &mut acc, &all, &x1, &other, &y1);
                    acc
                });
                for i in 0..all.len() {
                    let [x0, y0] = [all[i] as u32, other[i] as u32];
                    let (x1, y1) = (x1[i] as u32, y1[i] as u32);
                    let expected = (y0 + x0 * y0 + x1 * y0 + x0 * y1) % p as u32;
                    assert_eq!(out[i] as u32, expected, "p = {p}");
                }
            }
        }
    }

    #[test]
    fn every_sum() {
        for p in PRIMES {
            let a: Vec<u8> = (0..p)
                .flat_map(|x| std::iter::repeat_n(x, p as usize))
                .collect();
            let b: Vec<u8> = (0..p).cycle().take(a.len()).collect();
            let out = same_everywhere(|| (add(p, &a, &b), sub(p, &a, &b), neg(p, &b)));
            for i in 0..a.len() {
                let expected = ((a[i] + b[i]) % p, (a[i] + p - b[i]) % p, (p - b[i]) % p);
                assert_eq!((out.0[i], out.1[i], out.2[i]), expected, "p = {p}");
            }
        }
    }

    #[test]
    fn packing_is_a_bit_string() {
        for (p, bits) in PRIMES.into_iter().zip([4, 5, 6, 7]) {
            assert_eq!(packed_bits(p), bits);
            for n in LENGTHS {
                let a = Prg::new([4; 16]).prime(p, n);
                let packed = pack(p, &a);
                assert_eq!(packed.len(), packed_len(p, n));
                let bit = |i: usize| packed[i / 8] >> (i % 8) & 1;
                let w = bits as usize;
                let read = |j: usize| (0..w).map(|i| bit(j * w + i) << i).sum::<u8>();
                assert!((0..n).all(|j| read(j) == a[j]), "p = {p}, n = {n}");
                assert_eq!(unpack(p, &packed, n), Some(a));
            }
        }
    }

    #[test]
    fn unpacking_refuses_what_packing_never_makes() {
        for p in PRIMES {
            for n in [1, 7, 8, 9, 64, 70_001] {
                let packed = pack(p, &vec![p - 1; n]);
                assert!(unpack(p, &packed, n).is_some());
                for place in [0, n / 2, n - 1] {
                    let mut residues = vec![0; n];
                    residues[place] = p;
                    assert_eq!(
                        unpack(p, &pack(p, &residues), n),
                        None,
                        "p = {p}, {place} of {n}"
                    );
                }
                assert_eq!(unpack(p, &packed[1..], n), None);
                assert_eq!(unpack(p, &[&packed[..], &[0]].concat(), n), None);
                if packed.len() * 8 > n * packed_bits(p) as usize {
                    let mut dirty = packed.clone();
                    dirty[packed.len() - 1] |= 0x80;
                    assert_eq!(unpack(p, &dirty, n), None, "p = {p}, n = {n}");
                }
            }
            assert_eq!(unpack(p, &[], usize::MAX), None);
        }
    }

    #[test]
    fn zeros_are_found() {
        for n in LENGTHS {
            let a = Prg::new([5; 16]).prime(11, n);
            assert!(is_nonzero(&a) == Bits::from_fn(n, |i| a[i] != 0), "n = {n}");
        }
        assert!(is_nonzero(&[0, 1, 66, 127]) == Bits::from_fn(4, |i| i > 0));
    }
}

//! Residues modulo a prime `p` of at most 67, one per byte, always in `0..p`.

use crate::bits::squeeze;
use crate::isa::{self, simd};
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

/// Moves the low `8 >> level` ... fields of `x` together: 8 fields of 8 bits to 8 of `bits`.
#[inline(always)]
fn close_up(x: u64, bits: u32) -> u64 {
    let gap = 8 - bits;
    let low = |field: u32, step: u32| -> u64 {
        // `field` ones at the bottom of every `step` bits
        let ones = (1u64 << field) - 1;
        (0..64 / step).fold(0, |m, i| m | ones << (i * step))
    };
    let x = (x & low(bits, 16)) | (x >> gap & (low(bits, 16) << bits));
    let x = (x & low(2 * bits, 32)) | (x >> (2 * gap) & (low(2 * bits, 32) << (2 * bits)));
    let fields = (1u64 << (4 * bits)) - 1;
    (x & fields) | (x >> (4 * gap) & (fields << (4 * bits)))
}

/// The inverse of [`close_up`].
#[inline(always)]
fn open_up(x: u64, bits: u32) -> u64 {
    let gap = 8 - bits;
    let low = |field: u32, step: u32| -> u64 {
        let ones = (1u64 << field) - 1;
        (0..64 / step).fold(0, |m, i| m | ones << (i * step))
    };
    let fields = (1u64 << (4 * bits)) - 1;
    let x = (x & fields) | (x & (fields << (4 * bits))) << (4 * gap);
    let x = (x & low(2 * bits, 32)) | (x & (low(2 * bits, 32) << (2 * bits))) << (2 * gap);
    (x & low(bits, 16)) | (x & (low(bits, 16) << bits)) << gap
}

/// Little-endian word of up to 8 bytes.
#[inline(always)]
fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Residues for the wire: residue `i` is bits `i w .. (i + 1) w` of the little-endian result,
/// where `w` is [`packed_bits`]; unused bits of the last byte are zero.
pub fn pack(p: u8, a: &[u8]) -> Vec<u8> {
    let bits = packed_bits(p);
    let mut out = vec![0; packed_len(p, a.len())];
    par::for_each_unit(a.len(), &mut out, 8 * bits as usize, |s, out| {
        for (out, a) in out.chunks_mut(bits as usize).zip(a[s..].chunks(8)) {
            out.copy_from_slice(&close_up(load(a), bits).to_le_bytes()[..out.len()]);
        }
    });
    out
}

/// The inverse of [`pack`] for `n` residues; `None` if the length is wrong, a residue is `p` or
/// more, or an unused bit is set.
pub fn unpack(p: u8, bytes: &[u8], n: usize) -> Option<Vec<u8>> {
    let bits = packed_bits(p);
    if n.checked_mul(bits as usize)?.div_ceil(8) != bytes.len() {
        return None;
    }
    let mut out = vec![0; n];
    for (out, bytes) in out.chunks_mut(8).zip(bytes.chunks(bits as usize)) {
        let residues = open_up(load(bytes), bits).to_le_bytes();
        if residues.iter().any(|&v| v >= p) || residues[out.len()..].iter().any(|&v| v != 0) {
            return None;
        }
        out.copy_from_slice(&residues[..out.len()]);
    }
    Some(out)
}

/// Bit `i` tells whether residue `i` is not 0.
pub fn is_nonzero(a: &[u8]) -> Bits {
    let mut words = vec![0u64; a.len().div_ceil(64)];
    par::for_each_unit(a.len(), &mut words, 1, |s, words| {
        for (word, a) in words.iter_mut().zip(a[s..].chunks(64)) {
            for (i, a) in a.chunks(8).enumerate() {
                let top = (load(a) + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101;
                *word |= (squeeze(top) as u64) << (8 * i);
            }
        }
    });
    Bits::from_words(a.len(), words)
}

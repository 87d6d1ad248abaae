//! Polynomials and answers as bytes.

use tacit_algebra::ot::pack::{pack, packed_len, unpack};

use crate::answer::{Answer, Widths};
use crate::basis::{Basis, Poly};

/// The bytes of a polynomial modulo the first primes.
pub fn poly_len(degree: usize, bits: impl Iterator<Item = u32>) -> usize {
    bits.map(|bits| packed_len(degree, bits)).sum()
}

/// A polynomial, prime by prime, each residue in as many bits as its prime has.
pub fn write_poly(basis: &Basis, poly: &Poly, out: &mut Vec<u8>) {
    for (ntt, limb) in basis.ntts().iter().zip(poly.limbs()) {
        out.extend(pack(limb, ntt.modulus().bits()));
    }
}

/// Reads a polynomial modulo the first `primes` primes and drops its bytes; `None` where bytes are
/// missing or no residue.
pub fn read_poly(basis: &Basis, primes: usize, bytes: &mut &[u8]) -> Option<Poly> {
    let n = basis.degree();
    let mut values = Vec::with_capacity(n * primes);
    for ntt in &basis.ntts()[..primes] {
        let m = ntt.modulus();
        let (own, rest) = bytes.split_at_checked(packed_len(n, m.bits()))?;
        *bytes = rest;
        let limb = unpack(own, m.bits(), n);
        if limb.iter().any(|x| *x >= m.value()) {
            return None;
        }
        values.extend(limb);
    }
    Some(Poly::new(n, values))
}

/// The bytes of an answer that opens so many coefficients.
pub fn answer_len(degree: usize, bits: u32, opened: usize) -> usize {
    let widths = Widths::of(degree, bits);
    wide_len(degree, widths.a) + wide_len(opened, widths.b)
}

/// An answer: its first half, then its second.
pub fn write_answer(basis: &Basis, answer: &Answer, bits: u32, out: &mut Vec<u8>) {
    let widths = Widths::of(basis.degree(), bits);
    write_wide(&answer.a, widths.a, out);
    write_wide(&answer.b, widths.b, out);
}

/// Reads an answer and drops its bytes; `None` where some are missing.
pub fn read_answer(basis: &Basis, bits: u32, opened: usize, bytes: &mut &[u8]) -> Option<Answer> {
    let widths = Widths::of(basis.degree(), bits);
    Some(Answer {
        a: read_wide(basis.degree(), widths.a, bytes)?,
        b: read_wide(opened, widths.b, bytes)?,
    })
}

/// How numbers of so many bits are cut: those of a word, and those above.
fn cut(width: u32) -> [u32; 2] {
    [width.min(64), width.saturating_sub(64)]
}

fn wide_len(n: usize, width: u32) -> usize {
    cut(width).map(|bits| packed_len(n, bits)).iter().sum()
}

fn write_wide(values: &[u128], width: u32, out: &mut Vec<u8>) {
    let [low, high] = cut(width);
    let words: Vec<u64> = values.iter().map(|v| *v as u64).collect();
    out.extend(pack(&words, low));
    if high > 0 {
        let words: Vec<u64> = values.iter().map(|v| (v >> 64) as u64).collect();
        out.extend(pack(&words, high));
    }
}

fn read_wide(n: usize, width: u32, bytes: &mut &[u8]) -> Option<Vec<u128>> {
    let (own, rest) = bytes.split_at_checked(wide_len(n, width))?;
    *bytes = rest;
    let [low, high] = cut(width);
    let (first, second) = own.split_at(packed_len(n, low));
    let mut values: Vec<u128> = unpack(first, low, n).into_iter().map(u128::from).collect();
    if high > 0 {
        let upper = unpack(second, high, n);
        let both = values.iter_mut().zip(upper);
        both.for_each(|(v, high)| *v |= u128::from(high) << 64);
    }
    Some(values)
}

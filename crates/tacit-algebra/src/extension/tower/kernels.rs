//! The loops over elements of F_{p^d}.

use super::{LANES, Lanes, Prime, Tower};
use crate::isa::simd;

/// Elements that are multiplied side by side, lane by lane.
const ABREAST: usize = 32;
/// Products that can be added to a residue below 2^16: each is below 2^13 and so is that.
pub(super) const LAZY: usize = 7;
/// Elements whose products are summed in 32 bits: all are below 2^13.
pub(super) const BLOCK: usize = 1 << 10;

/// `X a`.
#[inline(always)]
pub(super) fn shift<F: Prime>(a: &Lanes) -> Lanes {
    let p = F::P as u16;
    let top = a[F::D - 1];
    let mut out = [0; LANES];
    out[1..F::D].copy_from_slice(&a[..F::D - 1]);
    out[0] = top * (p - F::CONSTANT) % p;
    out[F::TERM] = (out[F::TERM] + top * (p - F::LINEAR)) % p;
    out
}

/// `a, X a, X^2 a, ...`.
#[inline(always)]
pub(super) fn multiples<F: Prime>(a: &Lanes) -> [Lanes; LANES] {
    let mut rows = [*a; LANES];
    for i in 1..F::D {
        rows[i] = shift::<F>(&rows[i - 1]);
    }
    rows
}

/// `a` times the element of which `rows` are the multiples, plus `b`.
#[inline(always)]
pub(super) fn product<F: Prime>(a: &Lanes, rows: &[Lanes; LANES], b: &Lanes) -> Lanes {
    // Below D p^2 + p < 2^16 for each of the primes.
    let mut sum = *b;
    for (a, row) in a[..F::D].iter().zip(rows) {
        for (sum, row) in sum.iter_mut().zip(row) {
            *sum += a * row;
        }
    }
    sum.map(|v| v % F::P as u16)
}

/// The coefficients of up to `ABREAST` elements, lane by lane: row `i` has each element's lane `i`.
#[inline(always)]
fn transposed<F: Prime>(x: &[Tower<F>]) -> [[u16; ABREAST]; LANES] {
    let mut lanes = [[0; ABREAST]; LANES];
    for (t, x) in x.iter().enumerate() {
        for (row, v) in lanes.iter_mut().zip(&x.0) {
            row[t] = *v;
        }
    }
    lanes
}

/// The coefficients of the products before they are reduced, modulo `p`.
#[inline(always)]
fn convolve<F: Prime>(
    a: &[[u16; ABREAST]; LANES],
    b: &[[u16; ABREAST]; LANES],
) -> [[u16; ABREAST]; 2 * LANES] {
    let mut wide = [[0; ABREAST]; 2 * LANES];
    for (i, a) in a[..F::D].iter().enumerate() {
        for (wide, b) in wide[i..].iter_mut().zip(&b[..F::D]) {
            for (sum, (a, b)) in wide.iter_mut().zip(a.iter().zip(b)) {
                // Below D p^2 < 2^16 in all.
                *sum += a * b;
            }
        }
    }
    for v in wide[..2 * F::D - 1].as_flattened_mut() {
        *v %= F::P as u16;
    }
    wide
}

/// `wide` modulo the trinomial.
#[inline(always)]
fn remainder<F: Prime>(wide: &mut [[u16; ABREAST]; 2 * LANES]) {
    let p = F::P as u16;
    for k in (F::D..2 * F::D - 1).rev() {
        let (low, high) = wide.split_at_mut(k);
        for v in &mut high[0] {
            *v %= p;
        }
        for (to, factor) in [(0, F::CONSTANT), (F::TERM, F::LINEAR)] {
            for (to, top) in low[k - F::D + to].iter_mut().zip(&high[0]) {
                *to += top * (p - factor);
            }
        }
    }
    for v in wide[..F::D].as_flattened_mut() {
        *v %= p;
    }
}

simd! {
    /// `sums[r][c] += sum_g rows[r][g] columns[c][g]` of residues, for rows of `len` and columns of
    /// which the elements from `start` on are taken.
    pub(super) fn gram(sums: &mut [u64], rows: &[i16], columns: &[Vec<i16>], len: usize, start: usize) {
        for (row, sums) in rows.chunks_exact(len).zip(sums.chunks_exact_mut(columns.len())) {
            for (column, sum) in columns.iter().zip(sums) {
                let products = row.iter().zip(&column[start..start + len]);
                *sum += products.map(|(a, b)| *a as i32 * *b as i32).sum::<i32>() as u64;
            }
        }
    }

    /// `to_g = w_g x_g`.
    pub(super) fn scale<F: Prime>(to: &mut [i16], w: &[i16], x: &[u8]) {
        for ((to, w), x) in to.iter_mut().zip(w).zip(x) {
            *to = (*w as u16 * *x as u16 % F::P as u16) as i16;
        }
    }

    /// `out += sum_j c_j x_j` modulo `p`, of at most [`LAZY`] vectors.
    pub(super) fn add_scaled<F: Prime>(out: &mut [Tower<F>], c: &[Tower<F>], x: &[&[u8]]) {
        for (g, out) in out.iter_mut().enumerate() {
            let mut sum = out.0;
            for (c, x) in c.iter().zip(x) {
                for (sum, c) in sum.iter_mut().zip(&c.0) {
                    *sum += c * x[g] as u16;
                }
            }
            out.0 = sum.map(|v| v % F::P as u16);
        }
    }

    pub(super) fn times_plus_to<F: Prime>(acc: &mut [Tower<F>], rows: &[Lanes; LANES], x: &[Tower<F>]) {
        let (with, without) = acc.split_at_mut(x.len());
        for (acc, x) in with.iter_mut().zip(x) {
            acc.0 = product::<F>(&acc.0, rows, &x.0);
        }
        for acc in without {
            acc.0 = product::<F>(&acc.0, rows, &[0; LANES]);
        }
    }

    /// `u_g = u_g w_g`.
    pub(super) fn multiply<F: Prime>(u: &mut [Tower<F>], w: &[Tower<F>]) {
        for (u, w) in u.chunks_mut(ABREAST).zip(w.chunks(ABREAST)) {
            let mut wide = convolve::<F>(&transposed(u), &transposed(w));
            remainder::<F>(&mut wide);
            for (t, u) in u.iter_mut().enumerate() {
                for (to, row) in u.0[..F::D].iter_mut().zip(&wide) {
                    *to = row[t];
                }
            }
        }
    }
}

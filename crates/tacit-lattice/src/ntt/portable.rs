//! Transforms in plain Rust.

use super::{Ntt, Twiddles};
use crate::modulus::{Modulus, WORD};

const LOW: u64 = (1 << WORD) - 1;

/// `y w` below `2 p`, `y` below `2^52`.
#[inline(always)]
fn times(y: u64, value: u64, ratio: u64, p: u64) -> u64 {
    let quotient = ((u128::from(y) * u128::from(ratio)) >> WORD) as u64;
    y.wrapping_mul(value).wrapping_sub(quotient.wrapping_mul(p)) & LOW
}

/// `x`, less `bound` where it is not below it; `x` below twice that.
#[inline(always)]
fn below(x: u64, bound: u64) -> u64 {
    x.min(x.wrapping_sub(bound))
}

/// One layer of butterflies of span `t`, of which `m` twiddles are used.
fn layer(values: &mut [u64], (m, t): (usize, usize), twiddles: &Twiddles, p: u64) {
    for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
        let (value, ratio) = (twiddles.value[m + i], twiddles.ratio[m + i]);
        let (left, right) = block.split_at_mut(t);
        for (x, y) in left.iter_mut().zip(right) {
            let (a, b) = (below(*x, 2 * p), times(*y, value, ratio, p));
            (*x, *y) = (a + b, a + 2 * p - b);
        }
    }
}

/// One layer of inverse butterflies.
fn layer_back(values: &mut [u64], (m, t): (usize, usize), twiddles: &Twiddles, p: u64) {
    for (i, block) in values.chunks_exact_mut(2 * t).enumerate() {
        let (value, ratio) = (twiddles.value[m + i], twiddles.ratio[m + i]);
        let (left, right) = block.split_at_mut(t);
        for (x, y) in left.iter_mut().zip(right) {
            let (sum, difference) = (*x + *y, *x + 2 * p - *y);
            (*x, *y) = (below(sum, 2 * p), times(difference, value, ratio, p));
        }
    }
}

pub fn forward(ntt: &Ntt, values: &mut [u64]) {
    let p = ntt.modulus.value();
    let (mut m, mut t) = (1, ntt.degree / 2);
    while t > 0 {
        layer(values, (m, t), &ntt.forward, p);
        (m, t) = (2 * m, t / 2);
    }
    for x in values {
        *x = below(below(*x, 2 * p), p);
    }
}

pub fn backward(ntt: &Ntt, values: &mut [u64]) {
    let p = ntt.modulus.value();
    let (mut m, mut t) = (ntt.degree / 2, 1);
    while m > 0 {
        layer_back(values, (m, t), &ntt.backward, p);
        (m, t) = (m / 2, 2 * t);
    }
    for x in values {
        *x = below(times(*x, ntt.last.value[0], ntt.last.ratio[0], p), p);
    }
}

pub fn multiply_add(low: &mut [u64], high: &mut [u64], x: &[u64], y: &[u64]) {
    let sums = low.iter_mut().zip(high);
    for ((low, high), (x, y)) in sums.zip(x.iter().zip(y)) {
        let product = u128::from(*x) * u128::from(*y);
        *low += product as u64 & LOW;
        *high += (product >> WORD) as u64;
    }
}

pub fn join(modulus: &Modulus, low: &mut [u64], high: &[u64]) {
    for (low, high) in low.iter_mut().zip(high) {
        *low = modulus.joined(*low, *high);
    }
}

pub fn multiply(modulus: &Modulus, to: &mut [u64], from: &[u64], c: u64) {
    let c = modulus.factor(c);
    for (to, from) in to.iter_mut().zip(from) {
        *to = modulus.times(*from, c);
    }
}

pub fn signed(modulus: &Modulus, to: &mut [u64], from: &[i64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = modulus.signed(*from);
    }
}

#[inline(always)]
pub fn add(modulus: &Modulus, x: &mut [u64], y: &[u64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = modulus.add(*x, *y);
    }
}

#[inline(always)]
pub fn sub(modulus: &Modulus, x: &mut [u64], y: &[u64]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = modulus.sub(*x, *y);
    }
}

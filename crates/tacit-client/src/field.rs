//! Integers modulo `2^l - 1` for `l` of 31 or 61.

use crate::{Refusal, random};

/// The bytes of an element.
pub fn width(bits: u32) -> usize {
    bits.div_ceil(32) as usize * 4
}

/// The order of the field, `2^bits - 1`, a prime for 31 and 61.
pub fn order(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// `a + b`.
pub fn add(bits: u32, a: u64, b: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(order(bits))) as u64
}

/// `a b`.
pub fn mul(bits: u32, a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) % u128::from(order(bits))) as u64
}

/// The inverse of what is not 0, by Fermat's little theorem.
pub fn inverse(bits: u32, a: u64) -> u64 {
    let (mut power, mut base, mut left) = (1, a, order(bits) - 2);
    while left > 0 {
        if left & 1 == 1 {
            power = mul(bits, power, base);
        }
        base = mul(bits, base, base);
        left >>= 1;
    }
    power
}

/// The element of a number.
pub fn of(bits: u32, v: i64) -> u64 {
    v.rem_euclid(order(bits) as i64) as u64
}

/// The number of an element: at most half of the order, positive or negative.
pub fn signed(bits: u32, a: u64) -> i64 {
    match a > order(bits) / 2 {
        true => a as i64 - order(bits) as i64,
        false => a as i64,
    }
}

/// `n` elements nobody can guess: words of `l` bits, but for the one that is the order.
pub fn random(bits: u32, n: usize) -> Result<Vec<u64>, Refusal> {
    let mut elements = Vec::with_capacity(n);
    while elements.len() < n {
        let drawn = random::words(n - elements.len(), 8)?;
        let short = drawn.into_iter().map(|word| word & order(bits));
        elements.extend(short.filter(|&word| word != order(bits)));
    }
    Ok(elements)
}

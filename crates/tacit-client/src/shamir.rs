//! Values of polynomials whose constant terms are the numbers.

use crate::field::{add, inverse, mul, of, order, random, signed, width};
use crate::{Refusal, ring};

/// The point of a party.
fn point(party: usize) -> u64 {
    party as u64 + 1
}

/// A body for each party: the values at its point, by Horner's rule.
pub fn split(
    bits: u32,
    parties: usize,
    threshold: usize,
    values: &[i64],
) -> Result<Vec<Vec<u8>>, Refusal> {
    let higher = random(bits, threshold * values.len())?;
    let value = |(i, &v): (usize, &i64), x: u64| {
        let own = &higher[i * threshold..(i + 1) * threshold];
        let rest = own
            .iter()
            .fold(0, |sum, &c| mul(bits, add(bits, sum, c), x));
        add(bits, rest, of(bits, v))
    };
    let body = |party: usize| {
        let words = values.iter().enumerate();
        let words: Vec<u64> = words.map(|one| value(one, point(party))).collect();
        ring::write(width(bits), &words)
    };
    Ok((0..parties).map(body).collect())
}

/// The numbers; all answers must lie on one polynomial of the degree.
pub fn join(bits: u32, threshold: usize, answers: &[&[u8]]) -> Result<Vec<i64>, Refusal> {
    let read = |answer: &&[u8]| ring::read(width(bits), answer);
    let shares: Vec<Vec<u64>> = answers.iter().map(read).collect();
    let canonical = |share: &Vec<u64>| share.iter().all(|&word| word < order(bits));
    if let Some(party) = shares.iter().position(|share| !canonical(share)) {
        let other = (party + 1) % shares.len();
        return Err(Refusal::Contradiction { one: party, other });
    }
    let basis = &shares[..=threshold];
    for (party, share) in shares.iter().enumerate().skip(threshold + 1) {
        if combined(bits, basis, point(party)) != *share {
            return Err(Refusal::Contradiction {
                one: party,
                other: 0,
            });
        }
    }
    let values = combined(bits, basis, 0);
    Ok(values.into_iter().map(|a| signed(bits, a)).collect())
}

/// The values at `x` of the polynomials through the shares of the first parties (Lagrange).
fn combined(bits: u32, basis: &[Vec<u64>], x: u64) -> Vec<u64> {
    let p = order(bits);
    let minus = |a: u64, b: u64| add(bits, a, p - b);
    let weight = |i: usize| {
        let others = (0..basis.len()).filter(|&j| j != i);
        others.fold(1, |product, j| {
            let above = minus(x, point(j));
            let below = inverse(bits, minus(point(i), point(j)));
            mul(bits, product, mul(bits, above, below))
        })
    };
    let weights: Vec<u64> = (0..basis.len()).map(weight).collect();
    let n = basis.first().map_or(0, Vec::len);
    let value = |at: usize| {
        let terms = basis.iter().zip(&weights);
        terms.fold(0, |sum, (share, &w)| {
            add(bits, sum, mul(bits, share[at], w))
        })
    };
    (0..n).map(value).collect()
}

//! Three components, each held by two of three parties.

use crate::{Refusal, SALT, random, ring};

/// A body for each party: components `i` and `i + 1` with their salts.
pub fn split(bits: u32, values: &[i64]) -> Result<Vec<Vec<u8>>, Refusal> {
    let width = ring::width(bits);
    let n = values.len();
    let (first, second) = (random::words(n, width)?, random::words(n, width)?);
    let masks = first.iter().zip(&second).map(|(a, b)| a.wrapping_add(*b));
    let rest: Vec<u64> = (values.iter().zip(masks))
        .map(|(&v, mask)| ring::low(bits, (v as u64).wrapping_sub(mask)))
        .collect();
    let salted = |words: Vec<u64>| -> Result<Vec<u8>, Refusal> {
        Ok([random::bytes(SALT)?, ring::write(width, &words)].concat())
    };
    let components = [salted(first)?, salted(second)?, salted(rest)?];
    let body = |party: usize| [&components[party][..], &components[(party + 1) % 3]].concat();
    Ok((0..3).map(body).collect())
}

/// The sums of the components, of which both holders must give the same.
pub fn join(bits: u32, answers: &[&[u8]]) -> Result<Vec<i64>, Refusal> {
    let halves: Vec<(&[u8], &[u8])> = (answers.iter())
        .map(|answer| answer.split_at(answer.len() / 2))
        .collect();
    for one in 0..3 {
        let other = (one + 1) % 3;
        if halves[one].1 != halves[other].0 {
            return Err(Refusal::Contradiction { one, other });
        }
    }
    let components: Vec<&[u8]> = halves.iter().map(|(own, _)| *own).collect();
    Ok(ring::join(bits, ring::width(bits), &components))
}

//! Products element by element.

use super::Gf;
use crate::isa::{self, simd};
use crate::{BitRows, par};

/// Words of a plane that are worked on at once: a register of AVX-512.
const LANES: usize = 8;

type Lane = [u64; LANES];

/// The words of a plane from `at` on; missing ones are 0.
#[inline(always)]
fn load(plane: &[u64], at: usize) -> Lane {
    match plane[at..].first_chunk() {
        Some(whole) => *whole,
        None => {
            let mut lane = [0; LANES];
            let rest = &plane[at..];
            lane[..rest.len()].copy_from_slice(rest);
            lane
        }
    }
}

/// `acc += x y` for the `K` planes of one value, which are `words` long.
#[inline(always)]
fn value<const K: usize>(acc: &mut [u64], x: &[u64], y: &[u64], words: usize) {
    let modulus = const { Gf::modulus(K) };
    for at in (0..words).step_by(LANES) {
        let planes = |v: &[u64]| -> [Lane; K] {
            std::array::from_fn(|b| load(&v[b * words..(b + 1) * words], at))
        };
        let (x, y) = (planes(x), planes(y));
        let mut wide = [[0u64; LANES]; 11];
        for a in 0..K {
            for b in 0..K {
                let both = x[a].iter().zip(&y[b]);
                let sums = wide[a + b].iter_mut().zip(both);
                sums.for_each(|(sum, (x, y))| *sum ^= x & y);
            }
        }
        for high in (K..2 * K - 1).rev() {
            let reduced = wide[high];
            for b in (0..K).filter(|b| modulus >> b & 1 == 1) {
                let sums = wide[high - K + b].iter_mut().zip(&reduced);
                sums.for_each(|(sum, high)| *sum ^= high);
            }
        }
        for (b, wide) in wide[..K].iter().enumerate() {
            let plane = &mut acc[b * words..(b + 1) * words][at..];
            let plane = plane.iter_mut().zip(wide);
            plane.for_each(|(acc, product)| *acc ^= product);
        }
    }
}

simd! {
    fn value_into(acc: &mut [u64], x: &[u64], y: &[u64], words: usize, k: usize) {
        match k {
            2 => value::<2>(acc, x, y, words),
            3 => value::<3>(acc, x, y, words),
            4 => value::<4>(acc, x, y, words),
            5 => value::<5>(acc, x, y, words),
            _ => value::<6>(acc, x, y, words),
        }
    }
}

/// `acc += x y` for values of `k` planes.
pub(super) fn mul_add(k: usize, acc: &mut BitRows, x: &BitRows, y: &BitRows) {
    let words = acc.words_per_row();
    if words == 0 {
        return;
    }
    let (isa, len) = (isa::current(), k * words);
    par::for_each_strip(acc.words_mut(), len, len, |value, acc| {
        let at = value * len..(value + 1) * len;
        value_into(isa, acc, &x.words()[at.clone()], &y.words()[at], words, k)
    });
}

#[cfg(test)]
mod tests {
    use super::super::{MOST_BITS, Sliced, map::tests::elements};
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;

    #[test]
    fn products_are_those_of_the_field() {
        for k in 2..=MOST_BITS {
            let gf = Gf::new(k);
            for (values, cols) in [
                (1, 1),
                (3, 64),
                (2, 511),
                (2, 513),
                (1, 5000),
                (0, 7),
                (2, 0),
            ] {
                let draw = |seed: u8| {
                    let planes = Prg::new([seed; 16]).bit_rows(values * k, cols);
                    Sliced::new(gf, planes)
                };
                let (x, y, r) = (draw(1), draw(2), draw(3));
                let out = same_everywhere(|| Sliced::mul_add(&x, &y, r.clone()));
                let [x, y, r, out] = [x, y, r, out].map(|v| elements(&v));
                for i in 0..out.len() {
                    assert_eq!(out[i], gf.mul(x[i], y[i]) ^ r[i], "{i} in 2^{k}");
                }
            }
        }
    }
}

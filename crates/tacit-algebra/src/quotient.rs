//! The local steps of a truncation by `d` bits whose mask nobody deals: one party knows `u`, two others
//! `v`, and `x + 2^{l-2} = u + v` modulo `2^l` for `-2^{l-2} <= x < 2^{l-2}` (docs/spec/adder.md, section
//! 6). With their top bits `mu` and `mv`, `u + v` wraps by `mu + mv - mu mv`, so
//!
//! `x >> d = (u >> d) + ceil(v / 2^d) - 2^{l-d} (mu + mv - mu mv) - 2^{l-2-d}`, or one more.
//!
//! What is multiplied by `2^{l-d}` counts modulo `2^d`: it is held in the top `d` bits of a word, whose
//! other bits are 0, so that its arithmetic is the ring's.
//!
//! Or every component of `x + 2^{l-2}` is rounded by itself, and the wraps of their sum are given (section
//! 7): [`rounded`].

use crate::Ring;
use crate::fresh::{build, build_units};
use crate::isa::{self, simd};
use crate::ot::pack::{pack, packed_len, unpack};

fn top<R: Ring>(d: u32) -> R {
    R::ZERO.sub(R::ONE).shl(R::BITS - d)
}

simd! {
    fn known_into<R: Ring>(out: &mut [R], own: &[R], next: &[R], mask: &[R], d: u32) {
        for (((out, own), next), mask) in out.iter_mut().zip(own).zip(next).zip(mask) {
            let u = own.add(*next);
            *out = u.shr(d).sub(u.shr(R::BITS - 1).shl(R::BITS - d)).sub(*mask);
        }
    }

    fn carry_into<R: Ring>(out: &mut [R], own: &[R], next: &[R], mask: &[R], d: u32) {
        for (((out, own), next), mask) in out.iter_mut().zip(own).zip(next).zip(mask) {
            let u = own.add(*next);
            *out = u.shr(R::BITS - 1).shl(R::BITS - d).sub(mask.and(top(d)));
        }
    }

    fn choose_into<R: Ring>(out: &mut [R], v: &[R], carry: &[R], mask: &[R], d: u32) {
        let offset = R::ONE.shl(R::BITS - 2);
        for (((out, v), carry), mask) in out.iter_mut().zip(v).zip(carry).zip(mask) {
            let chosen = R::ZERO.sub(v.add(offset).shr(R::BITS - 1));
            *out = carry.and(chosen).and(top(d)).sub(mask.and(top(d)));
        }
    }

    fn rest_into<R: Ring>(out: &mut [R], v: &[R], masks: [&[R]; 2], d: u32) {
        let (offset, gap) = (R::ONE.shl(R::BITS - 2), R::ONE.shl(R::BITS - 2 - d));
        for (((out, v), rho), sigma) in out.iter_mut().zip(v).zip(masks[0]).zip(masks[1]) {
            let v = v.add(offset);
            // Any low bit makes the quotient one more.
            let up = v.shl(R::BITS - d);
            let up = R::ONE.and(up.or(R::ZERO.sub(up)).shr(R::BITS - 1));
            let wrap = v.shr(R::BITS - 1).shl(R::BITS - d);
            let masks = rho.and(top(d)).add(sigma.and(top(d)));
            *out = v.shr(d).add(up).sub(wrap).add(masks).sub(gap);
        }
    }

    fn rounded_into<R: Ring>(out: &mut [R], x: &[R], wraps: &[R], d: u32, gap: R) {
        let below_half = R::ONE.shl(d - 1).sub(R::ONE);
        for ((out, x), wraps) in out.iter_mut().zip(x).zip(wraps) {
            let kept = x.shr(d);
            let low = x.sub(kept.shl(d));
            // Of two that are as near the even one.
            let up = low.add(below_half).add(kept.and(R::ONE)).shr(d);
            *out = kept.add(up).sub(wraps.shl(R::BITS - d)).sub(gap);
        }
    }
}

/// `(u >> d) - 2^{l-d} mu - mask` for `u = own + next`.
pub fn known<R: Ring>([own, next]: [&[R]; 2], mask: &[R], d: u32) -> Vec<R> {
    from([own, next, mask], d, known_into)
}

/// `2^{l-d} mu`, less the top bits of the mask.
pub fn carry<R: Ring>([own, next]: [&[R]; 2], mask: &[R], d: u32) -> Vec<R> {
    from([own, next, mask], d, carry_into)
}

/// A summand of `2^{l-d} mu` times `mv`, less the top bits of the mask; of a summand the top bits count.
pub fn choose<R: Ring>(v: &[R], carry: &[R], mask: &[R], d: u32) -> Vec<R> {
    from([v, carry, mask], d, choose_into)
}

/// `ceil(v / 2^d) - 2^{l-d} mv - 2^{l-2-d}` and the top bits of both masks.
pub fn rest<R: Ring>(v: &[R], [rho, sigma]: [&[R]; 2], d: u32) -> Vec<R> {
    from([v, rho, sigma], d, |isa, out, v, rho, sigma, d| {
        rest_into(isa, out, v, [rho, sigma], d)
    })
}

/// The multiple of `2^d` that is nearest to `x`, divided by that, less `2^{l-d}` times the wraps; of the
/// `constant` component `2^{l-2-d}` less.
pub fn rounded<R: Ring>(x: &[R], wraps: &[R], d: u32, constant: bool) -> Vec<R> {
    assert!(x.len() == wraps.len() && 0 < d && d <= R::BITS - 2);
    let gap = match constant {
        true => R::ONE.shl(R::BITS - 2 - d),
        false => R::ZERO,
    };
    let isa = isa::current();
    build(x.len(), |s, out| {
        let at = s..s + out.len();
        rounded_into(isa, out, &x[at.clone()], &wraps[at], d, gap)
    })
}

fn from<R: Ring>(
    [a, b, c]: [&[R]; 3],
    d: u32,
    kernel: impl Fn(isa::Isa, &mut [R], &[R], &[R], &[R], u32) + Sync,
) -> Vec<R> {
    assert!(a.len() == b.len() && b.len() == c.len() && 0 < d && d <= R::BITS - 2);
    let isa = isa::current();
    build(a.len(), |s, out| {
        let at = s..s + out.len();
        kernel(isa, out, &a[at.clone()], &b[at.clone()], &c[at], d)
    })
}

/// The top `d` bits of every word, as bytes.
pub fn tops_to_bytes<R: Ring>(words: &[R], d: u32) -> Vec<u8> {
    let tops: Vec<u64> = build(words.len(), |s, out| {
        let words = &words[s..s + out.len()];
        let top = |word: &R| word.shr(R::BITS - d).to_u64();
        out.iter_mut()
            .zip(words)
            .for_each(|(out, word)| *out = top(word));
    });
    pack(&tops, d)
}

/// The inverse of [`tops_to_bytes`] for `n` words; `None` if there are not as many bytes, or an unused
/// bit is set.
pub fn tops_from_bytes<R: Ring>(n: usize, bytes: &[u8], d: u32) -> Option<Vec<R>> {
    let used = n * d as usize % 8;
    let clean = used == 0 || bytes.last().is_some_and(|last| last >> used == 0);
    (bytes.len() == packed_len(n, d) && clean).then(|| {
        let tops = unpack(bytes, d, n);
        build_units(n, n, 64, |s, out: &mut [R]| {
            let tops = &tops[s..s + out.len()];
            let word = |top: &u64| R::from_u64(*top).shl(R::BITS - d);
            out.iter_mut()
                .zip(tops)
                .for_each(|(out, top)| *out = word(top));
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::{Prg, vec};

    /// Every value of the gap's range under every mask: within one of the floor, and the sum of all
    /// errors against the true quotient is 0.
    #[test]
    fn every_value_under_every_mask() {
        for d in 1..=6u32 {
            for x in -64i8..64 {
                let v: Vec<u8> = (0..=255).collect();
                let own: Vec<u8> = v.iter().map(|v| (x as u8).wrapping_sub(*v)).collect();
                let next = vec![0; 256];
                let draw = |seed| Prg::new([seed; 16]).ring::<u8>(256);
                let [a, m, rho, sigma] = [1, 2, 3, 4].map(draw);
                let quotients = same_everywhere(|| {
                    let u = [&own[..], &next];
                    // The first summand of the carry is the top of `m`.
                    let (a_1, m_1) = (known(u, &a, d), carry(u, &m, d));
                    let left = vec::add(&a, &choose(&v, &m, &rho, d));
                    let right = vec::add(&a_1, &choose(&v, &m_1, &sigma, d));
                    let rest = rest(&v, [&rho, &sigma], d);
                    vec::add(&vec::add(&left, &right), &rest)
                });
                let errors = quotients
                    .iter()
                    .map(|q| i32::from(*q as i8) - i32::from(x >> d));
                let errors: Vec<i32> = errors.collect();
                assert!(errors.iter().all(|e| [0, 1].contains(e)), "{x} >> {d}");
                let low = i32::from(x) - (i32::from(x >> d) << d);
                assert_eq!(errors.iter().sum::<i32>() << d, 256 * low, "{x} >> {d}");
            }
        }
    }

    /// Every value of the gap's range as the sum of three components, of which two are anything: off the true
    /// quotient by at most a half for each, and not at all on average.
    #[test]
    fn every_value_of_every_three_components() {
        for d in 1..=6u32 {
            for x in -64i32..64 {
                let (mut sum, mut most) = (0, 0);
                for first in 0..=255u8 {
                    let second: Vec<u8> = (0..=255).collect();
                    let last = |v: &u8| {
                        (x as u8)
                            .wrapping_add(64)
                            .wrapping_sub(first)
                            .wrapping_sub(*v)
                    };
                    let third: Vec<u8> = second.iter().map(last).collect();
                    let total =
                        |(a, b): (&u8, &u8)| u32::from(first) + u32::from(*a) + u32::from(*b);
                    let sums = second.iter().zip(&third).map(total);
                    let wraps: Vec<u8> = sums.map(|sum| (sum >> 8) as u8).collect();
                    let none = vec![0; 256];
                    let quotients = same_everywhere(|| {
                        let known = rounded(&[first; 256], &wraps, d, true);
                        let others = [&second, &third].map(|v| rounded(v, &none, d, false));
                        vec::add3(&known, &others[0], &others[1])
                    });
                    for q in quotients {
                        let error = (i32::from(q as i8) << d) - x;
                        sum += error;
                        most = most.max(error.abs());
                    }
                }
                assert_eq!(sum, 0, "{x} / 2^{d}");
                assert!(2 * most <= 3 << d, "{x} / 2^{d}: off by {most}");
            }
        }
    }

    #[test]
    fn tops_come_back_and_other_bytes_are_refused() {
        for (d, n) in [(1, 13), (13, 70), (30, 70_001)] {
            let words: Vec<u32> = Prg::new([5; 16]).ring(n);
            let tops = vec::shl(&vec::shr(&words, 32 - d), 32 - d);
            let bytes = tops_to_bytes(&words, d);
            assert!(tops_from_bytes(n, &bytes, d) == Some(tops));
            assert!(tops_from_bytes::<u32>(n, &bytes[1..], d).is_none());
            let mut spoiled = bytes;
            if let (used @ 1.., Some(last)) = (n * d as usize % 8, spoiled.last_mut()) {
                *last |= 1 << used;
                assert!(tops_from_bytes::<u32>(n, &spoiled, d).is_none());
            }
        }
    }
}

//! The entries of a summand (Algorithm 7, steps 1 to 8, corrected).

use super::lane::{Lane, Modulus, switch, with_lane};
use super::pack::{pack, words_for};
use super::{Form, STRIP, Window};
use crate::isa::{self, Isa, simd};
use crate::prg::Parts;
use crate::{Bits, Prg, Ring, par};

/// `a`, or `c - a` where `flip` is not zero: a select, not a branch.
#[inline(always)]
fn flipped<R: Ring>(a: R, flip: u64, c: R) -> R {
    if flip != 0 { c.sub(a) } else { a }
}

simd! {
    /// What the summand's `u_i` are bits of: that of x', negated where t is set. The second summand
    /// is negated, cut and negated, and so gives the negative of that, and `-u_i`.
    fn bits_into<R: Ring, L: Lane>(
        out: &mut [L::Bits],
        share: &[R],
        t: &[u64],
        window: &Window,
        first: bool,
    ) {
        let k = window.dropped();
        let corrected = window.form() == Form::Corrected;
        for ((out, share), t) in out.chunks_mut(64).zip(share.chunks(64)).zip(t) {
            for (j, (out, share)) in out.iter_mut().zip(share).enumerate() {
                let t = t >> j & 1;
                let (a, low) = match first {
                    true => (*share, 1),
                    false => (share.neg(), 0),
                };
                *out = if corrected {
                    // -(2 y + 1) = 2 (-1 - y) + 1 in the first, and -(2 y) = 2 (-y) in the second.
                    let y = flipped(a.shr(k), t, R::from_i64(-(low as i64)));
                    L::bits(y.to_u64(), Some(low))
                } else {
                    L::bits(flipped(a, t, R::ZERO).shr(k).to_u64(), None)
                };
            }
        }
    }

    /// One masked entry of every element, the one at `index`, which moves on.
    fn entries_into<L: Lane>(
        out: &mut [L],
        bits: &[L::Bits],
        index: &mut [u16],
        masks: (&[L], &[L]),
        step: &Step<L>,
    ) {
        let n = out.len();
        let (bits, index, r, rho) = (&bits[..n], &mut index[..n], &masks.0[..n], &masks.1[..n]);
        for j in 0..n {
            let i = index[j];
            // v_i = u_i + u_{i+1} - 1, without u_{i+1} in the last entry; of the second summand its
            // negative, without the constant.
            let u = L::cut(bits[j], i);
            let next = if i == step.last { L::ZERO } else { u.shr(1) };
            let v = switch(u.add(next).sub(step.one), step.mask);
            // The lane's power of two that the product loses only makes another r_i.
            let masked = step.modulus.add(step.modulus.mul(r[j], v), rho[j]);
            out[j] = step.modulus.signed(step.first, masked);
            index[j] = if i == step.last { 0 } else { i + 1 };
        }
    }
}

/// What the entries of all elements have in common.
struct Step<L> {
    first: bool,
    modulus: Modulus<L>,
    /// `2^m - 1`.
    mask: L,
    /// The public constant: only the first summand loses it.
    one: L,
    /// The index of the last entry.
    last: u16,
}

impl<L: Lane> Step<L> {
    fn new(window: &Window, first: bool) -> Self {
        Step {
            first,
            modulus: Modulus::new(window.prime()),
            mask: L::from_u64((1 << window.m()) - 1),
            one: L::from_u64(first as u64),
            last: window.entries() as u16 - 1,
        }
    }

    /// The entries of a strip: position `q` of element `j` is lane `q n + j`.
    fn strip(&self, isa: Isa, bits: &[L::Bits], mut index: Vec<u16>, masks: [&[L]; 2]) -> Vec<u64> {
        let (n, [r, rho]) = (bits.len(), masks);
        let mut words = words_for::<L>(r.len());
        let rows = bytemuck::cast_slice_mut(&mut words)[..r.len()].chunks_mut(n);
        for (out, masks) in rows.zip(r.chunks(n).zip(rho.chunks(n))) {
            entries_into(isa, out, bits, &mut index, masks, self);
        }
        words
    }
}

/// The packed entries of a lane's width.
fn masked<R: Ring, L: Lane>(
    window: &Window,
    first: bool,
    share: &[R],
    t: &Bits,
    common: &Parts,
) -> Vec<u8> {
    let isa = isa::current();
    let entries = window.entries();
    let (step, p) = (Step::<L>::new(window, first), L::from_u64(window.prime()));
    let mut out = vec![0; window.wire_len(share.len())];
    par::for_each_strip(
        &mut out,
        window.wire_len(STRIP),
        STRIP * entries,
        |i, out| {
            let share = &share[i * STRIP..share.len().min((i + 1) * STRIP)];
            let n = share.len();
            let mut bits = vec![bytemuck::Zeroable::zeroed(); n];
            let t = &t.words()[i * STRIP / 64..];
            bits_into::<R, L>(isa, &mut bits, share, t, window, first);
            let mut prg = common.part(i);
            let rotation = prg.below(isa, entries as u16, 0, n);
            let r = prg.below(isa, p.sub(L::ONE), L::ONE, entries * n);
            let rho = prg.below(isa, p, L::ZERO, entries * n);
            let words = step.strip(isa, &bits, rotation, [&r, &rho]);
            pack::<L>(isa, out, words, window.entry_bits());
        },
    );
    out
}

/// The masked entries of the first summand or the second, packed to [`Window::wire_len`] bytes, where
/// the bits `t` flip the signs: Algorithm 7, steps 1 to 8, in the window's form.
///
/// Both summands take the same `t` and generators in the same state, which the rotations, the `r_i`
/// and the sharings of zero are drawn from; every strip of 512 elements draws its own. In the
/// message, strips follow each other; in a strip of `n` elements, position `q` of element `j` is
/// entry `q n + j`, of [`Window::entry_bits`] bits.
///
/// # Panics
/// If the window was made for another ring, or `t` has another length.
pub fn masked_entries<R: Ring>(
    window: &Window,
    first: bool,
    share: &[R],
    t: &Bits,
    common: &mut Prg,
) -> Vec<u8> {
    assert!(window.is_over::<R>(), "the window is of another ring");
    assert_eq!(share.len(), t.len());
    let parts = common.parts();
    with_lane!(window.m(), L => masked::<R, L>(window, first, share, t, &parts))
}

/// The residues of [`masked_entries`] without rotation, masks and packing: `[i][element]`.
#[cfg(test)]
pub(super) fn bare_entries<R: Ring>(
    window: &Window,
    first: bool,
    share: &[R],
    t: &Bits,
) -> Vec<u64> {
    fn of_lane<R: Ring, L: Lane>(window: &Window, first: bool, share: &[R], t: &Bits) -> Vec<u64> {
        let (isa, n) = (isa::current(), share.len());
        let mut bits = vec![bytemuck::Zeroable::zeroed(); n];
        bits_into::<R, L>(isa, &mut bits, share, t.words(), window, first);
        // What the product makes 1 of, and no sharing of zero.
        let unit = L::from_u64(((1u128 << L::BITS) % window.prime() as u128) as u64);
        let lanes = window.entries() * n;
        let (r, rho) = (vec![unit; lanes], vec![L::ZERO; lanes]);
        let words = Step::new(window, first).strip(isa, &bits, vec![0; n], [&r, &rho]);
        let lanes = &bytemuck::cast_slice::<u64, L>(&words)[..lanes];
        lanes.iter().map(|v| v.to_u64()).collect()
    }
    with_lane!(window.m(), L => of_lane::<R, L>(window, first, share, t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;

    /// A window's `l`, dropped and kept bits.
    type Shape = (u32, u32, u32);

    /// `trc(a, k1, k2)` of a share in `Z_{2^l}` (Algorithm 5).
    fn trc(first: bool, a: u128, k1: u32, k2: u32, l: u32) -> u128 {
        let cut = |a: u128| (a % (1 << (l - k2))) >> k1;
        let out = match first {
            true => cut(a),
            false => cut(a.wrapping_neg() % (1 << l)).wrapping_neg(),
        };
        out % (1 << (l - k1 - k2))
    }

    /// Steps 1 to 6 for one share, literally.
    fn definition((l, k, kept): Shape, form: Form, first: bool, a: u64, t: bool) -> Vec<u64> {
        let one = first as u128;
        let (l, m, a, k) = match form {
            Form::Printed => (l, kept, a as u128, k),
            Form::Corrected => {
                let wide = 1 << (l - k + 1);
                let x = (2 * trc(first, a as u128, k, 0, l) + one) % wide;
                (l - k + 1, kept + 2, x, 0)
            }
        };
        let a = if t { a.wrapping_neg() % (1 << l) } else { a };
        let entries = if form == Form::Corrected {
            kept + 2
        } else {
            kept + 1
        };
        let u: Vec<u128> = (0..entries)
            .map(|i| trc(first, a, k + i, l - m - k - i, l))
            .collect();
        let next = u[1..].iter().chain([&0]);
        let v = u
            .iter()
            .zip(next)
            .map(|(u, next)| (u + next).wrapping_sub(one) % (1 << m));
        let p = super::super::prime_above(m);
        v.map(|v| match (first, v as u64) {
            (true, 0) => 1 << m,
            (true, v) => v,
            (false, v) => (p + v - (1 << m)) % p,
        })
        .collect()
    }

    fn bare<R: Ring>(k: u32, kept: u32, form: Form, share: &[R]) {
        let window = Window::new::<R>(k, kept, form).unwrap();
        let n = share.len();
        let t = Bits::from_fn(n, |i| i % 3 == 1 || i % 7 < 3);
        for first in [true, false] {
            let out = same_everywhere(|| bare_entries(&window, first, share, &t));
            for (j, a) in share.iter().enumerate() {
                let shape = (R::BITS, k, kept);
                let expected = definition(shape, form, first, a.to_u64(), t.get(j));
                let got: Vec<u64> = out.iter().skip(j).step_by(n).copied().collect();
                assert_eq!(got, expected, "{shape:?}, {form:?}, {first}, {a:?}");
            }
        }
    }

    /// Every share and both flips at 8 bits; every lane and the widest window of the others.
    #[test]
    fn entries_are_their_definition() {
        let all: Vec<u8> = (0..6 * 256).map(|i| (i / 6) as u8).collect();
        for (k, kept) in (0..8).flat_map(|k| (1..5).map(move |kept| (k, kept))) {
            for form in [Form::Corrected, Form::Printed] {
                if Window::new::<u8>(k, kept, form).is_some() {
                    bare(k, kept, form, &all);
                }
            }
        }
        let mut prg = Prg::new([1; 16]);
        let (narrow, middle, wide) = (prg.ring::<u16>(99), prg.ring::<u32>(99), prg.ring(99));
        for (k, kept) in [(0, 7), (1, 6), (9, 2)] {
            bare(k, kept, Form::Corrected, &narrow);
        }
        for (k, kept) in [(0, 14), (0, 15), (11, 7)] {
            bare(k, kept, Form::Corrected, &middle);
            bare(k, kept, Form::Printed, &middle);
        }
        for kept in 1..=31 {
            for k in [0, 1, 62 - 2 * kept] {
                if Window::new::<u64>(k, kept, Form::Corrected).is_some() {
                    bare::<u64>(k, kept, Form::Corrected, &wide);
                }
            }
            bare::<u64>(64 - 2 * kept, kept, Form::Printed, &wide);
        }
        bare::<u64>(0, 32, Form::Printed, &wide);
    }

    fn power(p: u64, base: u128, exponent: u64) -> u128 {
        (0..64).rev().fold(1, |v, i| {
            let square = v * v % p as u128;
            if exponent >> i & 1 == 1 {
                square * base % p as u128
            } else {
                square
            }
        })
    }

    /// The message of [`masked_entries`] from bare entries and the draws as documented.
    fn message<R: Ring, L: Lane>(
        window: &Window,
        first: bool,
        share: &[R],
        t: &Bits,
        common: &mut Prg,
    ) -> Vec<u8> {
        let (isa, entries, p) = (isa::current(), window.entries(), window.prime());
        let common = common.parts();
        let lost = power(p, (1u128 << L::BITS) % p as u128, p - 2);
        let mut out = Bits::zeros(8 * window.wire_len(share.len()));
        let (bare, mut at) = (bare_entries(window, first, share, t), 0);
        for start in (0..share.len()).step_by(STRIP) {
            let n = STRIP.min(share.len() - start);
            let mut prg = common.part(start / STRIP);
            let rotation = prg.below(isa, entries as u16, 0, n);
            let r = prg.below(isa, L::from_u64(p - 1), L::ONE, entries * n);
            let rho = prg.below(isa, L::from_u64(p), L::ZERO, entries * n);
            for (q, j) in (0..entries).flat_map(|q| (0..n).map(move |j| (q, j))) {
                let i = (q + rotation[j] as usize) % entries;
                let v = bare[i * share.len() + start + j] as u128;
                let r = r[q * n + j].to_u64() as u128 * lost % p as u128;
                let rho = rho[q * n + j].to_u64();
                let rho = if first { rho } else { p - rho };
                let masked = ((r * v + rho as u128) % p as u128) as u64;
                for bit in 0..window.entry_bits() {
                    out.set(at, masked >> bit & 1 == 1);
                    at += 1;
                }
            }
        }
        out.to_bytes()
    }

    fn fused<R: Ring, L: Lane>(window: &Window, n: usize) {
        let (share, t) = (Prg::new([3; 16]).ring::<R>(n), Prg::new([5; 16]).bits(n));
        for first in [true, false] {
            let mut prg = Prg::new([4; 16]);
            let expected = message::<R, L>(window, first, &share, &t, &mut prg);
            let draw = || {
                let mut prg = Prg::new([4; 16]);
                (
                    masked_entries(window, first, &share, &t, &mut prg),
                    prg.counter,
                )
            };
            assert!(
                same_everywhere(draw) == (expected, prg.counter),
                "{window:?}, {n}"
            );
            let one = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .unwrap();
            assert!(one.install(draw) == draw());
        }
    }

    /// Messages are as defined, on one thread and on many, at lengths within and across strips.
    #[test]
    fn messages_are_their_definition() {
        for n in [1, 7, 64, 512, 513, 12_345] {
            fused::<u64, u16>(&Window::new::<u64>(24, 7, Form::Corrected).unwrap(), n);
            fused::<u8, u16>(&Window::new::<u8>(0, 3, Form::Printed).unwrap(), n);
        }
        for n in [1, 513, 2500] {
            fused::<u64, u32>(&Window::new::<u64>(19, 14, Form::Corrected).unwrap(), n);
            fused::<u64, u64>(&Window::new::<u64>(0, 31, Form::Corrected).unwrap(), n);
        }
        let window = Window::new::<u32>(0, 7, Form::Corrected).unwrap();
        let (t, mut prg) = (Bits::zeros(0), Prg::new([4; 16]));
        let bytes = masked_entries::<u32>(&window, true, &[], &t, &mut prg);
        assert!(bytes.is_empty());
    }
}

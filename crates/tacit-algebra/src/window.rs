//! The sign of a sum from a window of its bits (Bicoptor 2.0, Zhou et al.), by entries that are made of
//! each summand alone (docs/spec/bicoptor2.md, sections 2 to 5).
//!
//! A value `x` is the sum of two summands modulo `2^l`: the first, `x + R`, and the second, `-R`.
//! `cut(a, k)` is `a >> k`, and `cut(a, k1, k2)` drops the `k1` low and the `k2` high bits.
//!
//! # DReLU (Algorithm 7), corrected
//!
//! As printed, with `lx` kept bits above `k` dropped ones: `t` is a common random bit, and both
//! summands are negated where it is set; `u_i = trc(x, k + i, l - lx - k - i)` for `i = 0..=lx`, of
//! `lx` bits each (Algorithm 5); `v_i = u_i + u_{i+1} - 1` and `v_lx = u_lx - 1`. The `v_i` of both
//! are switched to `Z_p` (Algorithm 6), permuted, multiplied by common random `r_i != 0`, and a
//! common sharing of zero is added; their sums have a zero where `x > 0`, that is, `DReLU xor t`.
//!
//! That gives wrong signs near `abs(x) = (2/3) 2^(k+lx)`, a random sign at 0, and the sums show whether
//! `x` is almost 0 ([`Form::Printed`]). Corrected ([`Form::Corrected`]), the entries are made of
//! `x' = 2 y + 1` for `y = trc(x, k, 0)`, which is odd and never 0, and have one bit more than
//! `abs(x')`: for `kappa` key bits `m = kappa + 2`, `u_i = trc(x', i, l' - m - i)` with
//! `l' = l - k + 1` and `i = 0..=kappa + 1`. Of the sums then one is zero or none, each with probability
//! 1/2 whatever `x` is. The sign is right where `abs(x) <= 2^(k+kappa) - 2^k`, but that
//! `-2^k < x < 0` counts as positive except with probability `abs(x) / 2^k`.
//!
//! The permutation is a random rotation: which of the entries are where does not show, as all but
//! the zero are uniform.

#[cfg(test)]
mod check;
mod entries;
mod lane;
mod pack;
mod zero;

pub use entries::masked_entries;
pub use zero::zero_entries;

use crate::Ring;

/// Elements whose entries are made at once: these stay in the second-level cache.
const STRIP: usize = 512;

/// The way in which entries are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Entries are made from `2 y + 1`, with a bit of headroom: right, and the sums show nothing.
    Corrected,
    /// Algorithm 7 as printed: some signs are wrong, and the sums show which values are almost 0. Only
    /// for comparing costs.
    Printed,
}

impl Form {
    /// Bits that entries have above the kept ones, on either side.
    fn headroom(self) -> u32 {
        match self {
            Form::Corrected => 1,
            Form::Printed => 0,
        }
    }

    /// Bits of a ring that has room for `kept` bits above `dropped` ones.
    pub fn room(self, dropped: u32, kept: u32) -> u32 {
        let entry = kept.saturating_add(self.headroom());
        entry.saturating_mul(2).saturating_add(dropped)
    }
}

/// The bits of a value that its sign is taken from, over a ring of `l` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    l: u32,
    dropped: u32,
    form: Form,
    /// Bits of the `u_i` and `v_i`.
    m: u32,
}

/// The smallest prime above `2^m` is this much above it.
const ABOVE: [u8; 34] = [
    1, 1, 1, 3, 1, 5, 3, 3, 1, 9, 7, 5, 3, 17, 27, 3, 1, 29, 3, 21, 7, 17, 15, 9, 43, 35, 15, 29,
    3, 11, 3, 11, 15, 17,
];

/// The smallest prime above `2^m`, for `m <= 33`.
pub(super) fn prime_above(m: u32) -> u64 {
    (1 << m) + ABOVE[m as usize] as u64
}

impl Window {
    /// The window of `kept` bits above `dropped` ones: `kappa` and `k` of the corrected form, `lx` and
    /// the dropped bits of the printed one.
    ///
    /// `None` where nothing is kept or the bits of the last entry are not there: the corrected form
    /// needs `dropped + 2 kept + 2 <= l`, the printed one `dropped + 2 kept <= l`.
    pub fn new<R: Ring>(dropped: u32, kept: u32, form: Form) -> Option<Window> {
        (kept > 0 && form.room(dropped, kept) <= R::BITS).then(|| Window {
            l: R::BITS,
            dropped,
            form,
            m: kept + 2 * form.headroom(),
        })
    }

    /// Entries of a value: `kappa + 2` of the corrected form, `lx + 1` of the printed one.
    pub fn entries(&self) -> usize {
        match self.form {
            Form::Corrected => self.m as usize,
            Form::Printed => self.m as usize + 1,
        }
    }

    /// Bits of an entry on the wire: `m + 1`, for `m = kappa + 2` or `m = lx`.
    pub fn entry_bits(&self) -> u32 {
        self.m + 1
    }

    /// The smallest prime above `2^m`, which entries are residues of.
    pub fn prime(&self) -> u64 {
        prime_above(self.m)
    }

    /// Bytes that the entries of `n` values take on the wire.
    pub fn wire_len(&self, n: usize) -> usize {
        let bits = n as u128 * self.entries() as u128 * self.entry_bits() as u128;
        usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)
    }

    pub(super) fn is_over<R: Ring>(&self) -> bool {
        self.l == R::BITS
    }

    pub(super) fn dropped(&self) -> u32 {
        self.dropped
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    pub(super) fn m(&self) -> u32 {
        self.m
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_the_smallest() {
        let is_prime = |p: u64| {
            (2..)
                .take_while(|d| d * d <= p)
                .all(|d| !p.is_multiple_of(d))
        };
        for (m, above) in ABOVE.into_iter().enumerate() {
            let found = (1u64..).find(|d| is_prime((1 << m) + d));
            assert_eq!(found, Some(above as u64), "m = {m}");
        }
    }

    #[test]
    fn windows_fit_the_ring() {
        let shape = |w: Window| (w.entries(), w.entry_bits(), w.prime(), w.wire_len(3));
        let key = Window::new::<u64>(24, 7, Form::Corrected).unwrap();
        assert_eq!(shape(key), (9, 10, 521, 34));
        let printed = Window::new::<u64>(24, 7, Form::Printed).unwrap();
        assert_eq!(shape(printed), (8, 8, 131, 24));
        let exact = Window::new::<u64>(0, 31, Form::Corrected).unwrap();
        assert_eq!(shape(exact), (33, 34, 8_589_934_609, 421));
        assert_eq!(key.wire_len(usize::MAX), usize::MAX);
        for (dropped, kept, form) in [
            (0, 0, Form::Corrected),
            (0, 32, Form::Corrected),
            (1, 31, Form::Corrected),
            (49, 7, Form::Corrected),
            (0, 0, Form::Printed),
            (0, 33, Form::Printed),
            (51, 7, Form::Printed),
            (u32::MAX, 1, Form::Printed),
            (0, u32::MAX, Form::Corrected),
            (0, 1 << 31, Form::Printed),
        ] {
            let window = Window::new::<u64>(dropped, kept, form);
            assert!(window.is_none(), "{dropped}, {kept}, {form:?}");
        }
        assert!(Window::new::<u64>(48, 7, Form::Corrected).is_some());
        assert!(Window::new::<u64>(50, 7, Form::Printed).is_some());
        assert!(Window::new::<u8>(0, 3, Form::Corrected).is_some());
        assert!(Window::new::<u8>(0, 4, Form::Corrected).is_none());
    }
}

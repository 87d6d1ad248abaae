//! The parameters of a DReLU.

use crate::Ring;

/// The way in which entries are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// From `2 y + 1`, with a bit of headroom: right, and the sums show nothing.
    Mended,
    /// Algorithm 7 as printed: some signs are wrong, and the sums show which values are almost 0. Only
    /// for comparing costs.
    Printed,
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
    /// The window of `kept` bits above `dropped` ones: `kappa` and `k` of the mended form, `lx` and
    /// the dropped bits of the printed one.
    ///
    /// `None` where nothing is kept or the bits of the last entry are not there: the mended form
    /// needs `dropped + 2 kept + 2 <= l`, the printed one `dropped + 2 kept <= l`.
    pub fn new<R: Ring>(dropped: u32, kept: u32, form: Form) -> Option<Window> {
        let headroom = match form {
            Form::Mended => 1,
            Form::Printed => 0,
        };
        let needed = kept.checked_add(headroom)?.checked_mul(2)?;
        (kept > 0 && needed.checked_add(dropped)? <= R::BITS).then_some(Window {
            l: R::BITS,
            dropped,
            form,
            m: kept + 2 * headroom,
        })
    }

    /// Entries of a value: `kappa + 2` of the mended form, `lx + 1` of the printed one.
    pub fn entries(&self) -> usize {
        match self.form {
            Form::Mended => self.m as usize,
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
        let key = Window::new::<u64>(24, 7, Form::Mended).unwrap();
        assert_eq!(shape(key), (9, 10, 521, 34));
        let printed = Window::new::<u64>(24, 7, Form::Printed).unwrap();
        assert_eq!(shape(printed), (8, 8, 131, 24));
        let exact = Window::new::<u64>(0, 31, Form::Mended).unwrap();
        assert_eq!(shape(exact), (33, 34, 8_589_934_609, 421));
        assert_eq!(key.wire_len(usize::MAX), usize::MAX);
        for (dropped, kept, form) in [
            (0, 0, Form::Mended),
            (0, 32, Form::Mended),
            (1, 31, Form::Mended),
            (49, 7, Form::Mended),
            (0, 0, Form::Printed),
            (0, 33, Form::Printed),
            (51, 7, Form::Printed),
            (u32::MAX, 1, Form::Printed),
            (0, u32::MAX, Form::Mended),
            (0, 1 << 31, Form::Printed),
        ] {
            let window = Window::new::<u64>(dropped, kept, form);
            assert!(window.is_none(), "{dropped}, {kept}, {form:?}");
        }
        assert!(Window::new::<u64>(48, 7, Form::Mended).is_some());
        assert!(Window::new::<u64>(50, 7, Form::Printed).is_some());
        assert!(Window::new::<u8>(0, 3, Form::Mended).is_some());
        assert!(Window::new::<u8>(0, 4, Form::Mended).is_none());
    }
}

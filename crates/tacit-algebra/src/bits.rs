//! Packed bits: bit `i` is bit `i % 64` of word `i / 64`; unused high bits of the last word are
//! always zero.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize;

use crate::buffer::Sizes;
use crate::fresh::build;
use crate::isa;
pub use crate::words::and_product_words;
use crate::words::{
    and_to, clean_tail, expand_bytes_into, expand_ring_into, push_bits, top_bits, words_for,
    xor_and_to, xor_to,
};
use crate::{Ring, par};

/// A vector of bits, one per element of some tensor.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Bits {
    len: usize,
    words: Vec<u64>,
}

impl Zeroize for Bits {
    /// Wipes the words and leaves no bits.
    fn zeroize(&mut self) {
        self.words.zeroize();
        self.len = 0;
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bits({})", self.len)
    }
}

impl Sizes for Bits {
    fn is_counted(&self) -> bool {
        self.words.len() < words_for(self.len)
    }
}

/// `acc ^= x0 y0 ^ x1 y0 ^ x0 y1`; `acc` enters as the zero-sharing mask.
pub fn and_product_assign(acc: &mut Bits, x0: &Bits, x1: &Bits, y0: &Bits, y1: &Bits) {
    assert!([x0, x1, y0, y1].iter().all(|v| v.len == acc.len));
    if acc.counts_with(&[x0, x1, y0, y1]) {
        return;
    }
    and_product_words(&mut acc.words, &x0.words, &x1.words, &y0.words, &y1.words);
}

impl Bits {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Bits {
            len,
            words: vec![0; words_for(len)],
        }
    }

    /// `len` bits without values, for parties that only count.
    pub fn counted(len: usize) -> Self {
        Bits {
            len,
            words: Vec::new(),
        }
    }

    /// Makes this a size alone if it or one of the others is; returns whether it is one.
    fn counts_with(&mut self, others: &[&Bits]) -> bool {
        let counted = self.is_counted() || others.iter().any(|other| other.is_counted());
        if counted {
            *self = Bits::counted(self.len);
        }
        counted
    }

    /// The first `len` bits of `words`.
    ///
    /// # Panics
    /// If there are not exactly as many words as `len` bits need.
    pub fn from_words(len: usize, mut words: Vec<u64>) -> Self {
        assert_eq!(words.len(), words_for(len));
        clean_tail(len, &mut words);
        Bits { len, words }
    }

    /// Bit `i` is `f(i)`.
    pub fn from_fn(len: usize, f: impl Fn(usize) -> bool) -> Self {
        let mut bits = Bits::zeros(len);
        for i in 0..len {
            bits.words[i / 64] |= (f(i) as u64) << (i % 64);
        }
        bits
    }

    /// The number of bits.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The words, the unused bits of the last one zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words of these bits, without a copy.
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Bit `i`.
    pub fn get(&self, i: usize) -> bool {
        assert!(i < self.len);
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Sets bit `i` to `bit`.
    pub fn set(&mut self, i: usize, bit: bool) {
        assert!(i < self.len);
        let word = &mut self.words[i / 64];
        *word = *word & !(1 << (i % 64)) | (bit as u64) << (i % 64);
    }

    /// `self ^ o`.
    pub fn xor(&self, o: &Bits) -> Bits {
        self.word_by_word(o, |a, b| a ^ b)
    }

    /// What `f` makes of the words of both.
    fn word_by_word(&self, o: &Bits, f: impl Fn(u64, u64) -> u64) -> Bits {
        assert_eq!(self.len, o.len);
        if self.is_counted() || o.is_counted() {
            return Bits::counted(self.len);
        }
        let words = self.words.iter().zip(&o.words);
        Bits {
            len: self.len,
            words: words.map(|(a, b)| f(*a, *b)).collect(),
        }
    }

    /// `self ^= o`.
    pub fn xor_assign(&mut self, o: &Bits) {
        assert_eq!(self.len, o.len);
        if !self.counts_with(&[o]) {
            xor_to(isa::current(), &mut self.words, &o.words);
        }
    }

    /// `self & o`.
    pub fn and(&self, o: &Bits) -> Bits {
        self.word_by_word(o, |a, b| a & b)
    }

    /// `self ^= x & y`.
    pub fn xor_and_assign(&mut self, x: &Bits, y: &Bits) {
        assert!(self.len == x.len && self.len == y.len);
        if !self.counts_with(&[x, y]) {
            xor_and_to(isa::current(), &mut self.words, &x.words, &y.words);
        }
    }

    /// `self &= o`.
    pub fn and_assign(&mut self, o: &Bits) {
        assert_eq!(self.len, o.len);
        if !self.counts_with(&[o]) {
            and_to(isa::current(), &mut self.words, &o.words);
        }
    }

    /// Every bit flipped.
    #[allow(clippy::should_implement_trait)]
    pub fn not(&self) -> Bits {
        if self.is_counted() {
            return self.clone();
        }
        Bits::from_words(self.len, self.words.iter().map(|w| !w).collect())
    }

    /// The number of ones.
    pub fn count_ones(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Adds bits at the end; fastest if the length before is a multiple of 64.
    pub fn append(&mut self, more: &Bits) {
        let whole = self.len.is_multiple_of(64) && !self.is_counted() && !more.is_counted();
        if !whole {
            *self = Bits::concat(&[self, more]);
            return;
        }
        self.words.extend_from_slice(&more.words);
        self.len += more.len;
    }

    /// The parts one after the other.
    pub fn concat(parts: &[&Bits]) -> Bits {
        let len = parts.iter().map(|p| p.len).sum();
        if parts.iter().any(|part| part.is_counted()) {
            return Bits::counted(len);
        }
        let mut words = Vec::with_capacity(words_for(len));
        let mut at = 0;
        for part in parts {
            push_bits(&mut words, at, &part.words, 0..part.len);
            at += part.len;
        }
        Bits { len, words }
    }

    /// Bits `start .. start + len`; fastest when `start` is a multiple of 64.
    pub fn slice(&self, start: usize, len: usize) -> Bits {
        assert!(start + len <= self.len);
        Bits::gather(&[self], start..start + len)
    }

    /// A range of parts that follow one another, with zeros after the last one.
    pub fn gather(parts: &[&Bits], range: Range<usize>) -> Bits {
        let len = range.len();
        if parts.iter().any(|part| part.is_counted()) {
            return Bits::counted(len);
        }
        let (mut words, mut at, mut start) = (Vec::with_capacity(words_for(len)), 0, 0);
        for part in parts {
            let [from, to] = [range.start, range.end].map(|end| end.clamp(start, start + part.len));
            push_bits(&mut words, at, &part.words, from - start..to - start);
            (at, start) = (at + to - from, start + part.len);
        }
        words.resize(words_for(len), 0);
        Bits { len, words }
    }

    /// `len / 8` bytes, rounded up; bit `i` is bit `i % 8` of byte `i / 8`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = bytemuck::cast_slice(&self.words).to_vec();
        bytes.truncate(self.len.div_ceil(8));
        bytes
    }

    /// The inverse of [`Bits::to_bytes`]; `None` if there are too many or too few bytes, or an
    /// unused bit is set.
    pub fn from_bytes(len: usize, bytes: &[u8]) -> Option<Bits> {
        if bytes.len() != len.div_ceil(8) {
            return None;
        }
        if let (used @ 1.., Some(last)) = (len % 8, bytes.last())
            && last >> used != 0
        {
            return None;
        }
        let (whole, rest) = bytes.as_chunks();
        let mut words = Vec::with_capacity(words_for(len));
        words.extend(whole.iter().map(|word| u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            words.push(u64::from_le_bytes(last));
        }
        Some(Bits { len, words })
    }

    /// One byte, 0 or 1, per bit.
    pub fn expand(&self) -> Vec<u8> {
        let isa = isa::current();
        build(self.len, |s, out| {
            expand_bytes_into(isa, out, &self.words[s / 64..])
        })
    }

    /// One ring element, 0 or 1, per bit.
    pub fn expand_ring<R: Ring>(&self) -> Vec<R> {
        let isa = isa::current();
        build(self.len, |s, out| {
            expand_ring_into(isa, out, &self.words[s / 64..])
        })
    }

    /// The highest bit of every element.
    pub fn msb_of<R: Ring>(a: &[R]) -> Bits {
        let isa = isa::current();
        let mut bits = Bits::zeros(a.len());
        par::for_each_unit(a.len(), &mut bits.words, 1, |s, words| {
            top_bits(isa, words, &a[s..])
        });
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prg;
    use crate::isa::same_everywhere;
    use crate::words::{spread, squeeze};

    const LENGTHS: [usize; 9] = [0, 1, 7, 63, 64, 65, 128, 1000, 70_001];

    fn random(n: usize, seed: u8) -> Bits {
        Prg::new([seed; 16]).bits(n)
    }

    #[test]
    fn gates() {
        for n in LENGTHS {
            let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|seed| random(n, seed));
            let (xor, and, not) = same_everywhere(|| (a.xor(&b), a.and(&b), a.not()));
            assert!(xor == Bits::from_fn(n, |i| a.get(i) != b.get(i)));
            assert!(and == Bits::from_fn(n, |i| a.get(i) && b.get(i)));
            assert!(not == Bits::from_fn(n, |i| !a.get(i)));
            assert_eq!(not.count_ones(), n - a.count_ones());
            let product = same_everywhere(|| {
                let mut acc = e.clone();
                and_product_assign(&mut acc, &a, &b, &c, &d);
                acc
            });
            let terms = a.and(&c).xor(&b.and(&c)).xor(&a.and(&d)).xor(&e);
            assert!(product == terms, "{n} bits");
            let more = same_everywhere(|| {
                let mut more = e.clone();
                more.xor_and_assign(&a, &b);
                more
            });
            assert!(more == a.and(&b).xor(&e), "{n} bits");
        }
    }

    #[test]
    fn single_bits() {
        let mut bits = Bits::zeros(130);
        for i in [0, 63, 64, 129] {
            bits.set(i, true);
            assert!(bits.get(i));
        }
        bits.set(64, false);
        assert!(!bits.get(64));
        assert_eq!(bits.count_ones(), 3);
        assert_eq!(format!("{bits:?}"), "Bits(130)");
    }

    #[test]
    fn expansion() {
        for n in LENGTHS {
            let a = random(n, 6);
            let (bytes, words) = same_everywhere(|| (a.expand(), a.expand_ring::<u64>()));
            assert_eq!((bytes.len(), words.len()), (n, n));
            assert!((0..n).all(|i| bytes[i] == a.get(i) as u8 && words[i] == bytes[i] as u64));
            assert!(a.expand_ring::<u8>() == bytes);
        }
        for byte in 0..=255 {
            assert_eq!(squeeze(spread(byte)), byte);
        }
    }

    fn signs<R: Ring>() {
        for n in LENGTHS {
            let a = Prg::new([7; 16]).ring::<R>(n);
            let top = same_everywhere(|| Bits::msb_of(&a));
            assert!(
                top == Bits::from_fn(n, |i| a[i].to_i64() < 0),
                "{n} elements"
            );
        }
    }

    #[test]
    fn top_bits_are_signs() {
        signs::<u8>();
        signs::<u16>();
        signs::<u32>();
        signs::<u64>();
    }

    #[test]
    fn slices_and_concatenations_at_every_offset() {
        let a = random(300, 8);
        for start in 0..=130 {
            for len in [0, 1, 63, 64, 65, 128, 170] {
                let part = a.slice(start, len);
                assert!(
                    part == Bits::from_fn(len, |i| a.get(start + i)),
                    "{start}, {len}"
                );
                let rest = a.slice(start + len, 300 - start - len);
                assert!(
                    Bits::concat(&[&a.slice(0, start), &part, &rest]) == a,
                    "{start}, {len}"
                );
            }
        }
        assert!(Bits::concat(&[]) == Bits::default());
        let parts = [0, 3, 61, 64, 65, 107].map(|len| random(len, len as u8));
        let parts: Vec<&Bits> = parts.iter().collect();
        let all = Bits::concat(&parts);
        for start in 0..=300 {
            for len in [0, 1, 63, 64, 65, 200] {
                let part = same_everywhere(|| Bits::gather(&parts, start..start + len));
                let right = |i| start + i < all.len() && all.get(start + i);
                let right = Bits::from_fn(len, right);
                assert!(part == right, "{start}, {len}");
            }
        }
    }

    #[test]
    fn bytes_are_read_strictly() {
        for n in LENGTHS {
            let a = random(n, 9);
            let mut bytes = a.to_bytes();
            assert_eq!(bytes.len(), n.div_ceil(8));
            assert!((0..n).all(|i| (bytes[i / 8] >> (i % 8) & 1 == 1) == a.get(i)));
            assert!(Bits::from_bytes(n, &bytes) == Some(a));
            if n % 8 != 0 {
                *bytes.last_mut().unwrap() |= 0x80;
                assert!(Bits::from_bytes(n, &bytes).is_none());
            }
            bytes.push(0);
            assert!(Bits::from_bytes(n, &bytes).is_none());
        }
        assert!(Bits::from_bytes(9, &[1]).is_none());
    }

    #[test]
    fn unused_bits_are_cleared() {
        assert_eq!(
            Bits::from_words(65, vec![u64::MAX; 2]).words(),
            [u64::MAX, 1]
        );
        assert_eq!(Bits::zeros(65).not().words(), [u64::MAX, 1]);
    }
}

//! Sums over packed bits. A word holds the bits of 64 columns, and as it is the sum of these bits times
//! the powers of X: with those for factors, 64 columns are one element, of which a coin makes a random one.

use super::{Binary, carryless, reduce, words_of};
#[cfg(target_arch = "x86_64")]
use super::{planes, x86};
use crate::isa::{self, simd};
use crate::{Bits, Prg};

/// Columns of a word.
pub const COLUMNS: usize = 64;

/// Random factors of columns: column `c` of word `w` has `X^c` times the word's coin. Bits of a word that
/// are not all zero add up to an element that is not, times the coin to a random one.
#[derive(Clone)]
pub struct Weights {
    coins: Vec<Binary>,
    columns: usize,
}

impl Weights {
    /// Uniform coins for so many columns.
    pub fn draw(prg: &mut Prg, columns: usize) -> Self {
        let coins = prg.ring(columns.div_ceil(COLUMNS));
        Weights {
            coins: coins.into_iter().map(Binary).collect(),
            columns,
        }
    }

    /// `sum_c w_c x[c]` of every vector.
    pub fn sums(&self, x: &[Bits]) -> Vec<Binary> {
        let words = self.words(x).into_iter();
        words
            .map(|x| super::dot(words_of(&self.coins), x))
            .collect()
    }

    /// `sum_c w_c u_j[c] v_k[c]` of all pairs, `k` running fastest.
    pub fn products(&self, u: &[Bits], v: &[Bits]) -> Vec<Binary> {
        let (coins, u, v) = (words_of(&self.coins), self.words(u), self.words(v));
        let mut sums = vec![0; u.len() * v.len()];
        #[cfg(target_arch = "x86_64")]
        if x86::wide(isa::current()) {
            // SAFETY: the processor has the instructions.
            unsafe { x86::common_wide(&mut sums, coins, &u, &v) };
            return sums.into_iter().map(|sum| Binary(reduce(sum))).collect();
        }
        #[cfg(target_arch = "x86_64")]
        if x86::available(isa::current()) {
            // SAFETY: the processor has the instructions.
            unsafe { x86::common(&mut sums, coins, &u, &v) };
            return sums.into_iter().map(|sum| Binary(reduce(sum))).collect();
        }
        common_by(&mut sums, coins, &u, &v, carryless);
        sums.into_iter().map(|sum| Binary(reduce(sum))).collect()
    }

    /// `u_c = w_c u_c`.
    pub fn weigh(&self, u: &mut [Binary]) {
        assert_eq!(u.len(), self.columns);
        for (u, coin) in u.chunks_mut(COLUMNS).zip(&self.coins) {
            let mut factors = [0; COLUMNS];
            let mut factor = coin.0;
            for to in &mut factors {
                *to = factor;
                factor = times_x(factor);
            }
            super::multiply(u, &factors[..u.len()]);
        }
    }

    /// The words of vectors of as many columns.
    fn words<'a>(&self, x: &'a [Bits]) -> Vec<&'a [u64]> {
        assert!(x.iter().all(|x| x.len() == self.columns));
        x.iter().map(Bits::words).collect()
    }
}

/// An element times X.
fn times_x(a: u64) -> u64 {
    (a << 1) ^ (0b11011 & (a >> 63).wrapping_neg())
}

/// `sum_w coin_w (u_j[w] and v_k[w])` of all pairs, not reduced.
#[inline(always)]
pub fn common_by(
    sums: &mut [u128],
    coins: &[u64],
    u: &[&[u64]],
    v: &[&[u64]],
    product: impl Fn(u64, u64) -> u128,
) {
    for (sums, u) in sums.chunks_mut(v.len()).zip(u) {
        for (sum, v) in sums.iter_mut().zip(v) {
            for ((u, v), coin) in u.iter().zip(*v).zip(coins) {
                *sum ^= product(u & v, *coin);
            }
        }
    }
}

/// `sum_j c_j x_j`, column by column.
pub fn combined(c: &[Binary], x: &[Bits]) -> Vec<Binary> {
    let columns = x.first().map_or(0, Bits::len);
    assert!(c.len() == x.len() && x.iter().all(|x| x.len() == columns));
    let isa = isa::current();
    #[cfg(target_arch = "x86_64")]
    if isa >= isa::Isa::Avx2 {
        return planes::combined(c, x, columns);
    }
    let mut out = vec![Binary(0); columns];
    for (c, x) in c.iter().zip(x) {
        add_where(isa, &mut out, c.0, x.words());
    }
    out
}

simd! {
    /// `out ^= c` where the bit is set.
    fn add_where(out: &mut [Binary], c: u64, bits: &[u64]) {
        for (out, word) in out.chunks_mut(64).zip(bits) {
            for (i, out) in out.iter_mut().enumerate() {
                out.0 ^= c & (word >> i & 1).wrapping_neg();
            }
        }
    }
}

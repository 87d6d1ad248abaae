//! Sums over packed bits. A word holds the bits of 64 columns, and as it is the sum of these bits times
//! the powers of X: with those for factors, 64 columns are one element, of which a coin makes a random one.

use super::{Binary, carryless, reduce, words_of};
#[cfg(target_arch = "x86_64")]
use super::{affine, planes, x86};
use crate::isa::{self, simd};
use crate::words::xor_to;
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

    /// How many columns have factors.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// `sum_c w_c x[c]` of every vector.
    pub fn sums(&self, x: &[&[u64]]) -> Vec<Binary> {
        let words = x.iter();
        words
            .map(|x| super::dot(words_of(&self.coins), x))
            .collect()
    }

    /// `sum_c w_c u_j[c] v_k[c]` of all pairs, `k` running fastest.
    pub fn products(&self, u: &[&[u64]], v: &[&[u64]]) -> Vec<Binary> {
        let coins = words_of(&self.coins);
        assert!(u.iter().chain(v).all(|x| x.len() == coins.len()));
        let mut sums = vec![0; u.len() * v.len()];
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = x86::Wide::of(isa::current()) {
            wide.common(&mut sums, coins, u, v);
            return sums.into_iter().map(|sum| Binary(reduce(sum))).collect();
        }
        common_by(&mut sums, coins, u, v, carryless);
        sums.into_iter().map(|sum| Binary(reduce(sum))).collect()
    }

    /// `sum_c w_c u(t)[c] v(t)[c]` at every place `t` of a cube of vectors.
    pub fn cube_products(&self, u: &[&[u64]], v: &[&[u64]]) -> Vec<Binary> {
        let coins = words_of(&self.coins);
        assert!(u.len() == v.len() && u.len().is_power_of_two());
        assert!(u.iter().chain(v).all(|x| x.len() == coins.len()));
        let mut sums = vec![0; 3usize.pow(u.len().ilog2())];
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = x86::Wide::of(isa::current()) {
            wide.places(&mut sums, coins, u, v);
            return sums.into_iter().map(|sum| Binary(reduce(sum))).collect();
        }
        add_places(&mut sums, u, v, &|sums, u, v| {
            places_by(sums, coins, u, v, carryless);
        });
        sums.into_iter().map(|sum| Binary(reduce(sum))).collect()
    }

    /// `u_c = w_c u_c`.
    pub fn weigh(&self, u: &mut [Binary]) {
        assert_eq!(u.len(), self.columns);
        let isa = isa::current();
        for (u, coin) in u.chunks_mut(COLUMNS).zip(&self.coins) {
            let mut factors = [0; COLUMNS];
            powers_to(isa, &mut factors, coin.0);
            super::multiply(u, &factors[..u.len()]);
        }
    }
}

/// Powers of X that are made side by side.
const SIDE_BY_SIDE: usize = 8;

/// An element times `X^by`, for `by` of at most [`SIDE_BY_SIDE`].
#[inline(always)]
fn times_power(a: u64, by: usize) -> u64 {
    let high = a >> (64 - by);
    (a << by) ^ high ^ (high << 1) ^ (high << 3) ^ (high << 4)
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

/// Corners of a side of a cube whose places are computed at a time.
pub const SIDE: usize = 4;

/// Adds to `sums` of every place of a cube what `leaf` makes of the sides that are met, variable by variable: at 0 and
/// at 1 those of the corners, at the highest coefficient their sums.
fn add_places(
    sums: &mut [u128],
    u: &[&[u64]],
    v: &[&[u64]],
    leaf: &impl Fn(&mut [u128], &[&[u64]], &[&[u64]]),
) {
    if u.len() <= SIDE {
        return leaf(sums, u, v);
    }
    let (u0, u1) = u.split_at(u.len() / 2);
    let (v0, v1) = v.split_at(v.len() / 2);
    let (at_0, rest) = sums.split_at_mut(sums.len() / 3);
    let (at_1, leading) = rest.split_at_mut(at_0.len());
    add_places(at_0, u0, v0, leaf);
    add_places(at_1, u1, v1, leaf);
    let [u, v] = [sums_of(u0, u1), sums_of(v0, v1)];
    let [u, v] = [&u, &v].map(|x| x.chunks_exact(u0[0].len()).collect::<Vec<_>>());
    add_places(leading, &u, &v, leaf);
}

/// The sums of vectors, one after the other.
fn sums_of(a: &[&[u64]], b: &[&[u64]]) -> Vec<u64> {
    let mut sums = a.concat();
    let isa = isa::current();
    for (sum, b) in sums.chunks_exact_mut(b[0].len()).zip(b) {
        xor_to(isa, sum, b);
    }
    sums
}

/// A word at every place of a cube of at most [`SIDE`] corners, missing ones zero.
#[inline(always)]
pub fn at_places<T: Copy>(x: [T; SIDE], add: impl Fn(T, T) -> T) -> [T; 9] {
    let [a, b, c, d] = x;
    let (ac, bd) = (add(a, c), add(b, d));
    [a, b, add(a, b), c, d, add(c, d), ac, bd, add(ac, bd)]
}

/// `sum_w coin_w (u(t)[w] and v(t)[w])` at every place of a cube of at most [`SIDE`] corners, not reduced.
#[inline(always)]
pub fn places_by(
    sums: &mut [u128],
    coins: &[u64],
    u: &[&[u64]],
    v: &[&[u64]],
    product: impl Fn(u64, u64) -> u128,
) {
    for (at, coin) in coins.iter().enumerate() {
        let word = |x: &[&[u64]], i: usize| x.get(i).map_or(0, |x| x[at]);
        let [u, v] = [u, v].map(|x| at_places([0, 1, 2, 3].map(|i| word(x, i)), |a, b| a ^ b));
        for (sum, (u, v)) in sums.iter_mut().zip(u.iter().zip(&v)) {
            *sum ^= product(u & v, *coin);
        }
    }
}

/// The words of vectors of as many columns.
pub fn words(x: &[Bits], columns: usize) -> Vec<&[u64]> {
    assert!(x.iter().all(|x| x.len() == columns));
    x.iter().map(Bits::words).collect()
}

/// The words of the blocks of vectors, which have whole words.
pub fn block_words(x: &[Bits], blocks: usize) -> Vec<&[u64]> {
    let blocks_of = |x: &'_ Bits| {
        assert!(x.len().is_multiple_of(blocks * COLUMNS));
        x.len() / (blocks * COLUMNS)
    };
    let words = x.iter().flat_map(|x| x.words().chunks_exact(blocks_of(x)));
    words.collect()
}

/// `sum_j c_j x_j`, column by column, of vectors of so many columns.
pub fn combined(c: &[Binary], x: &[&[u64]], columns: usize) -> Vec<Binary> {
    let words = columns.div_ceil(COLUMNS);
    assert!(c.len() == x.len() && x.iter().all(|x| x.len() == words));
    let isa = isa::current();
    #[cfg(target_arch = "x86_64")]
    if affine::available(isa) {
        return affine::combined(c, x, columns);
    }
    #[cfg(target_arch = "x86_64")]
    if isa >= isa::Isa::Avx2 {
        return planes::combined(c, x, columns);
    }
    let mut out = vec![Binary(0); columns];
    for (c, x) in c.iter().zip(x) {
        add_where(isa, &mut out, c.0, x);
    }
    out
}

simd! {
    /// `coin X^c` of the columns of a word.
    fn powers_to(factors: &mut [u64; COLUMNS], coin: u64) {
        for (c, factor) in factors[..SIDE_BY_SIDE].iter_mut().enumerate() {
            *factor = coin;
            for _ in 0..c {
                *factor = times_power(*factor, 1);
            }
        }
        for at in SIDE_BY_SIDE..COLUMNS {
            factors[at] = times_power(factors[at - SIDE_BY_SIDE], SIDE_BY_SIDE);
        }
    }

    /// `out ^= c` where the bit is set.
    fn add_where(out: &mut [Binary], c: u64, bits: &[u64]) {
        for (out, word) in out.chunks_mut(64).zip(bits) {
            for (i, out) in out.iter_mut().enumerate() {
                out.0 ^= c & (word >> i & 1).wrapping_neg();
            }
        }
    }
}

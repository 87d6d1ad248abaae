//! Galois rings GR(2^l, 48) = Z_2^l[X] / (X^48 + X^5 + X^3 + X^2 + 1).
//!
//! The polynomial is irreducible modulo 2, so an element is a unit unless all its coefficients
//! are even. The points are the polynomials with coefficients 0 and 1.

pub mod blocks;
mod kernels;
pub mod product_side;
mod sums;

use std::ops::Range;

use bytemuck::TransparentWrapper;

pub use self::kernels::Loops;
use self::kernels::{COLUMNS, GROUPS, Halves, Row, reduce};
use super::tower::padded;
use super::{Extension, cube};
use crate::{Buffer, Prg, Ring, vec};

/// The degree over `Z_2^l`.
pub const DEGREE: usize = 48;
const WIDE: usize = 2 * DEGREE;
/// Half of an element's coefficients.
const HALF: usize = DEGREE / 2;

/// An element of GR(2^l, 48).
#[derive(Clone, Copy, PartialEq, Eq, Debug, TransparentWrapper)]
#[repr(transparent)]
pub struct Galois<R>([R; DEGREE]);

impl<R: Ring> Galois<R> {
    /// A ring element as a constant polynomial.
    pub const fn embed(x: R) -> Self {
        let mut lanes = [R::ZERO; DEGREE];
        lanes[0] = x;
        Galois(lanes)
    }

    /// The point whose coefficients are the bits of `bits`.
    fn from_bits(bits: u64) -> Self {
        Galois(std::array::from_fn(|i| R::from_u64(bits >> i & 1)))
    }

    /// The low bits of the coefficients: for points, the point.
    fn to_bits(self) -> u64 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |sum, (i, v)| sum | (v.to_u64() & 1) << i)
    }

    /// The rows of a matrix of `DEGREE` columns.
    fn from_rows(rows: &[R]) -> Vec<Self> {
        rows.as_chunks().0.iter().map(|row| Galois(*row)).collect()
    }
}

impl<R: Ring> Extension for Galois<R> {
    type Base = Buffer<R>;
    /// The coefficients of each point as bits.
    type Weights = Vec<u64>;
    const ZERO: Self = Galois([R::ZERO; DEGREE]);
    const ONE: Self = Galois::embed(R::ONE);

    fn add(self, o: Self) -> Self {
        Galois(std::array::from_fn(|i| self.0[i].add(o.0[i])))
    }
    fn sub(self, o: Self) -> Self {
        Galois(std::array::from_fn(|i| self.0[i].sub(o.0[i])))
    }
    fn mul(self, o: Self) -> Self {
        R::product(&self, &o)
    }
    fn base_radix(n: usize) -> usize {
        if n > MIDDLE {
            32
        } else if n > SMALL {
            8
        } else {
            2
        }
    }
    /// 4, whose parts take few products; near the end more, so that fewer folds are left. What no machine can hold would
    /// be folded by halves, whose errors add up to less.
    fn radix(n: usize) -> usize {
        match n {
            ..=8 => n,
            9..=64 => 8,
            65..=0xff_ffff_ffff => 4,
            _ => 2,
        }
    }
    fn random(prg: &mut Prg, n: usize) -> Vec<Self> {
        Self::from_rows(&prg.ring(n * DEGREE))
    }
    fn points(prg: &mut Prg, n: usize) -> Vec<Self> {
        let bits = Self::weights(prg, n);
        bits.into_iter().map(Self::from_bits).collect()
    }
    fn weights(prg: &mut Prg, n: usize) -> Vec<u64> {
        vec::shr(&prg.ring(n), u64::BITS - DEGREE as u32)
    }
    fn base_len(x: &Buffer<R>) -> usize {
        x.len()
    }
    fn base_part(x: &Buffer<R>, range: Range<usize>) -> Buffer<R> {
        padded(x, range)
    }
    fn base_join(x: &[Buffer<R>]) -> Buffer<R> {
        Buffer::concat(&x.iter().collect::<Vec<_>>())
    }
    fn base_product(x: &Buffer<R>, y: &Buffer<R>) -> Buffer<R> {
        x.mul(y)
    }
    fn weighted_sums(w: &Vec<u64>, x: &[Buffer<R>]) -> Vec<Self> {
        let ones = vec![R::ONE; w.len()];
        weighted_columns(w, &ones, x.len(), &rows(x, w.len()))
    }
    fn combine(c: &[Self], x: &[Buffer<R>]) -> Vec<Self> {
        let mut out = vec![Self::ZERO; x.first().map_or(0, Buffer::len)];
        assert!(c.len() == x.len() && x.iter().all(|x| x.len() == out.len()));
        let x: Vec<&[R]> = x.iter().map(|x| &x[..]).collect();
        R::combine_into(&mut out, c, &x);
        out
    }
    fn weighted_products(w: &Vec<u64>, u: &[Buffer<R>], v: &[Buffer<R>]) -> Vec<Self> {
        let rows = rows(v, w.len());
        let of = |u: &Buffer<R>| weighted_columns(w, u, v.len(), &rows);
        u.iter().flat_map(of).collect()
    }
    /// Of a power of two of parts from four on by the places of a cube: 9 products of parts instead of 12.
    fn line_products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        if radix < 4 || !radix.is_power_of_two() {
            return cube::by_distance(&Self::products(u, v, radix, len), radix);
        }
        let mut sums = vec![Self::ZERO; 3usize.pow(radix.ilog2())];
        for first in (0..len).step_by(STRIP) {
            let width = STRIP.min(len - first);
            let part = |x: &[Self], j: usize| {
                let [start, end] = [first, first + width].map(|at| (j * len + at).min(x.len()));
                R::halves(&x[start..end], width)
            };
            let left = (0..radix).map(|j| part(u, j)).collect();
            let right = (0..radix).rev().map(|k| part(v, k)).collect();
            let places = at_places(left).into_iter().zip(at_places(right));
            for (sum, (a, b)) in sums.iter_mut().zip(places) {
                *sum = sum.add(inner_product(&a, &b));
            }
        }
        cube::line_of_places(&sums)
    }
    fn weigh(u: &mut [Self], w: &Vec<u64>) {
        assert_eq!(u.len(), w.len());
        R::weigh_to(u, w);
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        let strips = a.chunks(STRIP).zip(b.chunks(STRIP));
        strips.fold(Self::ZERO, |sum, (a, b)| {
            sum.add(inner_product(
                &R::halves(a, a.len()),
                &R::halves(b, b.len()),
            ))
        })
    }
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]) {
        R::times_plus_to(acc, point.to_bits(), x);
    }
    fn wire_len(n: usize) -> usize {
        n * DEGREE * size_of::<R>()
    }
    fn to_wire(x: &[Self]) -> Vec<u8> {
        x.iter()
            .flat_map(|x| bytemuck::cast_slice::<R, u8>(&x.0))
            .copied()
            .collect()
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<Self>> {
        let whole = bytes.len() == Self::wire_len(n);
        whole.then(|| Self::from_rows(&bytemuck::pod_collect_to_vec(bytes)))
    }
}

/// Elements of a part that are laid out by halves at a time, so that they stay in the processor's cache.
const STRIP: usize = 64;

/// A vector at the places of the cube whose corners are these parts.
fn at_places<R: Ring>(mut low: Vec<Halves<R>>) -> Vec<Halves<R>> {
    if low.len() == 1 {
        return low;
    }
    let high = low.split_off(low.len() / 2);
    let mut leading = low.clone();
    let parts = leading.iter_mut().flatten().zip(high.iter().flatten());
    parts.for_each(|(a, b)| vec::sub_assign(a.as_flattened_mut(), b.as_flattened()));
    [low, high, leading]
        .into_iter()
        .flat_map(at_places)
        .collect()
}

/// `sum a_g b_g`, of halves; by three products of them (Karatsuba's way).
fn inner_product<R: Ring>(a: &Halves<R>, b: &Halves<R>) -> Galois<R> {
    let mut wide = [R::ZERO; WIDE];
    for (part, (a, b)) in a.iter().zip(b).enumerate() {
        let mut sums = [[R::ZERO; HALF]; HALF];
        R::add_outer(&mut sums, a, b);
        let mut product = [R::ZERO; DEGREE];
        for (i, sums) in sums.iter().enumerate() {
            let to = product[i..].iter_mut().zip(sums);
            to.for_each(|(to, sum)| *to = to.add(*sum));
        }
        // The middle is what the product of the sums has beside the two others.
        let places: &[(usize, bool)] = match part {
            0 => &[(0, true), (HALF, false)],
            1 => &[(DEGREE, true), (HALF, false)],
            _ => &[(HALF, true)],
        };
        for (at, plus) in places {
            for (to, value) in wide[*at..].iter_mut().zip(product) {
                *to = if *plus { to.add(value) } else { to.sub(value) };
            }
        }
    }
    Galois(reduce(&wide))
}

/// Vectors of elements of the base up to so many are folded by halves: fewer bytes.
const SMALL: usize = 1 << 12;
/// Vectors of elements of the base up to so many are folded from few parts.
const MIDDLE: usize = 1 << 14;

/// The first elements of all vectors, the second ones and so on.
fn rows<R: Ring>(x: &[Buffer<R>], n: usize) -> Vec<Vec<Row<R>>> {
    let rows = |x: &[Buffer<R>]| {
        let mut rows = vec![[R::ZERO; COLUMNS]; n];
        for (column, x) in x.iter().enumerate() {
            assert_eq!(x.len(), n);
            let pairs = rows.iter_mut().zip(x.iter());
            pairs.for_each(|(row, x)| row[column] = *x);
        }
        rows
    };
    x.chunks(COLUMNS).map(rows).collect()
}

/// `sum_g w_g u_g v_k[g]` of `n` vectors given as [`rows`].
fn weighted_columns<R: Ring>(w: &[u64], u: &[R], n: usize, rows: &[Vec<Row<R>>]) -> Vec<Galois<R>> {
    assert_eq!(w.len(), u.len());
    let mut out = Vec::with_capacity(n);
    for rows in rows {
        let mut buckets = Box::new([[[R::ZERO; COLUMNS]; 16]; GROUPS]);
        R::fill(&mut buckets, w, u, rows);
        let mut sums = [Galois::ZERO; COLUMNS];
        R::take_sums(&mut sums, &mut buckets);
        out.extend_from_slice(&sums[..COLUMNS.min(n - out.len())]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rabin's test over Z_2: `X^{2^48} = X`, and neither `X^{2^24} - X` nor `X^{2^16} - X` is a
    /// divisor of zero. The ring over `u8`, taken modulo 2.
    #[test]
    fn the_modulus_is_irreducible_modulo_2() {
        let mul = |a: u64, b: u64| {
            Galois::<u8>::from_bits(a)
                .mul(Galois::from_bits(b))
                .to_bits()
        };
        let frobenius = |n: u32| (0..n).fold(2, |v, _| mul(v, v));
        assert_eq!(frobenius(48), 2);
        for half in [24, 16] {
            let difference = frobenius(half) ^ 2;
            let powers = (1..48).fold((difference, 1), |(square, product), _| {
                let square = mul(square, square);
                (square, mul(product, square))
            });
            assert_eq!(mul(difference, powers.1), 1);
        }
    }
}

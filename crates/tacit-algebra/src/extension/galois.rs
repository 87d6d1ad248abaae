//! Galois rings GR(2^l, 48) = Z_2^l[X] / (X^48 + X^5 + X^3 + X^2 + 1).
//!
//! The polynomial is irreducible modulo 2, so an element is a unit unless all its coefficients
//! are even. The points are the polynomials with coefficients 0 and 1.

mod kernels;
pub mod product_side;

use std::ops::Range;

pub use self::kernels::Loops;
use self::kernels::{COLUMNS, GROUPS, Row, reduce};
use super::Extension;
use super::tower::padded;
use crate::{Buffer, MatMul, Prg, Ring, matmul_acc, vec};

/// The degree over `Z_2^l`.
pub const DEGREE: usize = 48;
/// The exponents below the degree whose coefficients are 1.
const TERMS: [usize; 4] = [0, 2, 3, 5];
const WIDE: usize = 2 * DEGREE;

/// An element of GR(2^l, 48).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    fn radix(n: usize) -> usize {
        if n > SMALL { 4 } else { 2 }
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
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        let side = radix * DEGREE;
        // Row and column `j DEGREE + i` are coefficient `i` of a part.
        let (mut left, mut right) = (vec![R::ZERO; side * len], vec![R::ZERO; side * len]);
        for (at, u) in u.iter().enumerate() {
            for (i, value) in u.0.iter().enumerate() {
                left[(at / len * DEGREE + i) * len + at % len] = *value;
            }
        }
        for (at, v) in v.iter().enumerate() {
            right[at % len * side + at / len * DEGREE..][..DEGREE].copy_from_slice(&v.0);
        }
        let mut sums = vec![R::ZERO; side * side];
        let shape = MatMul {
            m: side,
            k: len,
            n: side,
        };
        matmul_acc(&mut sums, &left, &right, shape);
        let pairs = (0..radix).flat_map(|j| (0..radix).map(move |k| (j, k)));
        let element = |(j, k): (usize, usize)| {
            let mut wide = [R::ZERO; WIDE];
            for i in 0..DEGREE {
                let row = &sums[(j * DEGREE + i) * side + k * DEGREE..][..DEGREE];
                for (to, sum) in wide[i..].iter_mut().zip(row) {
                    *to = to.add(*sum);
                }
            }
            Galois(reduce(&wide))
        };
        pairs.map(element).collect()
    }
    fn weigh(u: &mut [Self], w: &Vec<u64>) {
        assert_eq!(u.len(), w.len());
        R::weigh_to(u, w);
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        Self::products(a, b, 1, a.len().max(1))[0]
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

/// Vectors up to so many elements are folded by halves: more hops, fewer bytes.
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

//! Galois rings GR(2^l, 48) = Z_2^l[X] / (X^48 + X^5 + X^3 + X^2 + 1).
//!
//! The polynomial is irreducible modulo 2, so an element is a unit unless all its coefficients
//! are even. The points are the polynomials with coefficients 0 and 1.

use std::ops::Range;

use super::Extension;
use super::tower::padded;
use crate::isa::{self, simd};
use crate::patches::patch_matrix;
use crate::{Conv2d, MatMul, Prg, Ring, matmul_acc, vec};

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

/// The remainder of a polynomial of degree below `WIDE`.
#[inline(always)]
fn reduce<R: Ring>(wide: &mut [R; WIDE]) -> [R; DEGREE] {
    for k in (DEGREE..WIDE).rev() {
        for term in TERMS {
            wide[k - DEGREE + term] = wide[k - DEGREE + term].sub(wide[k]);
        }
    }
    std::array::from_fn(|i| wide[i])
}

/// Coefficients of a product that are summed at once.
const BLOCK: usize = 16;

/// `wide += a b`. Sums are taken block by block of the result, so that they stay in registers.
#[inline(always)]
fn multiply_into<R: Ring>(wide: &mut [R; WIDE], a: &[R; DEGREE], b: &[R; DEGREE]) {
    let mut padded = [R::ZERO; 3 * DEGREE];
    padded[DEGREE..2 * DEGREE].copy_from_slice(b);
    for (block, wide) in wide.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let mut sum = *wide;
        for (i, a) in a.iter().enumerate() {
            let from = &padded[DEGREE + block * BLOCK - i..][..BLOCK];
            for (sum, b) in sum.iter_mut().zip(from) {
                *sum = sum.add(a.mul(*b));
            }
        }
        *wide = sum;
    }
}

/// `a` times a point, which is public by the time that it is used.
#[inline(always)]
fn times_point<R: Ring>(a: &[R; DEGREE], point: u64) -> [R; DEGREE] {
    let mut padded = [R::ZERO; 3 * DEGREE];
    padded[DEGREE..2 * DEGREE].copy_from_slice(a);
    let mut wide = [R::ZERO; WIDE];
    for (block, wide) in wide.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let (mut sum, mut left) = (*wide, point);
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            left &= left - 1;
            let from = &padded[DEGREE + block * BLOCK - i..][..BLOCK];
            for (sum, a) in sum.iter_mut().zip(from) {
                *sum = sum.add(*a);
            }
        }
        *wide = sum;
    }
    reduce(&mut wide)
}

simd! {
    fn weighted<R: Ring>(w: &[u64], x: &[R]) -> [R; DEGREE] {
        let mut sum = [R::ZERO; DEGREE];
        for (w, x) in w.iter().zip(x) {
            for (i, sum) in sum.iter_mut().enumerate() {
                *sum = if w >> i & 1 != 0 { sum.add(*x) } else { *sum };
            }
        }
        sum
    }

    fn add_scaled<R: Ring>(out: &mut [Galois<R>], c: &[R; DEGREE], x: &[R]) {
        for (out, x) in out.iter_mut().zip(x) {
            for (out, c) in out.0.iter_mut().zip(c) {
                *out = out.add(c.mul(*x));
            }
        }
    }

    fn dot_into<R: Ring>(wide: &mut [R; WIDE], a: &[Galois<R>], b: &[Galois<R>]) {
        for (a, b) in a.iter().zip(b) {
            multiply_into(wide, &a.0, &b.0);
        }
    }

    fn weigh_to<R: Ring>(u: &mut [Galois<R>], w: &[u64]) {
        for (u, w) in u.iter_mut().zip(w) {
            u.0 = times_point(&u.0, *w);
        }
    }

    fn times_plus_to<R: Ring>(acc: &mut [Galois<R>], point: u64, x: &[Galois<R>]) {
        let zero = Galois([R::ZERO; DEGREE]);
        let x = x.iter().chain(std::iter::repeat(&zero));
        for (acc, x) in acc.iter_mut().zip(x) {
            acc.0 = times_point(&acc.0, point);
            for (acc, x) in acc.0.iter_mut().zip(&x.0) {
                *acc = acc.add(*x);
            }
        }
    }
}

impl<R: Ring> Extension for Galois<R> {
    type Base = Vec<R>;
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
        Self::dot(&[self], &[o])
    }
    fn base_radix(n: usize) -> usize {
        if n > SMALL { 8 } else { 2 }
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
    fn base_len(x: &Vec<R>) -> usize {
        x.len()
    }
    fn base_part(x: &Vec<R>, range: Range<usize>) -> Vec<R> {
        padded(x, range)
    }
    fn base_product(x: &Vec<R>, y: &Vec<R>) -> Vec<R> {
        vec::mul(x, y)
    }
    fn weighted_sum(w: &Vec<u64>, x: &Vec<R>) -> Self {
        assert_eq!(w.len(), x.len());
        Galois(weighted(isa::current(), w, x))
    }
    fn combine(c: &[Self], x: &[Vec<R>]) -> Vec<Self> {
        let isa = isa::current();
        let mut out = vec![Self::ZERO; x.first().map_or(0, Vec::len)];
        for (c, x) in c.iter().zip(x) {
            assert_eq!(x.len(), out.len());
            add_scaled(isa, &mut out, &c.0, x);
        }
        out
    }
    fn weigh(u: &mut [Self], w: &Vec<u64>) {
        assert_eq!(u.len(), w.len());
        weigh_to(isa::current(), u, w);
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        let mut wide = [R::ZERO; WIDE];
        dot_into(isa::current(), &mut wide, a, b);
        Galois(reduce(&mut wide))
    }
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]) {
        times_plus_to(isa::current(), acc, point.to_bits(), x);
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

/// The points as the columns of a matrix of bits, a row of `DEGREE` for each.
fn rows_of<R: Ring>(points: &[Galois<R>]) -> Vec<R> {
    points.iter().flat_map(|point| point.0).collect()
}

/// Sums of the columns of a `points x cols` matrix, each row times its point.
fn column_sums<R: Ring>(points: &[Galois<R>], matrix: &[R], cols: usize) -> Vec<Galois<R>> {
    let m = points.len();
    let mut bits = vec![R::ZERO; DEGREE * m];
    for (at, point) in points.iter().enumerate() {
        (0..DEGREE).for_each(|i| bits[i * m + at] = point.0[i]);
    }
    let mut sums = vec![R::ZERO; DEGREE * cols];
    let shape = MatMul {
        m: DEGREE,
        k: m,
        n: cols,
    };
    matmul_acc(&mut sums, &bits, matrix, shape);
    let column = |c| Galois(std::array::from_fn(|i| sums[i * cols + c]));
    (0..cols).map(column).collect()
}

/// Sums of the rows of a `rows x points` matrix, each column times its point.
fn row_sums<R: Ring>(points: &[Galois<R>], matrix: &[R], rows: usize) -> Vec<Galois<R>> {
    let shape = MatMul {
        m: rows,
        k: points.len(),
        n: DEGREE,
    };
    let mut sums = vec![R::ZERO; rows * DEGREE];
    matmul_acc(&mut sums, matrix, &rows_of(points), shape);
    Galois::from_rows(&sums)
}

/// One side of the inner product that a bilinear map compresses to.
pub mod product_side {
    use super::*;

    /// `a^T x` for a matrix `x` of `a.len()` rows.
    pub fn left<R: Ring>(a: &[Galois<R>], x: &[R], shape: MatMul) -> Vec<Galois<R>> {
        assert!(a.len() == shape.m && x.len() == shape.m * shape.k);
        column_sums(a, x, shape.k)
    }

    /// `w b` for a matrix `w` of `b.len()` columns.
    pub fn right<R: Ring>(b: &[Galois<R>], w: &[R], shape: MatMul) -> Vec<Galois<R>> {
        assert!(b.len() == shape.n && w.len() == shape.k * shape.n);
        row_sums(b, w, shape.k)
    }

    /// Sums of the weights of each group over its filters, each times its point of `a`.
    pub fn filters<R: Ring>(a: &[Galois<R>], w: &[R], shape: &Conv2d) -> Vec<Galois<R>> {
        assert!(a.len() == shape.filters && w.len() == shape.weight_len());
        let (each, taps) = (shape.filters / shape.groups, w.len() / shape.filters);
        let groups = a.chunks(each).zip(w.chunks(each * taps));
        groups.flat_map(|(a, w)| column_sums(a, w, taps)).collect()
    }

    /// Sums of what every tap of each group meets over the output positions of all images, each
    /// times its point of `b`.
    pub fn patches<R: Ring>(b: &[Galois<R>], x: &[R], shape: &Conv2d) -> Vec<Galois<R>> {
        assert!(x.len() == shape.input_len());
        let taps = shape.weight_len() / shape.filters;
        let mut out = Vec::with_capacity(shape.groups * taps);
        for group in 0..shape.groups {
            // Few taps at a time: the patches of all are many times the image.
            for first in (0..taps).step_by(16) {
                let some = first..taps.min(first + 16);
                let rows = some.len();
                out.extend(row_sums(b, &patch_matrix(x, shape, group, some), rows));
            }
        }
        out
    }

    /// `sum_{o,p} a_o b_p z_{o,p}` over the outputs of a matrix product.
    pub fn outputs<R: Ring>(a: &[Galois<R>], b: &[Galois<R>], z: &[R]) -> Galois<R> {
        assert_eq!(z.len(), a.len() * b.len());
        Galois::dot(a, &row_sums(b, z, a.len()))
    }

    /// The same over the outputs of a convolution, whose images, of `plane` elements in each
    /// channel, are outermost.
    pub fn planes<R: Ring>(a: &[Galois<R>], b: &[Galois<R>], z: &[R], plane: usize) -> Galois<R> {
        assert_eq!(z.len(), a.len() * b.len());
        let images = z.chunks(a.len() * plane).zip(b.chunks(plane));
        let sums = images.map(|(z, b)| outputs(a, b, z));
        sums.fold(Galois::ZERO, Galois::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv2d_acc;

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

    /// What both sides compress to has the compressed outputs as its inner product.
    fn compresses<R: Ring>() {
        let mut prg = Prg::new([5; 16]);
        for (m, k, n) in [(1, 1, 1), (3, 5, 2), (7, 70, 20)] {
            let shape = MatMul { m, k, n };
            let (x, w) = (prg.ring::<R>(m * k), prg.ring::<R>(k * n));
            let mut z = vec![R::ZERO; m * n];
            matmul_acc(&mut z, &x, &w, shape);
            let (a, b) = (Galois::points(&mut prg, m), Galois::points(&mut prg, n));
            let sides = (
                product_side::left(&a, &x, shape),
                product_side::right(&b, &w, shape),
            );
            assert_eq!(
                Galois::dot(&sides.0, &sides.1),
                product_side::outputs(&a, &b, &z)
            );
            let sum = z.iter().enumerate().fold(Galois::ZERO, |sum, (i, z)| {
                sum.add(a[i / n].mul(b[i % n]).mul(Galois::embed(*z)))
            });
            assert_eq!(product_side::outputs(&a, &b, &z), sum);
        }
        for (groups, pad, stride) in [
            (1, [0; 4], [1, 1]),
            (2, [1, 2, 0, 1], [2, 1]),
            (4, [0; 4], [1, 2]),
        ] {
            let shape = Conv2d {
                batch: 3,
                channels: 4,
                height: 6,
                width: 5,
                filters: 8,
                kernel: [3, 2],
                stride,
                pad,
                dilation: [1, 1],
                groups,
            };
            let (x, w) = (
                prg.ring::<R>(shape.input_len()),
                prg.ring::<R>(shape.weight_len()),
            );
            let mut z = vec![R::ZERO; shape.output_len()];
            conv2d_acc(&mut z, &x, &w, &shape);
            let plane = shape.out_height() * shape.out_width();
            let (a, b) = (
                Galois::points(&mut prg, 8),
                Galois::points(&mut prg, 3 * plane),
            );
            let sides = (
                product_side::filters(&a, &w, &shape),
                product_side::patches(&b, &x, &shape),
            );
            let outputs = product_side::planes(&a, &b, &z, plane);
            assert_eq!(Galois::dot(&sides.0, &sides.1), outputs, "{shape:?}");
            let sum = z.iter().enumerate().fold(Galois::ZERO, |sum, (i, z)| {
                let (filter, at) = (i / plane % 8, i / (8 * plane) * plane + i % plane);
                sum.add(a[filter].mul(b[at]).mul(Galois::embed(*z)))
            });
            assert_eq!(outputs, sum);
        }
    }

    #[test]
    fn bilinear_maps_compress() {
        compresses::<u8>();
        compresses::<u32>();
        compresses::<u64>();
    }
}

//! F_{p^d} over the primes of Falcon's comparisons, as polynomials modulo a trinomial.

use std::marker::PhantomData;
use std::ops::Range;

use super::Extension;
use crate::isa::{self, simd};
use crate::{MatMul, Prg, matmul_acc, prime};

/// Coefficients with room for the largest degree; those from the degree on are zero.
type Lanes = [u16; LANES];
const LANES: usize = 16;

/// A prime and the polynomial that extends its field: `X^D + LINEAR X^TERM + CONSTANT`.
pub trait Prime: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The prime.
    const P: u8;
    /// The degree; the field has more than 2^48 elements.
    const D: usize;
    /// The exponent of the middle term.
    const TERM: usize;
    /// The coefficient of the middle term.
    const LINEAR: u16;
    /// The constant term.
    const CONSTANT: u16;
}

macro_rules! prime {
    ($name:ident, $p:literal, $d:literal, $linear:literal, $term:literal, $constant:literal) => {
        #[doc = concat!("The field of ", $p, " elements, extended by degree ", $d, ".")]
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct $name;

        impl Prime for $name {
            const P: u8 = $p;
            const D: usize = $d;
            const TERM: usize = $term;
            const LINEAR: u16 = $linear;
            const CONSTANT: u16 = $constant;
        }
    };
}

prime!(F11, 11, 14, 1, 2, 4);
prime!(F19, 19, 12, 1, 1, 1);
prime!(F37, 37, 10, 2, 1, 3);
prime!(F67, 67, 8, 2, 1, 5);

/// An element of F_{p^d}; every element is a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tower<F>(Lanes, PhantomData<F>);

impl<F: Prime> Tower<F> {
    const fn new(lanes: Lanes) -> Self {
        Tower(lanes, PhantomData)
    }

    /// A residue as a constant polynomial.
    pub const fn embed(residue: u8) -> Self {
        let mut lanes = [0; LANES];
        lanes[0] = residue as u16;
        Tower::new(lanes)
    }
}

/// `X a`.
#[inline(always)]
fn shift<F: Prime>(a: &Lanes) -> Lanes {
    let p = F::P as u16;
    let top = a[F::D - 1];
    let mut out = [0; LANES];
    out[1..F::D].copy_from_slice(&a[..F::D - 1]);
    out[0] = top * (p - F::CONSTANT) % p;
    out[F::TERM] = (out[F::TERM] + top * (p - F::LINEAR)) % p;
    out
}

/// `a, X a, X^2 a, ...`.
#[inline(always)]
fn multiples<F: Prime>(a: &Lanes) -> [Lanes; LANES] {
    let mut rows = [*a; LANES];
    for i in 1..F::D {
        rows[i] = shift::<F>(&rows[i - 1]);
    }
    rows
}

/// `a` times the element of which `rows` are the multiples, plus `b`.
#[inline(always)]
fn product<F: Prime>(a: &Lanes, rows: &[Lanes; LANES], b: &Lanes) -> Lanes {
    // Below D p^2 + p < 2^16 for each of the primes.
    let mut sum = *b;
    for (a, row) in a[..F::D].iter().zip(rows) {
        for (sum, row) in sum.iter_mut().zip(row) {
            *sum += a * row;
        }
    }
    sum.map(|v| v % F::P as u16)
}

/// The remainder of `sum_k wide[k] X^k`.
fn reduce<F: Prime>(wide: &[u64]) -> Lanes {
    let p = u64::from(F::P);
    let mut out = [0; LANES];
    // Horner's rule from the highest coefficient on.
    for coefficient in wide.iter().rev() {
        out = shift::<F>(&out);
        out[0] = ((u64::from(out[0]) + coefficient) % p) as u16;
    }
    out
}

/// The product of two matrices of residues, whose sums are exact.
fn sums_of(left: &[u32], right: &[u32], [m, k, n]: [usize; 3]) -> Vec<u64> {
    let mut sums = vec![0u64; m * n];
    for start in (0..k).step_by(STRIP) {
        let k_strip = STRIP.min(k - start);
        let mut part = vec![0u32; m * n];
        let shape = MatMul { m, k: k_strip, n };
        let rows: Vec<u32> = match k_strip == k {
            true => Vec::new(),
            false => (left.chunks_exact(k))
                .flat_map(|row| row[start..start + k_strip].iter().copied())
                .collect(),
        };
        let left = if k_strip == k { left } else { &rows };
        matmul_acc(
            &mut part,
            left,
            &right[start * n..(start + k_strip) * n],
            shape,
        );
        for (sum, part) in sums.iter_mut().zip(part) {
            *sum += u64::from(part);
        }
    }
    sums
}

/// Products that can be added to a residue below 2^16: each is below 2^13 and so is that.
const LAZY: usize = 7;

/// Products whose sum fits 32 bits: all are below 2^13.
const STRIP: usize = 1 << 18;

simd! {
    fn weighted<F: Prime>(w: &[Tower<F>], x: &[u8]) -> Lanes {
        let mut sum = [0u32; LANES];
        for (w, x) in w.iter().zip(x) {
            for (sum, w) in sum.iter_mut().zip(&w.0) {
                *sum += (w * *x as u16) as u32;
            }
        }
        sum.map(|v| (v % F::P as u32) as u16)
    }

    /// `out += sum_j c_j x_j` modulo `p`, of at most [`LAZY`] vectors.
    fn add_scaled<F: Prime>(out: &mut [Tower<F>], c: &[Tower<F>], x: &[Vec<u8>]) {
        for (g, out) in out.iter_mut().enumerate() {
            let mut sum = out.0;
            for (c, x) in c.iter().zip(x) {
                for (sum, c) in sum.iter_mut().zip(&c.0) {
                    *sum += c * x[g] as u16;
                }
            }
            out.0 = sum.map(|v| v % F::P as u16);
        }
    }

    /// Lane `i` of `w_g x_g`.
    fn weigh_row<F: Prime>(row: &mut [u32], w: &[Tower<F>], i: usize, x: &[u8]) {
        for ((to, w), x) in row.iter_mut().zip(w).zip(x) {
            *to = (w.0[i] * *x as u16 % F::P as u16) as u32;
        }
    }

    /// `sum[i + j] += sum_g a_g[i] b_g[j]`.
    fn dot_into<F: Prime>(sum: &mut [u64], a: &[Tower<F>], b: &[Tower<F>]) {
        let mut square = [[0u32; LANES]; LANES];
        for (a, b) in a.iter().zip(b) {
            for (a, row) in a.0[..F::D].iter().zip(&mut square) {
                for (row, b) in row.iter_mut().zip(&b.0) {
                    *row += (a * b) as u32;
                }
            }
        }
        for (i, row) in square[..F::D].iter().enumerate() {
            for (sum, v) in sum[i..].iter_mut().zip(&row[..F::D]) {
                *sum += *v as u64;
            }
        }
    }

    fn times_plus_to<F: Prime>(acc: &mut [Tower<F>], rows: &[Lanes; LANES], x: &[Tower<F>]) {
        let (with, without) = acc.split_at_mut(x.len());
        for (acc, x) in with.iter_mut().zip(x) {
            acc.0 = product::<F>(&acc.0, rows, &x.0);
        }
        for acc in without {
            acc.0 = product::<F>(&acc.0, rows, &[0; LANES]);
        }
    }

    fn weigh_to<F: Prime>(u: &mut [Tower<F>], w: &[Tower<F>]) {
        for (u, w) in u.iter_mut().zip(w) {
            u.0 = product::<F>(&u.0, &multiples::<F>(&w.0), &[0; LANES]);
        }
    }
}

impl<F: Prime> Extension for Tower<F> {
    type Base = Vec<u8>;
    type Weights = Vec<Self>;
    const ZERO: Self = Tower::new([0; LANES]);
    const ONE: Self = Tower::embed(1);

    fn add(self, o: Self) -> Self {
        let mut sum = self.0;
        let pairs = sum.iter_mut().zip(o.0);
        pairs.for_each(|(s, o)| *s = (*s + o) % u16::from(F::P));
        Tower::new(sum)
    }
    fn sub(self, o: Self) -> Self {
        let mut sum = self.0;
        let pairs = sum.iter_mut().zip(o.0);
        pairs.for_each(|(s, o)| *s = (*s + u16::from(F::P) - o) % u16::from(F::P));
        Tower::new(sum)
    }
    fn mul(self, o: Self) -> Self {
        let product = product::<F>(&self.0, &multiples::<F>(&o.0), &[0; LANES]);
        Tower::new(product)
    }
    fn base_radix(_n: usize) -> usize {
        16
    }
    fn radix(n: usize) -> usize {
        n.clamp(2, 16)
    }
    fn random(prg: &mut Prg, n: usize) -> Vec<Self> {
        let residues = prg.prime(F::P, n * F::D);
        Self::from_residues(&residues)
    }
    fn points(prg: &mut Prg, n: usize) -> Vec<Self> {
        Self::random(prg, n)
    }
    fn weights(prg: &mut Prg, n: usize) -> Vec<Self> {
        Self::random(prg, n)
    }
    fn base_len(x: &Vec<u8>) -> usize {
        x.len()
    }
    fn base_part(x: &Vec<u8>, range: Range<usize>) -> Vec<u8> {
        padded(x, range)
    }
    fn base_product(x: &Vec<u8>, y: &Vec<u8>) -> Vec<u8> {
        let (mut out, zeros) = (vec![0; x.len()], vec![0; x.len()]);
        prime::product_assign(F::P, &mut out, x, &zeros, y, &zeros);
        out
    }
    fn weighted_sum(w: &Vec<Self>, x: &Vec<u8>) -> Self {
        assert_eq!(w.len(), x.len());
        let isa = isa::current();
        let strips = w.chunks(STRIP).zip(x.chunks(STRIP));
        let sums = strips.map(|(w, x)| Tower::new(weighted(isa, w, x)));
        sums.fold(Self::ZERO, Self::add)
    }
    fn combine(c: &[Self], x: &[Vec<u8>]) -> Vec<Self> {
        let isa = isa::current();
        let mut out = vec![Self::ZERO; x.first().map_or(0, Vec::len)];
        for (c, x) in c.chunks(LAZY).zip(x.chunks(LAZY)) {
            assert!(c.len() == x.len() && x.iter().all(|x| x.len() == out.len()));
            add_scaled(isa, &mut out, c, x);
        }
        out
    }
    fn weighted_products(w: &Vec<Self>, u: &[Vec<u8>], v: &[Vec<u8>]) -> Vec<Self> {
        let (isa, n) = (isa::current(), w.len());
        // Row `j D + i` is lane `i` of `w_g u_j[g]`.
        let mut left = vec![0; u.len() * F::D * n];
        for (rows, u) in left.chunks_exact_mut(F::D * n).zip(u) {
            assert_eq!(u.len(), n);
            for (i, row) in rows.chunks_exact_mut(n).enumerate() {
                weigh_row::<F>(isa, row, w, i, u);
            }
        }
        let columns = v.len();
        let mut right = vec![0; n * columns];
        for (k, v) in v.iter().enumerate() {
            assert_eq!(v.len(), n);
            for (to, v) in right[k..].iter_mut().step_by(columns).zip(v) {
                *to = u32::from(*v);
            }
        }
        let sums = sums_of(&left, &right, [u.len() * F::D, n, v.len()]);
        let lane = |j: usize, k: usize, i: usize| sums[(j * F::D + i) * v.len() + k];
        let pairs = (0..u.len()).flat_map(|j| (0..v.len()).map(move |k| (j, k)));
        let element = |(j, k)| {
            let mut lanes = [0; LANES];
            (0..F::D).for_each(|i| lanes[i] = (lane(j, k, i) % u64::from(F::P)) as u16);
            Tower::new(lanes)
        };
        pairs.map(element).collect()
    }
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        let (d, side) = (F::D, radix * F::D);
        // Row `j D + i` of the left side and column `k D + i` of the right one is lane `i` of a part.
        let mut left = vec![0; side * len];
        for (at, u) in u.iter().enumerate() {
            for (i, lane) in u.0[..d].iter().enumerate() {
                left[(at / len * d + i) * len + at % len] = u32::from(*lane);
            }
        }
        let mut right = vec![0; len * side];
        for (at, v) in v.iter().enumerate() {
            let row = &mut right[at % len * side + at / len * d..][..d];
            for (to, lane) in row.iter_mut().zip(&v.0) {
                *to = u32::from(*lane);
            }
        }
        let sums = sums_of(&left, &right, [side, len, side]);
        let pairs = (0..radix).flat_map(|j| (0..radix).map(move |k| (j, k)));
        let element = |(j, k): (usize, usize)| {
            let mut wide = [0; 2 * LANES];
            for i in 0..d {
                let row = &sums[(j * d + i) * side + k * d..][..d];
                for (to, sum) in wide[i..].iter_mut().zip(row) {
                    *to += sum;
                }
            }
            Tower::new(reduce::<F>(&wide))
        };
        pairs.map(element).collect()
    }
    fn weigh(u: &mut [Self], w: &Vec<Self>) {
        assert_eq!(u.len(), w.len());
        weigh_to(isa::current(), u, w);
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        let isa = isa::current();
        let mut sum = [0; 2 * LANES];
        for (a, b) in a.chunks(STRIP).zip(b.chunks(STRIP)) {
            dot_into(isa, &mut sum, a, b);
        }
        Tower::new(reduce::<F>(&sum))
    }
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]) {
        times_plus_to(isa::current(), acc, &multiples::<F>(&point.0), x);
    }
    fn wire_len(n: usize) -> usize {
        prime::packed_len(F::P, n * F::D)
    }
    fn to_wire(x: &[Self]) -> Vec<u8> {
        let lanes = x.iter().flat_map(|x| &x.0[..F::D]);
        prime::pack(F::P, &lanes.map(|v| *v as u8).collect::<Vec<_>>())
    }
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<Self>> {
        let residues = prime::unpack(F::P, bytes, n * F::D)?;
        Some(Self::from_residues(&residues))
    }
}

impl<F: Prime> Tower<F> {
    fn from_residues(residues: &[u8]) -> Vec<Self> {
        let element = |residues: &[u8]| {
            let mut lanes = [0; LANES];
            let pairs = lanes.iter_mut().zip(residues);
            pairs.for_each(|(lane, r)| *lane = u16::from(*r));
            Tower::new(lanes)
        };
        residues.chunks_exact(F::D).map(element).collect()
    }
}

/// The elements of `range`, and zeros where there are none.
pub(super) fn padded<T: Copy + Default>(x: &[T], range: Range<usize>) -> Vec<T> {
    let end = range.end.min(x.len());
    let mut part = x[range.start.min(end)..end].to_vec();
    part.resize(range.len(), T::default());
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rabin's test: `X^{p^d} = X`, and no `X^{p^{d/q}} - X` with a prime `q` divides zero.
    fn irreducible<F: Prime>() {
        let power = |a: Tower<F>, mut e: u128| {
            let (mut square, mut out) = (a, Tower::embed(1));
            while e > 0 {
                if e & 1 == 1 {
                    out = out.mul(square);
                }
                square = square.mul(square);
                e >>= 1;
            }
            out
        };
        let (p, d) = (u128::from(F::P), F::D as u32);
        let mut lanes = [0; LANES];
        lanes[1] = 1;
        let x = Tower::<F>::new(lanes);
        let frobenius = |n: u32| (0..n).fold(x, |v, _| power(v, p));
        assert_eq!(frobenius(d), x);
        for q in [2, 3, 5, 7].into_iter().filter(|q| d.is_multiple_of(*q)) {
            let difference = frobenius(d / q).sub(x);
            let order = p.pow(d) - 1;
            assert_eq!(power(difference, order), Tower::embed(1), "{p}, {q}");
        }
        assert!((f64::from(F::P)).log2() * f64::from(d) > 48.0);
    }

    #[test]
    fn the_moduli_are_irreducible() {
        irreducible::<F11>();
        irreducible::<F19>();
        irreducible::<F37>();
        irreducible::<F67>();
    }

    /// The largest residues everywhere: no sum leaves its word.
    #[test]
    fn the_largest_sums_are_right() {
        fn check<F: Prime>() {
            let most = Tower::<F>::from_residues(&vec![F::P - 1; F::D])[0];
            let n = STRIP + 3;
            let one = most.mul(most);
            let (many, mut sum) = (vec![most; n], Tower::ZERO);
            (0..n % usize::from(F::P)).for_each(|_| sum = sum.add(one));
            assert_eq!(Tower::dot(&many, &many), sum);
            let scaled = Tower::<F>::weighted_sum(&many, &vec![F::P - 1; n]);
            let minus = Tower::ZERO.sub(most);
            let mut expected = Tower::ZERO;
            (0..n % usize::from(F::P)).for_each(|_| expected = expected.add(minus));
            assert_eq!(scaled, expected);
        }
        check::<F11>();
        check::<F19>();
        check::<F37>();
        check::<F67>();
    }
}

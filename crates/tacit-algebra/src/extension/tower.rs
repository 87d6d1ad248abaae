//! F_{p^d} over the primes of Falcon's comparisons, as polynomials modulo a trinomial.

mod kernels;

use std::marker::PhantomData;
use std::ops::Range;

use bytemuck::Pod;

use self::kernels::{BLOCK, LAZY, multiples, product, shift};
use super::Extension;
use crate::{Buffer, Prg, isa, prime};

/// Coefficients with room for the largest degree; those from the degree on are zero.
type Lanes = [u16; LANES];
const LANES: usize = 16;

/// A prime and the polynomial that extends its field: `X^D + LINEAR X^TERM + CONSTANT`.
pub trait Prime: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The prime `p`, the order of the field that is extended.
    const P: u8;
    /// The degree; the field has more than 2^48 elements.
    const D: usize;
    /// The exponent of the middle term.
    const TERM: usize;
    /// The coefficient of the middle term.
    const LINEAR: u16;
    /// The constant term of the polynomial.
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

/// Points as factors of vectors.
#[derive(Clone)]
pub struct Weights<F> {
    /// The points' coefficients as factors, lane by lane.
    rows: Vec<i16>,
    points: Vec<Tower<F>>,
}

fn to_i16(x: &[u8]) -> Vec<i16> {
    x.iter().map(|v| i16::from(*v)).collect()
}

/// `sums[r][c]` of the products of rows with columns of `n` elements. `row(r, range, to)` writes
/// a part of a row.
fn grams(
    n: usize,
    rows: usize,
    columns: &[Vec<i16>],
    mut row: impl FnMut(usize, Range<usize>, &mut [i16]),
) -> Vec<u64> {
    let (isa, each) = (isa::current(), columns.len());
    let mut sums = vec![0; rows * each];
    let mut buffer = [0; BLOCK];
    for start in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - start);
        let part = &mut buffer[..len];
        for (r, sums) in sums.chunks_exact_mut(each.max(1)).enumerate() {
            row(r, start..start + len, part);
            kernels::gram(isa, sums, part, columns, len, start);
        }
    }
    sums
}

impl<F: Prime> Extension for Tower<F> {
    type Base = Buffer<u8>;
    type Weights = Weights<F>;
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
    fn weights(prg: &mut Prg, n: usize) -> Weights<F> {
        let rows = prg.prime(F::P, n * F::D);
        let mut points = vec![Self::ZERO; n];
        for (i, row) in rows.chunks_exact(n.max(1)).enumerate() {
            let pairs = points.iter_mut().zip(row);
            pairs.for_each(|(point, v)| point.0[i] = u16::from(*v));
        }
        let rows = to_i16(&rows);
        Weights { rows, points }
    }
    fn base_len(x: &Buffer<u8>) -> usize {
        x.len()
    }
    fn base_part(x: &Buffer<u8>, range: Range<usize>) -> Buffer<u8> {
        padded(x, range)
    }
    fn base_join(x: &[Buffer<u8>]) -> Buffer<u8> {
        Buffer::concat(&x.iter().collect::<Vec<_>>())
    }
    fn base_product(x: &Buffer<u8>, y: &Buffer<u8>) -> Buffer<u8> {
        x.residues_mul(F::P, y)
    }
    fn weighted_sums(w: &Self::Weights, x: &[Buffer<u8>]) -> Vec<Self> {
        let n = w.points.len();
        assert!(x.iter().all(|x| x.len() == n));
        let columns: Vec<_> = x.iter().map(|x| to_i16(x)).collect();
        let sums = grams(n, F::D, &columns, |i, range, to| {
            to.copy_from_slice(&w.rows[i * n..][range]);
        });
        let element = |c| Self::from_lanes(|i| sums[i * x.len() + c]);
        (0..x.len()).map(element).collect()
    }
    fn combine(c: &[Self], x: &[Buffer<u8>]) -> Vec<Self> {
        let isa = isa::current();
        let mut out = vec![Self::ZERO; x.first().map_or(0, Buffer::len)];
        let x: Vec<&[u8]> = x.iter().map(|x| &x[..]).collect();
        for (c, x) in c.chunks(LAZY).zip(x.chunks(LAZY)) {
            assert!(c.len() == x.len() && x.iter().all(|x| x.len() == out.len()));
            kernels::add_scaled(isa, &mut out, c, x);
        }
        out
    }
    fn weighted_products(w: &Self::Weights, u: &[Buffer<u8>], v: &[Buffer<u8>]) -> Vec<Self> {
        let (isa, n) = (isa::current(), w.points.len());
        assert!(u.iter().chain(v).all(|x| x.len() == n));
        let columns: Vec<_> = v.iter().map(|v| to_i16(v)).collect();
        // Row `j D + i` is lane `i` of `w_g u_j[g]`.
        let sums = grams(n, u.len() * F::D, &columns, |row, range, to| {
            let weights = &w.rows[row % F::D * n..][range.clone()];
            kernels::scale::<F>(isa, to, weights, &u[row / F::D][range]);
        });
        let pairs = (0..u.len()).flat_map(|j| (0..v.len()).map(move |k| (j, k)));
        let element = |(j, k)| Self::from_lanes(|i| sums[(j * F::D + i) * v.len() + k]);
        pairs.map(element).collect()
    }
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        let (d, side) = (F::D, radix * F::D);
        // Row and column `j D + i` are lane `i` of a part.
        let [rows, columns] = [u, v].map(|x| {
            let mut lanes = vec![vec![0; len]; side];
            for (j, part) in x.chunks(len).enumerate() {
                for (i, lane) in lanes[j * d..][..d].iter_mut().enumerate() {
                    let pairs = lane.iter_mut().zip(part);
                    pairs.for_each(|(to, x)| *to = x.0[i] as i16);
                }
            }
            lanes
        });
        let sums = grams(len, side, &columns, |row, range, to| {
            to.copy_from_slice(&rows[row][range]);
        });
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
    fn weigh(u: &mut [Self], w: &Self::Weights) {
        assert_eq!(u.len(), w.points.len());
        kernels::multiply(isa::current(), u, &w.points);
    }
    fn dot(a: &[Self], b: &[Self]) -> Self {
        assert_eq!(a.len(), b.len());
        Self::products(a, b, 1, a.len().max(1))[0]
    }
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]) {
        kernels::times_plus_to(isa::current(), acc, &multiples::<F>(&point.0), x);
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
    /// The element whose lanes are these, modulo `p`.
    fn from_lanes(lane: impl Fn(usize) -> u64) -> Self {
        let mut lanes = [0; LANES];
        (0..F::D).for_each(|i| lanes[i] = (lane(i) % u64::from(F::P)) as u16);
        Tower::new(lanes)
    }

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
pub(super) fn padded<T: Pod>(x: &Buffer<T>, range: Range<usize>) -> Buffer<T> {
    let end = range.end.min(x.len());
    let part = x.part(range.start.min(end)..end);
    match range.len() - part.len() {
        0 => part,
        missing => Buffer::concat(&[&part, &Buffer::zeros(missing)]),
    }
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
            let n = BLOCK + 3;
            let one = most.mul(most);
            let (many, mut sum) = (vec![most; n], Tower::ZERO);
            (0..n % usize::from(F::P)).for_each(|_| sum = sum.add(one));
            assert_eq!(Tower::dot(&many, &many), sum);
            let rows = vec![i16::from(F::P) - 1; n * F::D];
            let weights = Weights { rows, points: many };
            let scaled = Tower::<F>::weighted_sums(&weights, &[vec![F::P - 1; n].into()])[0];
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

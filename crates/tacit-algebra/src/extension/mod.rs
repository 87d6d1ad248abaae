//! Large extensions of the small domains that protocols share in, from which coins for checks
//! are drawn: GF(2^64) over bits, F_{p^d} over small primes, Galois rings over `Z_2^l`, and the integers modulo
//! a product of two primes for words that are not reduced.
//!
//! Every extension has a set of at least 2^48 *points* whose differences are units. A polynomial
//! of degree `k` that is not zero has at most `k` roots among the points, and a sum of terms that
//! are not all zero, each times a uniformly random point, is zero with probability at most one in
//! the number of points.

mod binary;
pub mod cube;
mod galois;
mod integers;
mod tower;

use std::ops::Range;

pub use binary::Binary;
pub(crate) use galois::Loops;
pub use galois::{DEGREE, Galois, blocks, product_side};
pub use integers::{Integer, Integers, size_of_ring};
pub use tower::{F11, F19, F37, F67, Prime, Tower};

use crate::Prg;

/// An element of an extension; vectors of them are plain slices.
///
/// The kernels that take elements of the base read them as they are stored by the protocols; all
/// lengths must fit, else they panic.
pub trait Extension: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// A vector of elements of the base.
    type Base: Clone;
    /// Random points as [`Extension::weighted_sums`] wants them.
    type Weights: Clone;
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;
    /// The most elements of the base that a segment of a proof's vectors has.
    const SEGMENT: usize = 64_512;
    /// How many segments of one proof may be folded at the same points. More segments take more folds,
    /// whose errors add up.
    const SEGMENTS: usize = 1;
    /// Whether the parts of the first fold are the corners of a [`cube`], as many as a power of two; else they are
    /// coefficients of a polynomial.
    const CUBE: bool = false;

    /// `self + o`.
    fn add(self, o: Self) -> Self;
    /// `self - o`.
    fn sub(self, o: Self) -> Self;
    /// `self * o`.
    fn mul(self, o: Self) -> Self;

    /// How many parts `n` elements of the base are cut into for a fold; an even number.
    fn base_radix(n: usize) -> usize;
    /// How many parts a vector of `n` elements is cut into for a fold.
    fn radix(n: usize) -> usize;
    /// How many parts a segment of `n` elements is cut into after its first fold.
    fn inner_radix(n: usize) -> usize {
        Self::radix(n)
    }
    /// How many blocks each of `vectors` vectors of `n` elements of the base is cut into for the first
    /// fold, and the length of a block.
    fn blocks(n: usize, vectors: usize) -> [usize; 2] {
        let len = n.div_ceil(Self::base_radix(vectors * n) / vectors);
        [n.div_ceil(len), len]
    }

    /// `n` uniform elements.
    fn random(prg: &mut Prg, n: usize) -> Vec<Self>;
    /// `n` uniform points.
    fn points(prg: &mut Prg, n: usize) -> Vec<Self>;
    /// `n` uniform points as weights.
    fn weights(prg: &mut Prg, n: usize) -> Self::Weights;

    /// The number of elements.
    fn base_len(x: &Self::Base) -> usize;
    /// The elements of `range`, and zeros where there are none.
    fn base_part(x: &Self::Base, range: Range<usize>) -> Self::Base;
    /// The vectors one after the other.
    fn base_join(x: &[Self::Base]) -> Self::Base;
    /// What [`Extension::base_part`] gives of vectors one after the other.
    fn base_gather(x: &[&Self::Base], range: Range<usize>) -> Self::Base {
        let (mut parts, mut start, mut at) = (Vec::new(), 0, range.start);
        for x in x {
            let end = start + Self::base_len(x);
            if at < end.min(range.end) {
                parts.push(Self::base_part(x, at - start..end.min(range.end) - start));
                at = end.min(range.end);
            }
            start = end;
        }
        match (parts.pop(), at < range.end) {
            (Some(part), false) if parts.is_empty() => part,
            (last, _) => {
                parts.extend(last);
                Self::base_part(&Self::base_join(&parts), 0..range.len())
            }
        }
    }
    /// Products, element by element.
    fn base_product(x: &Self::Base, y: &Self::Base) -> Self::Base;
    /// `sum w_g x_j[g]` of every vector.
    fn weighted_sums(w: &Self::Weights, x: &[Self::Base]) -> Vec<Self>;
    /// `sum_j c_j x_j`, element by element of the vectors `x_j`.
    fn combine(c: &[Self], x: &[Self::Base]) -> Vec<Self>;
    /// `u_g = w_g u_g`.
    fn weigh(u: &mut [Self], w: &Self::Weights);

    /// `sum_g w_g u_j[g] v_k[g]` of all pairs of vectors, `k` running fastest.
    fn weighted_products(w: &Self::Weights, u: &[Self::Base], v: &[Self::Base]) -> Vec<Self> {
        let pairs = u.iter().flat_map(|u| v.iter().map(move |v| (u, v)));
        let products: Vec<_> = pairs.map(|(u, v)| Self::base_product(u, v)).collect();
        Self::weighted_sums(w, &products)
    }

    /// The blocks of a vector, as many elements each.
    fn split(x: &Self::Base, blocks: usize) -> Vec<Self::Base> {
        let len = Self::base_len(x) / blocks;
        let block = |q| Self::base_part(x, q * len..(q + 1) * len);
        (0..blocks).map(block).collect()
    }
    /// [`Extension::weighted_sums`] of the blocks of a vector.
    fn block_sums(w: &Self::Weights, blocks: usize, x: &Self::Base) -> Vec<Self> {
        Self::weighted_sums(w, &Self::split(x, blocks))
    }
    /// [`Extension::weighted_products`] of the blocks of vectors.
    fn block_products(
        w: &Self::Weights,
        blocks: usize,
        u: &[Self::Base],
        v: &[Self::Base],
    ) -> Vec<Self> {
        let [u, v] = [u, v].map(|x| split_all::<Self>(x, blocks));
        Self::weighted_products(w, &u, &v)
    }
    /// What the inner product, with weights, is at all places of the [`cube`] whose corners are the blocks of vectors.
    fn cube_products(
        w: &Self::Weights,
        blocks: usize,
        u: &[Self::Base],
        v: &[Self::Base],
    ) -> Vec<Self> {
        let pairs = Self::block_products(w, blocks, u, v);
        cube::of_pairs(&pairs, u.len() * blocks)
    }
    /// [`Extension::combine`] of the blocks of vectors.
    fn combine_blocks(c: &[Self], blocks: usize, x: &[Self::Base]) -> Vec<Self> {
        Self::combine(c, &split_all::<Self>(x, blocks))
    }

    /// `sum_g u_j[g] v_k[g]` of all pairs of different parts, of `radix` of `len` elements, missing ones zero,
    /// `k` running fastest. What stands in the places of equal parts, whose sum a fold begins with, is any
    /// element.
    fn products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        pair_by_pair(u, v, radix, len)
    }

    /// Of [`Extension::products`] those of equal distance, summed: the coefficients of `<u(X), v(X)>` for
    /// `u(X) = sum u_j X^j` and `v(X) = sum v_j X^{r-1-j}`. What stands in the middle, for the products of equal parts, is
    /// any element.
    fn line_products(u: &[Self], v: &[Self], radix: usize, len: usize) -> Vec<Self> {
        cube::by_distance(&Self::products(u, v, radix, len), radix)
    }

    /// `sum a_g b_g`.
    fn dot(a: &[Self], b: &[Self]) -> Self;
    /// `acc = point acc + x`; `x` may be shorter than `acc` by zeros.
    fn times_plus(acc: &mut [Self], point: Self, x: &[Self]);

    /// Bytes of `n` elements on the wire.
    fn wire_len(n: usize) -> usize;
    /// The elements as bytes.
    fn to_wire(x: &[Self]) -> Vec<u8>;
    /// The inverse; `None` if the bytes are not `n` elements.
    fn from_wire(bytes: &[u8], n: usize) -> Option<Vec<Self>>;

    /// A uniform point other than 0.
    fn point(prg: &mut Prg) -> Self {
        loop {
            let point = Self::points(prg, 1)[0];
            if point != Self::ZERO {
                return point;
            }
        }
    }

    /// The powers from the 0th on.
    fn powers(self, n: usize) -> Vec<Self> {
        std::iter::successors(Some(Self::ONE), |power| Some(power.mul(self)))
            .take(n)
            .collect()
    }

    /// `u_0 + u_1 X + ...` at a point, for the parts `u_j` of `len` elements of `u`.
    fn fold(u: &[Self], len: usize, point: Self) -> Vec<Self> {
        Self::horner(u.chunks(len).rev(), len, point)
    }

    /// `u_0 X^{r-1} + u_1 X^{r-2} + ...` at a point, for `r` parts, missing ones zero.
    fn fold_reversed(u: &[Self], len: usize, radix: usize, point: Self) -> Vec<Self> {
        let missing = radix - u.len().div_ceil(len);
        let none: &[Self] = &[];
        let parts = u.chunks(len).chain(std::iter::repeat_n(none, missing));
        Self::horner(parts, len, point)
    }

    /// The last of `parts` plus `point` times the one before and so on.
    fn horner<'a>(
        mut parts: impl Iterator<Item = &'a [Self]>,
        len: usize,
        point: Self,
    ) -> Vec<Self> {
        let mut acc = parts.next().map_or(Vec::new(), <[Self]>::to_vec);
        acc.resize(len, Self::ZERO);
        parts.for_each(|part| Self::times_plus(&mut acc, point, part));
        acc
    }
}

/// [`Extension::products`] by as many inner products as there are pairs.
fn pair_by_pair<K: Extension>(u: &[K], v: &[K], radix: usize, len: usize) -> Vec<K> {
    let part = |x: &[K], j: usize| {
        let [start, end] = [j * len, (j + 1) * len].map(|at| at.min(x.len()));
        start..end
    };
    let pairs = (0..radix).flat_map(|j| (0..radix).map(move |k| (j, k)));
    let product = |(j, k)| {
        if j == k {
            return K::ZERO;
        }
        let (u, v) = (&u[part(u, j)], &v[part(v, k)]);
        let common = u.len().min(v.len());
        K::dot(&u[..common], &v[..common])
    };
    pairs.map(product).collect()
}

/// The blocks of vectors, one vector after the other.
fn split_all<K: Extension>(x: &[K::Base], blocks: usize) -> Vec<K::Base> {
    x.iter().flat_map(|x| K::split(x, blocks)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use crate::isa::same_everywhere;

    /// The laws of a commutative ring on random elements, and what the kernels compute, from
    /// their definitions; `base` draws elements of the base and `lift` takes them into the
    /// extension.
    fn laws<E: Extension>(
        base: impl Fn(&mut Prg, usize) -> E::Base,
        lift: impl Fn(&E::Base) -> Vec<E>,
    ) {
        let mut prg = Prg::new([3; 16]);
        for _ in 0..50 {
            let x = E::random(&mut prg, 3);
            let [a, b, c] = [x[0], x[1], x[2]];
            assert_eq!(a.add(b).sub(b), a);
            assert_eq!(a.mul(b), b.mul(a));
            assert_eq!(a.mul(b).mul(c), a.mul(b.mul(c)));
            assert_eq!(a.add(b).mul(c), a.mul(c).add(b.mul(c)));
            assert_eq!(a.mul(E::ONE), a);
            assert_eq!(a.mul(E::ZERO), E::ZERO);
        }
        for n in [1usize, 2, 63, 64, 65, 200] {
            let (x, y) = (base(&mut prg, n), base(&mut prg, n));
            let (lx, ly) = (lift(&x), lift(&y));
            assert_eq!((E::base_len(&x), lx.len()), (n, n));
            let product = lift(&E::base_product(&x, &y));
            assert!((0..n).all(|i| product[i] == lx[i].mul(ly[i])));
            let part = lift(&E::base_part(&x, 0..n + 1));
            assert!(part[..n] == lx[..] && part[n..].iter().all(|v| *v == E::ZERO));
            gathers::<E>(&[&x, &y, &x], &lift);
            blocks_are_parts::<E>(&mut prg, &base, n);

            let weights = E::weights(&mut prg, n);
            let mut w = vec![E::ONE; n];
            E::weigh(&mut w, &weights);
            let sum =
                |a: &[E], b: &[E]| a.iter().zip(b).fold(E::ZERO, |s, (a, b)| s.add(a.mul(*b)));
            assert_eq!(
                same_everywhere(|| E::weighted_sums(&weights, &[x.clone(), y.clone()])),
                [sum(&w, &lx), sum(&w, &ly)]
            );
            let c = E::random(&mut prg, 16);
            let parts: Vec<_> = (0..16).map(|_| base(&mut prg, n)).collect();
            let combined = same_everywhere(|| E::combine(&c, &parts));
            let lifted: Vec<Vec<E>> = parts.iter().map(&lift).collect();
            for i in 0..n {
                let column: Vec<E> = lifted.iter().map(|part| part[i]).collect();
                assert_eq!(combined[i], sum(&c, &column));
            }
            let products =
                same_everywhere(|| E::weighted_products(&weights, &parts[..3], &parts[3..5]));
            for (at, product) in products.iter().enumerate() {
                let (u, v) = (&lifted[at / 2], &lifted[3 + at % 2]);
                let weighed: Vec<E> = w.iter().zip(u).map(|(w, u)| w.mul(*u)).collect();
                assert_eq!(*product, sum(&weighed, v));
            }
            let (u, v) = (E::random(&mut prg, n), E::random(&mut prg, n));
            assert_eq!(same_everywhere(|| E::dot(&u, &v)), sum(&u, &v));
            for radix in [1, 2, 4, 5, 8] {
                // The second vector is shorter than its parts.
                let (len, short) = (n.div_ceil(radix), n - n / 3);
                let products = same_everywhere(|| E::products(&u, &v[..short], radix, len));
                let different = |at: &(usize, &E)| at.0 / radix != at.0 % radix;
                for (at, product) in products.iter().enumerate().filter(different) {
                    let of = |x: &[E], j: usize, i: usize| {
                        x.get(j * len + i).copied().unwrap_or(E::ZERO)
                    };
                    let terms =
                        (0..len).map(|i| of(&u, at / radix, i).mul(of(&v[..short], at % radix, i)));
                    assert_eq!(*product, terms.fold(E::ZERO, E::add));
                }
                let mut line = E::line_products(&u, &v[..short], radix, len);
                let mut right = cube::by_distance(&products, radix);
                for coefficients in [&mut line, &mut right] {
                    coefficients.remove(radix - 1);
                }
                assert_eq!(line, right);
            }
            let mut weighed = u.clone();
            E::weigh(&mut weighed, &weights);
            assert!((0..n).all(|i| weighed[i] == u[i].mul(w[i])));
            folds(&u, E::point(&mut prg));
            let wire = E::to_wire(&u);
            assert_eq!(wire.len(), E::wire_len(n));
            assert!(E::from_wire(&wire, n).as_deref() == Some(&u));
            assert!(E::from_wire(&wire[1..], n).is_none());
        }
        let points = E::points(&mut prg, 100);
        assert!((1..100).all(|i| points[i] != points[0]), "points repeat");
    }

    /// Any part of vectors one after the other.
    fn gathers<E: Extension>(x: &[&E::Base], lift: &impl Fn(&E::Base) -> Vec<E>) {
        let all: Vec<E> = x.iter().flat_map(|x| lift(x)).collect();
        let n = all.len();
        for range in [0..n, 0..n / 3, n / 4..n / 2, n / 2..n + 70, n..n + 3, 1..1] {
            let part = lift(&E::base_gather(x, range.clone()));
            let right = range.map(|i| all.get(i).copied().unwrap_or(E::ZERO));
            assert!(part == right.collect::<Vec<_>>());
        }
    }

    /// What is computed of blocks is computed of what they are split into.
    fn blocks_are_parts<E: Extension>(
        prg: &mut Prg,
        base: &impl Fn(&mut Prg, usize) -> E::Base,
        n: usize,
    ) {
        for vectors in [1, 2] {
            let [blocks, len] = E::blocks(n, vectors);
            assert!(blocks * len >= n);
            let weights = E::weights(prg, len);
            let [u, v] = [0; 2]
                .map(|_| -> Vec<_> { (0..vectors).map(|_| base(prg, blocks * len)).collect() });
            let [us, vs] = [&u, &v].map(|x| split_all::<E>(x, blocks));
            let c = E::random(prg, vectors * blocks);
            let products = same_everywhere(|| E::block_products(&weights, blocks, &u, &v));
            assert!(products == E::weighted_products(&weights, &us, &vs), "{n}");
            if E::CUBE {
                let places = same_everywhere(|| E::cube_products(&weights, blocks, &u, &v));
                assert!(places == cube::of_pairs(&products, us.len()), "{n}");
            }
            let sums = same_everywhere(|| E::block_sums(&weights, blocks, &u[0]));
            assert!(sums == E::weighted_sums(&weights, &us[..blocks]), "{n}");
            let combined = same_everywhere(|| E::combine_blocks(&c, blocks, &u));
            assert!(combined == E::combine(&c, &us), "{n}");
        }
    }

    fn folds<E: Extension>(u: &[E], point: E) {
        for radix in [2, 3, 16] {
            let len = u.len().div_ceil(radix);
            let powers = point.powers(radix);
            let at = |j: usize, i: usize| {
                u.get(j * len + i)
                    .filter(|_| i < len)
                    .copied()
                    .unwrap_or(E::ZERO)
            };
            let (folded, reversed) = same_everywhere(|| {
                (
                    E::fold(u, len, point),
                    E::fold_reversed(u, len, radix, point),
                )
            });
            for i in 0..len {
                let sum = |power: &dyn Fn(usize) -> usize| {
                    (0..radix).fold(E::ZERO, |s, j| s.add(at(j, i).mul(powers[power(j)])))
                };
                assert_eq!(folded[i], sum(&|j| j));
                assert_eq!(reversed[i], sum(&|j| radix - 1 - j));
            }
        }
    }

    fn lift_residues<F: Prime>(x: &[u8]) -> Vec<Tower<F>> {
        x.iter().map(|&v| Tower::embed(v)).collect()
    }

    #[test]
    fn bits_extend_to_a_field() {
        laws::<Binary>(
            |prg, n| prg.bits(n),
            |x| (0..x.len()).map(|i| Binary(u64::from(x.get(i)))).collect(),
        );
    }

    #[test]
    fn residues_extend_to_fields() {
        laws::<Tower<F11>>(|prg, n| prg.residues(11, n), |x| lift_residues(x));
        laws::<Tower<F19>>(|prg, n| prg.residues(19, n), |x| lift_residues(x));
        laws::<Tower<F37>>(|prg, n| prg.residues(37, n), |x| lift_residues(x));
        laws::<Tower<F67>>(|prg, n| prg.residues(67, n), |x| lift_residues(x));
    }

    #[test]
    fn integers_extend_to_two_fields() {
        // Half as long, so that products are words, too.
        laws::<Integer>(
            |prg, n| Integers::of_words(&Buffer::from(crate::vec::shr(&prg.ring::<u64>(n), 32))),
            |x| Integer::combine(&[Integer::ONE], std::slice::from_ref(x)),
        );
    }

    #[test]
    fn words_extend_to_galois_rings() {
        fn check<R: crate::Ring>() {
            laws::<Galois<R>>(
                |prg, n| prg.words(n),
                |x| x.iter().map(|&v| Galois::embed(v)).collect(),
            );
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }
}

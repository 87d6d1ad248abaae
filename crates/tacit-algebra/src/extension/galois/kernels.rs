//! The loops over elements of Galois rings.

use bytemuck::TransparentWrapper;

use super::{DEGREE, Galois, HALF, WIDE};
use crate::Ring;
use crate::isa::{self, Isa, simd};
use crate::kernel::Kernels;
use crate::kernel::polynomials::{Line, Polynomials, Square, TERMS};

/// The remainder of a polynomial of degree below `WIDE`.
#[inline(always)]
pub(super) fn reduce<R: Ring>(wide: &[R; WIDE]) -> [R; DEGREE] {
    // The high half times the polynomial's lower terms, of degree below DEGREE + 5.
    let mut high = [R::ZERO; DEGREE + 2 * BLOCK];
    high[BLOCK..BLOCK + DEGREE].copy_from_slice(&wide[DEGREE..]);
    let mut folded = [R::ZERO; DEGREE + BLOCK];
    for term in TERMS {
        for (folded, v) in folded.iter_mut().zip(&high[BLOCK - term..]) {
            *folded = folded.add(*v);
        }
    }
    let mut out = [R::ZERO; DEGREE];
    for ((out, low), folded) in out.iter_mut().zip(&wide[..]).zip(&folded) {
        *out = low.sub(*folded);
    }
    // What is left beyond the degree, once more.
    for (i, v) in folded[DEGREE..].iter().take(TERMS[3]).enumerate() {
        for term in TERMS {
            out[i + term] = out[i + term].add(*v);
        }
    }
    out
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

/// The coefficients of a factor that meet some of the other's in a block of the result.
#[inline(always)]
const fn meeting(block: usize) -> u64 {
    let (first, end) = (BLOCK * block, BLOCK * (block + 1));
    let below = if end < DEGREE { end } else { DEGREE };
    let from = if first < DEGREE {
        0
    } else {
        first + 1 - DEGREE
    };
    (1 << below) - (1 << from)
}

/// `wide += a` times a point, which is public by the time that it is used.
#[inline(always)]
fn add_times_point<R: Ring>(wide: &mut [R; WIDE], a: &[R; DEGREE], point: u64) {
    let mut padded = [R::ZERO; 3 * DEGREE];
    padded[DEGREE..2 * DEGREE].copy_from_slice(a);
    for (block, wide) in wide.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
        let (mut sum, mut left) = (*wide, point & meeting(block));
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
}

/// `a` times a point.
#[inline(always)]
fn times_point<R: Ring>(a: &[R; DEGREE], point: u64) -> [R; DEGREE] {
    let mut wide = [R::ZERO; WIDE];
    add_times_point(&mut wide, a, point);
    reduce(&wide)
}

/// The lower halves of elements' coefficients, the upper ones and their sums.
pub type Halves<R> = [Vec<Line<R>>; 3];

/// Columns that are summed side by side: so many that the first-level cache holds their buckets.
pub const COLUMNS: usize = 16;
pub type Row<R> = [R; COLUMNS];
/// The coefficients of a point are looked at four at a time.
pub const GROUPS: usize = DEGREE / 4;
/// For each group and each value of its coefficients the sum of some rows.
pub type Buckets<R> = [[Row<R>; 16]; GROUPS];

/// Adds a row to the buckets of a point.
#[inline(always)]
fn add_row<R: Ring>(buckets: &mut Buckets<R>, point: u64, row: &Row<R>) {
    for (group, buckets) in buckets.iter_mut().enumerate() {
        let bucket = &mut buckets[(point >> (4 * group) & 15) as usize];
        for (sum, v) in bucket.iter_mut().zip(row) {
            *sum = sum.add(*v);
        }
    }
}

simd! {
    /// Adds the rows `u_g v_g` to the buckets of the points `w_g`, which are public by then.
    pub(super) fn fill<R: Ring>(buckets: &mut Buckets<R>, w: &[u64], u: &[R], v: &[Row<R>]) {
        for ((w, u), v) in w.iter().zip(u).zip(v) {
            add_row(buckets, *w, &v.map(|v| v.mul(*u)));
        }
    }

    /// Adds rows to the buckets of the points `w_g`.
    pub(super) fn add_rows<R: Ring>(buckets: &mut Buckets<R>, w: &[u64], rows: &[&Row<R>]) {
        for (w, row) in w.iter().zip(rows) {
            add_row(buckets, *w, row);
        }
    }

    /// Each column's sum of all rows times their points: coefficient `i` has the sums of all values of its
    /// group with bit `i mod 4` set. The buckets are used up.
    pub(super) fn take_sums<R: Ring>(out: &mut [Galois<R>], buckets: &mut Buckets<R>) {
        for (group, buckets) in buckets.iter_mut().enumerate() {
            for bit in (0..4).rev() {
                let (low, high) = buckets.split_at_mut(1 << bit);
                let mut sums = [R::ZERO; COLUMNS];
                for (low, high) in low.iter_mut().zip(high.iter()) {
                    for ((sum, low), high) in sums.iter_mut().zip(low).zip(high) {
                        *sum = sum.add(*high);
                        *low = low.add(*high);
                    }
                }
                let elements = out.iter_mut().zip(sums);
                elements.for_each(|(element, sum)| element.0[4 * group + bit] = sum);
            }
        }
    }

    /// `sum w_g x_g` for points `w_g` and every `step`-th element.
    pub(super) fn sum_at_points<R: Ring>(w: &[u64], x: &[Galois<R>], step: usize) -> Galois<R> {
        let mut wide = [R::ZERO; WIDE];
        for (w, x) in w.iter().zip(x.iter().step_by(step)) {
            add_times_point(&mut wide, &x.0, *w);
        }
        Galois(reduce(&wide))
    }

    /// `out = sum_j c_j x_j`.
    pub(super) fn combine_into<R: Ring>(out: &mut [Galois<R>], c: &[Galois<R>], x: &[&[R]]) {
        for (g, out) in out.iter_mut().enumerate() {
            for (block, out) in out.0.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                let mut sum = [R::ZERO; BLOCK];
                for (c, x) in c.iter().zip(x) {
                    let (c, x) = (&c.0.as_chunks::<BLOCK>().0[block], x[g]);
                    for (sum, c) in sum.iter_mut().zip(c) {
                        *sum = sum.add(c.mul(x));
                    }
                }
                *out = sum;
            }
        }
    }

    /// The lower halves of elements' coefficients, the upper ones and their sums; zeros where there are no elements.
    pub(super) fn halves<R: Ring>(x: &[Galois<R>], len: usize) -> Halves<R> {
        let mut all: Halves<R> = std::array::from_fn(|_| vec![[R::ZERO; HALF]; len]);
        let [low, high, both] = &mut all;
        let places = low.iter_mut().zip(high.iter_mut()).zip(both.iter_mut());
        for (((low, high), both), x) in places.zip(x) {
            low.copy_from_slice(&x.0[..HALF]);
            high.copy_from_slice(&x.0[HALF..]);
            for ((both, low), high) in both.iter_mut().zip(low.iter()).zip(high.iter()) {
                *both = low.add(*high);
            }
        }
        all
    }

    pub(super) fn product<R: Ring>(a: &Galois<R>, b: &Galois<R>) -> Galois<R> {
        let mut wide = [R::ZERO; WIDE];
        multiply_into(&mut wide, &a.0, &b.0);
        Galois(reduce(&wide))
    }

    pub(super) fn weigh_to<R: Ring>(u: &mut [Galois<R>], w: &[u64]) {
        for (u, w) in u.iter_mut().zip(w) {
            u.0 = times_point(&u.0, *w);
        }
    }
}

/// The loops over elements of Galois rings, of one ring: compiled here once, with this crate's
/// optimisation, whoever calls them.
pub trait Loops: Sized {
    /// [`fill`].
    fn fill(buckets: &mut Buckets<Self>, w: &[u64], u: &[Self], v: &[Row<Self>]);
    /// [`add_rows`].
    fn add_rows(buckets: &mut Buckets<Self>, w: &[u64], rows: &[&Row<Self>]);
    /// [`take_sums`].
    fn take_sums(out: &mut [Galois<Self>], buckets: &mut Buckets<Self>);
    /// [`sum_at_points`].
    fn sum_at_points(w: &[u64], x: &[Galois<Self>], step: usize) -> Galois<Self>;
    /// [`combine_into`].
    fn combine_into(out: &mut [Galois<Self>], c: &[Galois<Self>], x: &[&[Self]]);
    /// [`halves`].
    fn halves(x: &[Galois<Self>], len: usize) -> Halves<Self>;
    /// `sums[i][j] += sum_g a[g][i] b[g][j]`.
    fn add_outer(sums: &mut Square<Self>, a: &[Line<Self>], b: &[Line<Self>]);
    /// [`Polynomials::point_sums`].
    fn point_sums(out: &mut [Galois<Self>], points: &[u64], x: &[Self]) -> bool;
    /// [`product`].
    fn product(a: &Galois<Self>, b: &Galois<Self>) -> Galois<Self>;
    /// [`weigh_to`].
    fn weigh_to(u: &mut [Galois<Self>], w: &[u64]);
    /// `acc = point acc + x`, of a point given by its bits.
    fn times_plus_to(acc: &mut [Galois<Self>], point: u64, x: &[Galois<Self>]);
}

/// A method of the kernels of a ring, of the instruction set at hand.
macro_rules! by_isa {
    ($ring:ty, $method:ident($($given:expr),*)) => {
        match isa::current() {
            Isa::Amx | Isa::Avx512 => <$ring as Kernels>::Avx512::$method($($given),*),
            Isa::Avx2 => <$ring as Kernels>::Avx2::$method($($given),*),
            Isa::Portable => <$ring as Kernels>::Portable::$method($($given),*),
        }
    };
}

macro_rules! loops {
    ($($word:ty),+) => {$(
        impl Loops for $word {
            fn fill(buckets: &mut Buckets<Self>, w: &[u64], u: &[Self], v: &[Row<Self>]) {
                fill(isa::current(), buckets, w, u, v);
            }
            fn add_rows(buckets: &mut Buckets<Self>, w: &[u64], rows: &[&Row<Self>]) {
                add_rows(isa::current(), buckets, w, rows);
            }
            fn take_sums(out: &mut [Galois<Self>], buckets: &mut Buckets<Self>) {
                take_sums(isa::current(), out, buckets);
            }
            fn sum_at_points(w: &[u64], x: &[Galois<Self>], step: usize) -> Galois<Self> {
                sum_at_points(isa::current(), w, x, step)
            }
            fn combine_into(out: &mut [Galois<Self>], c: &[Galois<Self>], x: &[&[Self]]) {
                combine_into(isa::current(), out, c, x);
            }
            fn halves(x: &[Galois<Self>], len: usize) -> Halves<Self> {
                halves(isa::current(), x, len)
            }
            fn add_outer(sums: &mut Square<Self>, a: &[Line<Self>], b: &[Line<Self>]) {
                by_isa!(Self, add_outer(sums, a, b))
            }
            fn point_sums(out: &mut [Galois<Self>], points: &[u64], x: &[Self]) -> bool {
                let out = Galois::peel_slice_mut(out);
                by_isa!(Self, point_sums(out, points, x))
            }
            fn product(a: &Galois<Self>, b: &Galois<Self>) -> Galois<Self> {
                product(isa::current(), a, b)
            }
            fn weigh_to(u: &mut [Galois<Self>], w: &[u64]) {
                weigh_to(isa::current(), u, w);
            }
            fn times_plus_to(acc: &mut [Galois<Self>], point: u64, x: &[Galois<Self>]) {
                let (acc, x) = (Galois::peel_slice_mut(acc), Galois::peel_slice(x));
                by_isa!(Self, times_plus(acc, point, x))
            }
        }
    )+};
}

loops!(u8, u16, u32, u64);

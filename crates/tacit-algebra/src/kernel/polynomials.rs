//! Polynomials of degree below 48 over a ring, the elements of Galois rings: their loops by explicit vectors.

use super::{Four, Lanes, Portable};
use crate::Ring;

/// How polynomials are computed with, by their coefficients' ring.
pub trait Polynomials {
    type Word;

    /// `acc[g] = point acc[g] + x[g]` of polynomials modulo `X^48 + X^5 + X^3 + X^2 + 1`, for a point whose coefficients
    /// are bits, which are public; `x` may be shorter by zeros.
    fn times_plus(acc: &mut [Element<Self::Word>], point: u64, x: &[Element<Self::Word>]);

    /// Sets `out[k]`, zero before, to `sum_j p_j x[k][j]`: for points `p_j` like that of [`Polynomials::times_plus`], and
    /// rows of `x` as long as there are points. False, and nothing is done, where a kernel has none.
    fn point_sums(_out: &mut [Element<Self::Word>], _points: &[u64], _x: &[Self::Word]) -> bool {
        false
    }

    /// `sums[i][j] += sum_g a[g][i] b[g][j]`, of operands as they lie.
    fn add_outer(sums: &mut Square<Self::Word>, a: &[Line<Self::Word>], b: &[Line<Self::Word>]);
}

/// The length of a [`Line`]: a multiple of all rows and vectors that [`Polynomials::add_outer`] takes at a time.
pub const LINE: usize = 24;
/// What an outer product is taken of, and what it gives.
pub type Line<W> = [W; LINE];
pub type Square<W> = [Line<W>; LINE];
/// The coefficients of a polynomial.
pub type Element<W> = [W; 2 * LINE];
/// The exponents below the degree whose coefficients in the modulus are 1.
pub const TERMS: [usize; 4] = [0, 2, 3, 5];

/// [`Polynomials::add_outer`] with `ROWS` rows of `VECTORS` vectors of the sums in registers.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
pub(super) unsafe fn outer<L: Lanes, const ROWS: usize, const VECTORS: usize>(
    sums: &mut Square<L::Word>,
    a: &[Line<L::Word>],
    b: &[Line<L::Word>],
) {
    const { assert!(LINE.is_multiple_of(ROWS) && LINE.is_multiple_of(VECTORS * L::LEN)) }
    for (tile, sums) in sums.chunks_exact_mut(ROWS).enumerate() {
        for first in (0..LINE).step_by(VECTORS * L::LEN) {
            // SAFETY: the caller's promise.
            unsafe {
                let mut c = [[L::splat(L::Word::ZERO); VECTORS]; ROWS];
                for (a, b) in a.iter().zip(b) {
                    let mut columns = [L::splat(L::Word::ZERO); VECTORS];
                    for (v, columns) in columns.iter_mut().enumerate() {
                        *columns = L::load(&b[first + v * L::LEN..]);
                    }
                    for (i, c) in c.iter_mut().enumerate() {
                        let row = L::splat(a[tile * ROWS + i]);
                        for (c, columns) in c.iter_mut().zip(columns) {
                            *c = c.add_product(row, columns);
                        }
                    }
                }
                for (c, sums) in c.into_iter().zip(sums.iter_mut()) {
                    for (v, c) in c.into_iter().enumerate() {
                        let sums = &mut sums[first + v * L::LEN..];
                        c.plus(L::load(sums)).store(sums);
                    }
                }
            }
        }
    }
}

/// Words before and after an element, so that it can be read shifted.
const EDGE: usize = 8;
/// An element between zeros.
type Padded<W> = [W; 2 * LINE + 2 * EDGE];

/// [`Polynomials::times_plus`] with an element's `VECTORS` vectors and the `SUMS = 2 VECTORS` of a product in registers. An
/// element is shifted by less than a vector once for all bits that do so.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
pub(super) unsafe fn times_plus<L: Lanes, const VECTORS: usize, const SUMS: usize>(
    acc: &mut [Element<L::Word>],
    point: u64,
    x: &[Element<L::Word>],
) {
    const { assert!(VECTORS * L::LEN == 2 * LINE && SUMS == 2 * VECTORS && L::LEN <= EDGE) }
    let mut padded: Padded<L::Word> = [L::Word::ZERO; _];
    let zero = [L::Word::ZERO; 2 * LINE];
    for (acc, x) in acc.iter_mut().zip(x.iter().chain(std::iter::repeat(&zero))) {
        padded[EDGE..EDGE + 2 * LINE].copy_from_slice(acc);
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [L::splat(L::Word::ZERO); SUMS];
            for lanes in 0..L::LEN {
                let mut parts = [L::splat(L::Word::ZERO); VECTORS];
                for (v, part) in parts.iter_mut().enumerate() {
                    *part = L::load(&padded[EDGE - lanes + v * L::LEN..]);
                }
                let last = L::load(&padded[EDGE - lanes + VECTORS * L::LEN..]);
                for first in 0..VECTORS {
                    if point >> (first * L::LEN + lanes) & 1 == 1 {
                        for v in 0..VECTORS {
                            sums[first + v] = sums[first + v].plus(parts[v]);
                        }
                        sums[first + VECTORS] = sums[first + VECTORS].plus(last);
                    }
                }
            }
            remainder::<L, VECTORS, SUMS>(acc, &sums, x);
        }
    }
}

/// The remainder of a product, plus `x`.
///
/// # Safety
/// That of [`Lanes`].
#[inline(always)]
unsafe fn remainder<L: Lanes, const VECTORS: usize, const SUMS: usize>(
    out: &mut Element<L::Word>,
    product: &[L; SUMS],
    x: &Element<L::Word>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut high: Padded<L::Word> = [L::Word::ZERO; _];
        for v in 0..VECTORS {
            product[VECTORS + v].store(&mut high[EDGE + v * L::LEN..]);
        }
        let high_terms = &mut high[EDGE..EDGE + 2 * LINE];
        // What the highest terms leave beyond the degree.
        for term in TERMS {
            for k in 0..term {
                high_terms[k] = high_terms[k].sub(high_terms[2 * LINE - term + k]);
            }
        }
        for v in 0..VECTORS {
            let mut less = L::splat(L::Word::ZERO);
            for term in TERMS {
                less = less.plus(L::load(&high[EDGE - term + v * L::LEN..]));
            }
            let sum = product[v].plus(L::load(&x[v * L::LEN..]));
            sum.less(less).store(&mut out[v * L::LEN..]);
        }
    }
}

impl<R: Ring> Polynomials for Portable<R> {
    type Word = R;

    fn add_outer(sums: &mut Square<R>, a: &[Line<R>], b: &[Line<R>]) {
        // SAFETY: `Four` needs no instructions beyond the target's.
        unsafe { outer::<Four<R>, 2, 2>(sums, a, b) }
    }

    fn times_plus(acc: &mut [Element<R>], point: u64, x: &[Element<R>]) {
        // SAFETY: as above.
        unsafe { times_plus::<Four<R>, 12, 24>(acc, point, x) }
    }
}

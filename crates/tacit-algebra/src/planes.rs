//! Local steps of adding two numbers by their bits: the carry out of the top, by a tree of generate and
//! propagate on bit planes (`BitRows`: 64 elements to a word, a row for each bit).
//!
//! Groups of neighbouring bits, lowest first, each have a row of `g`, whether they generate a carry, and,
//! but for the lowest, a row of `p`, whether they pass one on: row `i` of `p` is that of group `i + 1`.
//! The lowest group's is never needed, at no level. Neighbours join by
//! `(g, p) o (g', p') = (g ^ p g', p p')`. All maps here but the products are linear, so they work on
//! components of shared bits one by one.

use std::ops::Range;

use crate::buffer::Sizes;
use crate::isa::{self, simd};
use crate::words::{and_product_to, and_to, xor_to};
use crate::{BitRows, Bits, par};

/// The operands of a level's ANDs. Of each pair of groups, the upper one's `p`; and the lower ones'
/// `g`, then, but for the lowest pair, their `p`. [`doubled`] makes the first as many as the second.
pub fn operands(g: &BitRows, p: &BitRows) -> [BitRows; 2] {
    let pairs = g.rows() / 2;
    let upper = p.pick((0..pairs).map(|k| 2 * k));
    let lower = g.pick((0..pairs).map(|k| 2 * k));
    let passing = p.pick((1..pairs).map(|k| 2 * k - 1));
    [upper, BitRows::stack(&[&lower, &passing])]
}

/// All rows, then again all but the first: an operand that both ANDs of a pair have in common.
pub fn doubled(upper: &BitRows) -> BitRows {
    upper.pick((0..upper.rows()).chain(1..upper.rows()))
}

/// [`operands`] as packed bits, the first [`doubled`], each copied once.
pub fn packed_operands(g: &BitRows, p: &BitRows) -> [Bits; 2] {
    let pairs = g.rows() / 2;
    let products = 2 * pairs - 1;
    // The pair of a product of a `p` and a `p`; the lowest pair has none.
    let passing = |i: usize| i + 1 - pairs;
    let upper = (0..products).map(|i| match i < pairs {
        true => (p, 2 * i),
        false => (p, 2 * passing(i)),
    });
    let lower = (0..products).map(|i| match i < pairs {
        true => (g, 2 * i),
        false => (p, 2 * passing(i) - 1),
    });
    [
        BitRows::packed_of(upper, g.cols()),
        BitRows::packed_of(lower, g.cols()),
    ]
}

/// `a ^ b` of as many neighbouring rows of two matrices.
pub fn xor_rows(a: &BitRows, of_a: Range<usize>, b: &BitRows, of_b: Range<usize>) -> BitRows {
    assert!(a.cols() == b.cols() && of_a.len() == of_b.len());
    let (rows, cols) = (of_a.len(), a.cols());
    if a.is_counted() || b.is_counted() {
        return BitRows::counted(rows, cols);
    }
    let words = a.words_per_row();
    let of = |x: Range<usize>| x.start * words..x.end * words;
    let pairs = a.words()[of(of_a)].iter().zip(&b.words()[of(of_b)]);
    BitRows::from_words(rows, cols, pairs.map(|(a, b)| a ^ b).collect())
}

/// The groups of the next level from a level's groups and the products of its operands; an odd group
/// is kept.
pub fn join(g: &BitRows, p: &BitRows, products: &BitRows) -> [BitRows; 2] {
    let (pairs, groups) = (g.rows() / 2, g.rows());
    assert!(p.rows() + 1 == groups && products.rows() + 1 == 2 * pairs);
    let upper = (0..pairs).map(|k| 2 * k + 1);
    let mut joined = g.pick(upper.chain(2 * pairs..groups));
    if !joined.counts_with(&[products]) {
        let joins = pairs * joined.words_per_row();
        let (isa, products) = (isa::current(), products.words());
        par::for_each(&mut joined.words_mut()[..joins], |s, joined| {
            xor_to(isa, joined, &products[s..s + joined.len()])
        });
    }
    [
        joined,
        products.join_rows(pairs..2 * pairs - 1, p, 2 * pairs - 1..groups - 1),
    ]
}

/// `acc ^=` the local parts of a level's replicated ANDs, from both components of the groups: the rows are
/// those of [`operands`], read where they lie.
pub fn level_product_assign(acc: &mut BitRows, g: [&BitRows; 2], p: [&BitRows; 2]) {
    let pairs = g[0].rows() / 2;
    assert!(acc.rows() + 1 == 2 * pairs && p.iter().all(|p| p.rows() + 1 == g[0].rows()));
    if acc.counts_with(&[g[0], g[1], p[0], p[1]]) {
        return;
    }
    let (isa, words) = (isa::current(), acc.words_per_row());
    par::for_each_strip(acc.words_mut(), words.max(1), words.max(1), |row, acc| {
        let (upper, lower) = match row < pairs {
            true => (2 * row, g.map(|g| g.row(2 * row))),
            false => {
                let pair = row + 1 - pairs;
                (2 * pair, p.map(|p| p.row(2 * pair - 1)))
            }
        };
        let [x0, x1] = p.map(|p| p.row(upper));
        and_product_to(isa, acc, x0, x1, lower[0], lower[1]);
    });
}

/// `a ^= b`.
pub fn xor_assign(a: &mut BitRows, b: &BitRows) {
    same_shape(a, &[b]);
    if a.counts_with(&[b]) {
        return;
    }
    let isa = isa::current();
    par::for_each(a.words_mut(), |s, a| {
        xor_to(isa, a, &b.words()[s..s + a.len()])
    });
}

/// Every bit flipped.
pub fn not(a: &BitRows) -> BitRows {
    if a.is_counted() {
        return a.clone();
    }
    let words = a.words().iter().map(|word| !word).collect();
    BitRows::from_words(a.rows(), a.cols(), words)
}

/// `a & b`.
pub fn and(a: &BitRows, b: &BitRows) -> BitRows {
    same_shape(a, &[b]);
    let (mut out, isa) = (a.clone(), isa::current());
    if out.counts_with(&[b]) {
        return out;
    }
    par::for_each(out.words_mut(), |s, out| {
        and_to(isa, out, &b.words()[s..s + out.len()])
    });
    out
}

simd! {
    fn triple_to(c: &mut [u64], d: &[u64], e: &[u64], a: &[u64], b: &[u64], constant: u64) {
        for ((((c, d), e), a), b) in c.iter_mut().zip(d).zip(e).zip(a).zip(b) {
            *c ^= (d & (b ^ (e & constant))) ^ (e & a);
        }
    }
}

/// A share of `x & y` from the public `d = x ^ a` and `e = y ^ b` and shares of the triple:
/// `c ^ d b ^ e a`, and `d e` in the one that carries constants. `c` is overwritten by the result.
pub fn triple_product(
    mut c: BitRows,
    [d, e]: [&BitRows; 2],
    [a, b]: [&BitRows; 2],
    constant: bool,
) -> BitRows {
    same_shape(&c, &[d, e, a, b]);
    if c.counts_with(&[d, e, a, b]) {
        return c;
    }
    let isa = isa::current();
    let constant = if constant { u64::MAX } else { 0 };
    par::for_each(c.words_mut(), |s, c| {
        let at = s..s + c.len();
        let [d, e, a, b] = [d, e, a, b].map(|v| &v.words()[at.clone()]);
        triple_to(isa, c, d, e, a, b, constant)
    });
    c
}

fn same_shape(a: &BitRows, others: &[&BitRows]) {
    let shape = |v: &BitRows| (v.rows(), v.cols());
    assert!(others.iter().all(|other| shape(other) == shape(a)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::same_everywhere;
    use crate::words::and_product_words;
    use crate::{Prg, Ring};

    /// `acc ^= x0 y0 ^ x1 y0 ^ x0 y1`: the local part of a replicated AND of `x` and `y`.
    fn and_product_assign(acc: &mut BitRows, [x0, x1]: [&BitRows; 2], [y0, y1]: [&BitRows; 2]) {
        let [x0, x1, y0, y1] = [x0, x1, y0, y1].map(BitRows::words);
        and_product_words(acc.words_mut(), x0, x1, y0, y1);
    }

    /// Top bits of `u + v` modulo `2^w`, in the clear by these steps.
    fn tops<R: Ring>(u: &[R], v: &[R], w: u32) -> Bits {
        let [u, v] = [u, v].map(|a| BitRows::from_ring(a, w));
        let mut half = u.clone();
        xor_assign(&mut half, &v);
        let (last, leaves) = (w as usize - 1, 0..w as usize - 1);
        let top = half.row_bits(last);
        if leaves.is_empty() {
            return top;
        }
        let mut g = and(&u.pick(leaves.clone()), &v.pick(leaves));
        let mut p = half.pick(1..last.max(1));
        while g.rows() > 1 {
            let [upper, lower] = operands(&g, &p);
            [g, p] = join(&g, &p, &and(&doubled(&upper), &lower));
        }
        assert_eq!((g.rows(), p.rows()), (1, 0));
        top.xor(&g.row_bits(0))
    }

    fn sums<R: Ring>() {
        for n in [1, 65, 1000] {
            let mut prg = Prg::new([1; 16]);
            let [u, v] = [0; 2].map(|_| prg.ring::<R>(n));
            for w in 1..=R::BITS {
                let top = same_everywhere(|| tops(&u, &v, w));
                let bit = |i: usize| u[i].add(v[i]).shr(w - 1).to_u64() & 1 == 1;
                assert!(top == Bits::from_fn(n, bit), "{w} bits of {n} elements");
            }
        }
    }

    #[test]
    fn top_bits_of_sums_are_right() {
        sums::<u8>();
        sums::<u16>();
        sums::<u32>();
        sums::<u64>();
        let all = || (0..=255u8).flat_map(|a| (0..=255u8).map(move |b| (a, b)));
        let (u, v): (Vec<u8>, Vec<u8>) = all().unzip();
        let tops = tops(&u, &v, 8);
        assert!(
            all()
                .enumerate()
                .all(|(i, (a, b))| tops.get(i) == (a.wrapping_add(b) >= 128))
        );
    }

    #[test]
    fn a_level_s_products_are_those_of_its_operands() {
        for (groups, n) in [(2, 65), (3, 1), (7, 70), (64, 5000)] {
            let mut prg = Prg::new([3; 16]);
            let [g0, g1] = [0; 2].map(|_| prg.bit_rows(groups, n));
            let [p0, p1] = [0; 2].map(|_| prg.bit_rows(groups - 1, n));
            let mask = prg.bit_rows(2 * (groups / 2) - 1, n);
            let made = same_everywhere(|| {
                let mut made = mask.clone();
                level_product_assign(&mut made, [&g0, &g1], [&p0, &p1]);
                made
            });
            let [[upper0, lower0], [upper1, lower1]] = [operands(&g0, &p0), operands(&g1, &p1)];
            let [upper0, upper1] = [doubled(&upper0), doubled(&upper1)];
            let packed = same_everywhere(|| packed_operands(&g0, &p0));
            assert!(packed == [upper0.to_bits(), lower0.to_bits()]);
            let mut right = mask;
            and_product_assign(&mut right, [&upper0, &upper1], [&lower0, &lower1]);
            assert!(made == right, "{groups} groups of {n}");
        }
    }

    #[test]
    fn sums_of_neighbouring_rows() {
        for n in [1, 64, 65] {
            let mut prg = Prg::new([4; 16]);
            let (a, b) = (prg.bit_rows(5, n), prg.bit_rows(4, n));
            let mut right = a.pick(2..5);
            xor_assign(&mut right, &b.pick(1..4));
            assert!(xor_rows(&a, 2..5, &b, 1..4) == right, "{n}");
        }
    }

    #[test]
    fn products_of_rows() {
        for (rows, n) in [(1, 1), (3, 65), (62, 40_001)] {
            let mut prg = Prg::new([2; 16]);
            let mut random = || prg.bit_rows(rows, n);
            let xor = |a: &BitRows, b: &BitRows| {
                let mut sum = a.clone();
                xor_assign(&mut sum, b);
                sum
            };
            let [x, y, a, b, a0, b0, c0] = [0; 7].map(|_| random());
            let (d, e) = (xor(&x, &a), xor(&y, &b));
            let (a1, b1, c1) = (xor(&a, &a0), xor(&b, &b0), xor(&and(&a, &b), &c0));
            let z = same_everywhere(|| {
                let first = triple_product(c0.clone(), [&d, &e], [&a0, &b0], true);
                let second = triple_product(c1.clone(), [&d, &e], [&a1, &b1], false);
                xor(&first, &second)
            });
            assert!(z == and(&x, &y), "{rows} rows of {n}");
            let z = same_everywhere(|| {
                let mut z = c0.clone();
                and_product_assign(&mut z, [&x, &a], [&y, &b]);
                z
            });
            let terms = [and(&x, &y), and(&a, &y), and(&x, &b)];
            assert!(z == terms.iter().fold(c0.clone(), |sum, term| xor(&sum, term)));
        }
    }
}

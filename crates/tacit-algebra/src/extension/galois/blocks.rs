//! A product over the base whose inner dimension is cut into blocks: what `<u(X), v(X)>` has for its coefficients where
//! the blocks of both operands are the parts of `u` and `v`.

use super::{Extension, Galois};
use crate::{BatchMatMul, Conv2d, MatMul, Ring, conv2d_acc, matmul_acc};

/// The operands of a product: `[outer, inner, rest]` elements with zeros after the inner ones, up to `to` of them.
pub fn padded<R: Ring>(x: &[R], [outer, inner, rest]: [usize; 3], to: usize) -> Vec<R> {
    assert!(x.len() == outer * inner * rest && inner <= to);
    let mut out = vec![R::ZERO; outer * to * rest];
    let rows = x.chunks_exact((inner * rest).max(1));
    for (out, x) in out.chunks_exact_mut((to * rest).max(1)).zip(rows) {
        out[..x.len()].copy_from_slice(x);
    }
    out
}

/// Every block of the right operands with every block of the left ones: blocks of the right, rows, blocks of the left,
/// columns. The inner dimension is a multiple of `blocks`.
pub fn matrices<R: Ring>(x: &[R], w: &[R], shape: BatchMatMul, blocks: usize) -> Vec<R> {
    let MatMul { m, k, n } = shape.each;
    let len = k / blocks;
    assert!(k == len * blocks && x.len() == shape.left() && w.len() == shape.right());
    let each = MatMul {
        m: m * blocks,
        k: len,
        n,
    };
    let mut out = vec![R::ZERO; shape.batch * blocks * each.m * n];
    if out.is_empty() || len == 0 {
        return out;
    }
    // A row of the left operand holds that row of all its blocks in turn; a block of the right one is `len` whole rows.
    let pairs = x
        .chunks_exact(m * k)
        .flat_map(|x| (0..blocks).map(move |_| x));
    let pairs = pairs.zip(w.chunks_exact(len * n));
    for (out, (x, w)) in out.chunks_exact_mut(each.m * n).zip(pairs) {
        matmul_acc(out, x, w, each);
    }
    out
}

/// Every block of the images' channels with every block of the filters': images, blocks of the images, filters, blocks
/// of the filters, positions. There is one group, and its channels are a multiple of `blocks`.
pub fn images<R: Ring>(x: &[R], w: &[R], shape: &Conv2d, blocks: usize) -> Vec<R> {
    assert!(shape.groups == 1 && shape.channels.is_multiple_of(blocks));
    let shape = Conv2d {
        batch: shape.batch * blocks,
        channels: shape.channels / blocks,
        filters: shape.filters * blocks,
        ..*shape
    };
    let mut out = vec![R::ZERO; shape.output_len()];
    conv2d_acc(&mut out, x, w, &shape);
    out
}

/// Of the products of all pairs of blocks those of one distance, summed: in `one` of the left operand's block to
/// the right one's, in `other` the other way. Both are `[outer, blocks, middle, blocks, rest]` elements; for every
/// distance from `1 - blocks` to `blocks - 1` there are `[outer, middle, rest]`.
pub fn by_distance<R: Ring>(
    [one, other]: [&[R]; 2],
    [outer, blocks, middle, rest]: [usize; 4],
) -> Vec<Vec<R>> {
    assert!(one.len() == outer * blocks * middle * blocks * rest && one.len() == other.len());
    let mut out = vec![vec![R::ZERO; outer * middle * rest]; 2 * blocks - 1];
    let rows = one.chunks_exact(rest.max(1));
    for (at, (one, other)) in rows.zip(other.chunks_exact(rest.max(1))).enumerate() {
        let (right, at) = (at % blocks, at / blocks);
        let (m, at) = (at % middle, at / middle);
        let (left, o) = (at % blocks, at / blocks);
        let here = (o * middle + m) * rest;
        for (distance, row) in [
            (left + blocks - 1 - right, one),
            (right + blocks - 1 - left, other),
        ] {
            let sums = out[distance][here..here + rest].iter_mut().zip(row);
            sums.for_each(|(sum, value)| *sum = sum.add(*value));
        }
    }
    out
}

/// `sum_s f_s x_s`, times the point whose coefficients are the bits of `coin`: of blocks of a single row or column,
/// which a factor for each takes to one element at a time.
pub fn combined<R: Ring>(factors: &[Galois<R>], x: &[&[R]], coin: u64) -> Vec<Galois<R>> {
    let mut out = vec![Galois::ZERO; x.first().map_or(0, |x| x.len())];
    assert!(factors.len() == x.len() && x.iter().all(|x| x.len() == out.len()));
    let mut factors = factors.to_vec();
    R::times_plus_to(&mut factors, coin, &[]);
    R::combine_into(&mut out, &factors, x);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prg, batch_matmul_acc};

    /// The products at one distance, by slices of the padded operands.
    fn at_distance<R: Ring>(
        product: impl Fn(usize, usize) -> Vec<R>,
        blocks: usize,
        distance: isize,
    ) -> Vec<R> {
        let pairs = (0..blocks).flat_map(|s| (0..blocks).map(move |t| (s, t)));
        let those = pairs.filter(|(s, t)| *s as isize - *t as isize == distance);
        let sums = those.map(|(s, t)| product(s, t));
        let add = |a: Vec<R>, b: Vec<R>| a.iter().zip(&b).map(|(a, b)| a.add(*b)).collect();
        sums.reduce(add).expect("there is such a pair")
    }

    fn block<R: Ring>(x: &[R], [outer, inner, rest]: [usize; 3], at: usize, len: usize) -> Vec<R> {
        let row = |o: usize| &x[(o * inner + at * len) * rest..][..len * rest];
        (0..outer).flat_map(row).copied().collect()
    }

    #[test]
    fn blocks_of_matrices_are_multiplied_by_distance() {
        let mut prg = Prg::new([3; 16]);
        for (batch, m, k, n, blocks) in [(1, 1, 8, 1, 4), (2, 3, 7, 2, 2), (3, 1, 33, 5, 8)] {
            let len = usize::div_ceil(k, blocks);
            let x = padded(
                &prg.ring::<u64>(batch * m * k),
                [batch * m, k, 1],
                blocks * len,
            );
            let w = padded(&prg.ring::<u64>(batch * k * n), [batch, k, n], blocks * len);
            let shape = |k| BatchMatMul {
                batch,
                each: MatMul { m, k, n },
            };
            let all = matrices(&x, &w, shape(blocks * len), blocks);
            let none = vec![0; all.len()];
            // The blocks of the right operand come first.
            let dims = [batch, blocks, m, n];
            let one = by_distance([&none, &all], dims);
            let other = by_distance([&all, &none], dims);
            for (at, sums) in one.iter().enumerate() {
                let product = |s, t| {
                    let x = block(&x, [batch * m, blocks * len, 1], s, len);
                    let w = block(&w, [batch, blocks * len, n], t, len);
                    let mut z = vec![0; batch * m * n];
                    batch_matmul_acc(&mut z, &x, &w, shape(len));
                    z
                };
                let distance = at as isize + 1 - blocks as isize;
                assert_eq!(*sums, at_distance(product, blocks, distance));
                assert_eq!(*sums, other[2 * blocks - 2 - at]);
            }
        }
    }

    #[test]
    fn blocks_of_channels_are_convolved_by_distance() {
        let mut prg = Prg::new([4; 16]);
        let shape = |channels| Conv2d {
            batch: 2,
            channels,
            height: 4,
            width: 5,
            filters: 3,
            kernel: [2, 3],
            stride: [1, 2],
            pad: [1, 0, 0, 1],
            dilation: [1, 1],
            groups: 1,
        };
        let (blocks, len) = (4, 2);
        let whole = shape(blocks * len);
        let x = prg.ring::<u32>(whole.input_len());
        let w = prg.ring::<u32>(whole.weight_len());
        let all = images(&x, &w, &whole, blocks);
        let none = vec![0; all.len()];
        let positions = whole.out_height() * whole.out_width();
        let sums = by_distance([&all, &none], [2, blocks, 3, positions]);
        for (at, sums) in sums.iter().enumerate() {
            let product = |s, t| {
                let x = block(&x, [2, blocks * len, 20], s, len);
                let w = block(&w, [3, blocks * len, 6], t, len);
                let part = shape(len);
                let mut z = vec![0; part.output_len()];
                conv2d_acc(&mut z, &x, &w, &part);
                z
            };
            assert_eq!(
                *sums,
                at_distance(product, blocks, at as isize + 1 - blocks as isize)
            );
        }
    }
}

//! Matrix products and convolutions of factors of different widths (SiRnn, Algorithm 5, section
//! IV-C; docs/spec/sirnn.md, section 8).
//!
//! As products of numbers, with a row of the other matrix for every choice bit, and sums over the
//! inner dimension: what a bit selects of a whole row costs one OT. The wraps are those of the
//! tensors' elements, also in a convolution, whose patches are made after them.
//!
//! Differs from the paper: the choices by wraps are correlated OTs of `out - m` bits, not chosen
//! ones of the full width; a factor that is extended has its sign's wrap for one small OT, since
//! its shifted value leaves the top bit 0; which factor's bits are the choices of the cross terms
//! is decided by cost; nothing is truncated.

use tacit_algebra::ot::words;
use tacit_algebra::{BatchMatMul, Conv2d, MatMul};
use tacit_protocols::Error;

use crate::factor::Factor;
use crate::multiply::LIMIT;
use crate::sum::Shape;
use crate::{Engine, Shared};

/// Bits in which sums of `inner` products of `m` and `n` bits cannot overflow.
pub fn product_bits(m: u32, n: u32, inner: usize) -> u32 {
    m + n + inner.max(1).next_power_of_two().ilog2()
}

impl Engine {
    /// Shares modulo `2^out` of the product of a `shape.m x shape.k` and a `shape.k x shape.n`
    /// matrix (SiRnn, Algorithm 5, appendix D2); [`product_bits`] hold every sum.
    ///
    /// Hops of [`Engine::multiply`], and 2 more for every block of rows beyond the memory's limit.
    /// Of the factor with `m` bits whose bits are the choices, `E` elements and `R` columns of the
    /// other: `2 E m` OTs with `E R m (2 out - m + 1)` bits for the cross terms, and for a factor
    /// with a wrap, of any `m`, 2 OTs and `2 R (out - m)` bits per element. Half of it if one
    /// factor is known to a party; and then there is no wrap of that.
    pub fn matmul(
        &mut self,
        x: &Factor,
        y: &Factor,
        shape: MatMul,
        out: u32,
    ) -> Result<Shared, Error> {
        let MatMul { m, k, n } = shape;
        let [x, y] = self.parts([(x, m * k), (y, k * n)], out)?;
        let shape = Shape {
            rows: m,
            groups: 1,
            inner: k,
            cols: n,
        };
        self.product(&x, &y, shape, out, LIMIT)
    }

    /// Shares modulo `2^out` of the products of matrices of one shape, side by side.
    ///
    /// Hops of [`Engine::matmul`] for all together, and its OTs and bits for each.
    pub fn batch_matmul(
        &mut self,
        x: &Factor,
        y: &Factor,
        shape: BatchMatMul,
        out: u32,
    ) -> Result<Shared, Error> {
        let [x, y] = self.parts([(x, shape.left()), (y, shape.right())], out)?;
        let (groups, MatMul { m, k, n }) = (shape.batch, shape.each);
        let of = Shape {
            rows: m,
            groups,
            inner: k,
            cols: n,
        };
        let (dims, order) = ([1, groups, m, k], [0, 2, 1, 3]);
        let x = x.arranged(
            self.id(),
            |v| words::permute(v, dims, order),
            |v| words::permute(v, dims, order),
        );
        let product = self.product(&x, &y, of, out, LIMIT)?;
        Ok(Shared {
            values: words::permute(&product.values, [1, m, groups, n], order),
            bits: out,
        })
    }

    /// Shares modulo `2^out` of the convolution of images `x` (NCHW) with weights `w` (OIHW): the
    /// product of the weights with the patches, group by group; NCHW.
    ///
    /// Costs [`Engine::matmul`] of `filters / groups` rows, for each group; the wraps are those of
    /// the images' and not of the patches' elements.
    pub fn conv2d(
        &mut self,
        x: &Factor,
        w: &Factor,
        shape: &Conv2d,
        out: u32,
    ) -> Result<Shared, Error> {
        shape.validate().map_err(Error::Invalid)?;
        let [w, x] = self.parts([(w, shape.weight_len()), (x, shape.input_len())], out)?;
        let (groups, filters) = (shape.groups, shape.filters / shape.groups);
        let plane = shape.out_height() * shape.out_width();
        let of = Shape {
            rows: filters,
            groups,
            inner: shape.weight_len() / shape.filters,
            cols: shape.batch * plane,
        };
        let (dims, order) = ([1, groups, filters, of.inner], [0, 2, 1, 3]);
        let id = self.id();
        let w = w.arranged(
            id,
            |v| words::permute(v, dims, order),
            |v| words::permute(v, dims, order),
        );
        let x = x.arranged(id, |v| words::im2col(v, shape), |v| words::im2col(v, shape));
        let product = self.product(&w, &x, of, out, LIMIT)?;
        let dims = [filters, groups, shape.batch, plane];
        Ok(Shared {
            values: words::permute(&product.values, dims, [2, 1, 0, 3]),
            bits: out,
        })
    }
}

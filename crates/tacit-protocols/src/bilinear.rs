//! What distinguishes a product from a matrix product or a convolution.

use bytemuck::Pod;
use tacit_algebra::{
    BatchMatMul, Buffer, Conv2d, MatMul, Ring, batch_matmul_acc, conv2d_acc, matmul_acc, vec,
};

use crate::Error;

/// A bilinear map on vectors, with its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bilinear {
    /// Element by element.
    Elementwise(usize),
    /// Matrix product.
    MatMul(MatMul),
    /// Matrix products of one shape, side by side.
    BatchMatMul(BatchMatMul),
    /// Two-dimensional convolution.
    Conv2d(Conv2d),
}

impl Bilinear {
    /// Elements of the left operand.
    pub fn left(&self) -> usize {
        match self {
            Bilinear::Elementwise(n) => *n,
            Bilinear::MatMul(shape) => shape.m * shape.k,
            Bilinear::BatchMatMul(shape) => shape.left(),
            Bilinear::Conv2d(shape) => shape.input_len(),
        }
    }

    /// Elements of the right operand.
    pub fn right(&self) -> usize {
        match self {
            Bilinear::Elementwise(n) => *n,
            Bilinear::MatMul(shape) => shape.k * shape.n,
            Bilinear::BatchMatMul(shape) => shape.right(),
            Bilinear::Conv2d(shape) => shape.weight_len(),
        }
    }

    /// Elements of the result.
    pub fn outputs(&self) -> usize {
        match self {
            Bilinear::Elementwise(n) => *n,
            Bilinear::MatMul(shape) => shape.m * shape.n,
            Bilinear::BatchMatMul(shape) => shape.outputs(),
            Bilinear::Conv2d(shape) => shape.output_len(),
        }
    }

    /// Refuses operands whose sizes do not fit.
    pub fn check(&self, x: usize, y: usize, bias: Option<usize>) -> Result<(), Error> {
        let biases = match self {
            Bilinear::Elementwise(n) => *n,
            Bilinear::MatMul(s) => s.n,
            Bilinear::BatchMatMul(s) => s.each.n,
            Bilinear::Conv2d(s) => {
                s.validate().map_err(Error::Invalid)?;
                s.filters
            }
        };
        let (left, right) = (self.left(), self.right());
        if x != left || y != right || bias.is_some_and(|b| b != biases) {
            return Err(Error::Invalid(format!(
                "a product of {left} by {right} elements was given {x} and {y}, and a bias of {bias:?} for {biases}"
            )));
        }
        Ok(())
    }

    /// The bias of every output, as the product lays them out. `bias` has one value per element,
    /// column or channel.
    pub fn spread<T: Pod>(&self, bias: &[T]) -> Vec<T> {
        let [inner, outer] = self.repeats();
        vec::tile(bias, inner, outer)
    }

    /// Spreads a bias over the outputs as [`Bilinear::spread`] does, from one buffer into another.
    pub fn spread_out<T: Pod + Send + Sync>(&self, bias: &Buffer<T>) -> Buffer<T> {
        let [inner, outer] = self.repeats();
        bias.tile(inner, outer)
    }

    /// How often each bias stands in a row, and all of them one after the other.
    fn repeats(&self) -> [usize; 2] {
        match self {
            Bilinear::Elementwise(_) => [1, 1],
            Bilinear::MatMul(s) => [1, s.m],
            Bilinear::BatchMatMul(s) => [1, s.batch * s.each.m],
            Bilinear::Conv2d(s) => [s.out_height() * s.out_width(), s.batch],
        }
    }

    /// `acc += x * y` over a ring.
    pub fn accumulate<R: Ring>(&self, acc: &mut [R], x: &[R], y: &[R]) {
        match self {
            Bilinear::Elementwise(_) => vec::add_assign(acc, &vec::mul(x, y)),
            Bilinear::MatMul(shape) => matmul_acc(acc, x, y, *shape),
            Bilinear::BatchMatMul(shape) => batch_matmul_acc(acc, x, y, *shape),
            Bilinear::Conv2d(shape) => conv2d_acc(acc, x, y, shape),
        }
    }

    /// `acc += x * y` over a ring, in buffers; where one has a size alone, the result has, too.
    pub fn add_product<R: Ring>(&self, acc: &mut Buffer<R>, x: &Buffer<R>, y: &Buffer<R>) {
        acc.change(&[x, y], |acc| self.accumulate(acc, x, y));
    }
}

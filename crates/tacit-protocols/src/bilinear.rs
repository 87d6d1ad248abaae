//! What distinguishes a product from a matrix product or a convolution.

use bytemuck::Pod;
use tacit_algebra::{Conv2d, MatMul, vec};

use crate::Error;

/// A bilinear map on vectors.
pub(crate) enum Bilinear<'a> {
    /// Element by element.
    Elementwise,
    /// Matrix product.
    MatMul(MatMul),
    /// Two-dimensional convolution.
    Conv2d(&'a Conv2d),
}

impl Bilinear<'_> {
    /// Output elements for a left operand of `n` elements.
    pub(crate) fn outputs(&self, n: usize) -> usize {
        match self {
            Bilinear::Elementwise => n,
            Bilinear::MatMul(shape) => shape.m * shape.n,
            Bilinear::Conv2d(shape) => shape.output_len(),
        }
    }

    /// Refuses operands whose sizes do not fit.
    pub(crate) fn check(&self, x: usize, y: usize, bias: Option<usize>) -> Result<(), Error> {
        let (want_x, want_y, want_bias) = match self {
            Bilinear::Elementwise => (x, x, 0),
            Bilinear::MatMul(s) => (s.m * s.k, s.k * s.n, s.n),
            Bilinear::Conv2d(s) => {
                s.validate().map_err(Error::Invalid)?;
                (s.input_len(), s.weight_len(), s.filters)
            }
        };
        if x != want_x || y != want_y || bias.is_some_and(|b| b != want_bias) {
            return Err(Error::Invalid(format!(
                "a product of {want_x} by {want_y} elements was given {x} and {y}, and a bias of {bias:?} for {want_bias}"
            )));
        }
        Ok(())
    }

    /// The bias, one per column or channel, spread over the outputs.
    pub(crate) fn spread<T: Pod>(&self, bias: &[T]) -> Vec<T> {
        match self {
            Bilinear::Elementwise => Vec::new(),
            Bilinear::MatMul(s) => vec::tile(bias, 1, s.m),
            Bilinear::Conv2d(s) => vec::tile(bias, s.out_height() * s.out_width(), s.batch),
        }
    }
}

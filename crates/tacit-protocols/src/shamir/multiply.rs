//! Products, matrix products and convolutions: Mult and Fixed-Mult (Liu et al., Protocol 3.2;
//! docs/spec/liu24.md, sections 2.3 and 3).
//!
//! Products of shares are summed locally to a sharing of degree `2t`; one opening per output
//! element brings the sum back, truncated or not, whatever the inner dimension.

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, batch_matmul_acc, buffer, conv2d_acc, matmul_acc, vec};

use super::Shamir;
use super::demand::Want;
use super::material::Material;
use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::Operand;
use crate::message::{Elements, Message};

const MULTIPLY: Message<Elements> = Message::new("shamir multiply");

impl<F: Field> Shamir<F> {
    /// `(x * w + bias) / 2^trunc` for any bilinear product. 1 opening of degree `2t`; for a public
    /// `w` none, or one of degree `t` if it is truncated.
    pub(super) fn product(
        &mut self,
        x: &Buffer<F>,
        w: &Operand<Buffer<F>>,
        bias: Option<&Operand<Buffer<F>>>,
        map: &Bilinear,
        trunc: u32,
    ) -> Result<Buffer<F>, Error> {
        let bias = bias.map(operand);
        let weights = operand(w);
        map.check(x.len(), weights.len(), bias.as_ref().map(|b| b.len()))?;
        let mut z = match &bias {
            Some(bias) => map.spread_out(bias),
            None => self.zeros(map.outputs()),
        };
        z.change(&[x, &weights], |z| accumulate(map, z, x, &weights));
        match (w, trunc) {
            _ if z.is_empty() => Ok(z),
            (Operand::Public(_), 0) => Ok(z),
            (Operand::Public(_), d) => self.trunc(z, d),
            (Operand::Secret(_), 0) => self.reduce_degree(z),
            (Operand::Secret(_), d) => self.trunc_product(z, d),
        }
    }

    /// A product of degree `2t` as a sharing.
    fn reduce_degree(&mut self, mut z: Buffer<F>) -> Result<Buffer<F>, Error> {
        let double = match self.take(Want::Product { n: z.len() })? {
            Material::Product(double) => double,
            _ => unreachable!("material lies with its want"),
        };
        buffer::add_assign(&mut z, &double.high);
        let mut z = self.deal_back(MULTIPLY, z)?;
        buffer::sub_assign(&mut z, &double.low);
        Ok(z)
    }
}

/// `acc += x * y`.
fn accumulate<F: Field>(map: &Bilinear, acc: &mut [F], x: &[F], y: &[F]) {
    match map {
        Bilinear::Elementwise(_) => vec::mul_add_assign(acc, x, y),
        Bilinear::MatMul(shape) => matmul_acc(acc, x, y, *shape),
        Bilinear::BatchMatMul(shape) => batch_matmul_acc(acc, x, y, *shape),
        Bilinear::Conv2d(shape) => conv2d_acc(acc, x, y, shape),
    }
}

/// An operand as a sharing: of what everyone knows, the value itself.
fn operand<F: Field>(x: &Operand<Buffer<F>>) -> Buffer<F> {
    match x {
        Operand::Secret(share) => share.clone(),
        Operand::Public(values) => buffer::encode(values),
    }
}

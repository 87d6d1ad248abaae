//! Linear layers: products modulo the ring's size, without a wrap; then a truncation.

use tacit_algebra::vec;
use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Operand};

use super::demand::Step;
use super::encrypted::Product;
use super::{Sirnn, Tensor};
use crate::Factor;
use crate::Shared;
use crate::convert::Msb;

impl Sirnn {
    /// `(x * w + bias) >> trunc` for any bilinear product over the ring.
    ///
    /// Hops: 2 for the product, and those of the truncation. A product with weights that a party
    /// knows takes one cross term, with others two; with public ones it is local.
    pub(super) fn product_over_ring(
        &mut self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        map: &Bilinear,
        trunc: u32,
    ) -> Result<Tensor, Error> {
        self.check_operands(x, w, bias, map)?;
        let product = match w {
            Operand::Public(values) => self.product_public(x, values, map),
            Operand::Secret(w) => self.ring_product(x, w, map)?,
        };
        let z = self.with_bias(product, bias, map);
        match trunc {
            0 => Ok(z),
            trunc => self.shift(&z, trunc),
        }
    }

    pub(super) fn check_operands(
        &self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        map: &Bilinear,
    ) -> Result<(), Error> {
        let len = |tensor: &Tensor| tensor.summand.len();
        let terms = bias.map(|bias| bias.elements(len));
        map.check(x.summand.len(), w.elements(len), terms)
    }

    /// The product with what everyone knows. Local.
    pub(super) fn product_public(&self, x: &Tensor, values: &[i64], map: &Bilinear) -> Tensor {
        let mut sum = vec![0; map.outputs()];
        map.accumulate(&mut sum, &x.summand, &vec::encode(values));
        Tensor::new(x.bits, vec::low_bits(&sum, x.bits))
    }

    /// Adds a bias, if there is one, to the product of `map`. Local.
    pub(super) fn with_bias(
        &self,
        product: Tensor,
        bias: Option<&Operand<Tensor>>,
        map: &Bilinear,
    ) -> Tensor {
        let own = match bias {
            None => return product,
            Some(Operand::Public(values)) => self.public(values),
            Some(Operand::Secret(bias)) => bias.clone(),
        };
        let spread = own.pick(map.spread(&own.summand));
        product.zip(&spread, vec::add)
    }

    /// The product modulo the ring's size.
    fn ring_product(&mut self, x: &Tensor, w: &Tensor, map: &Bilinear) -> Result<Tensor, Error> {
        let bits = self.bits;
        self.step(Step::Product {
            map: *map,
            known_to: w.owner,
            bits: [bits; 3],
        })?;
        let product = Product {
            map: *map,
            known_to: w.owner,
            bits: [bits; 3],
        };
        if let Some(way) = self.cost.way(&product) {
            return self.encrypted_product(x, w, &product, &way);
        }
        let (x, shared) = (x.shared(), w.shared());
        let x = Factor::unsigned(&x, &Msb::Unknown);
        let w = match w.owner {
            Some(owner) => {
                let values = (self.engine.id() == owner).then_some(shared.values.as_slice());
                Factor::known(false, bits, values, owner)
            }
            None => Factor::unsigned(&shared, &Msb::Unknown),
        };
        Ok(self.bilinear(&x, &w, map, bits)?.into())
    }

    /// The product of any kind modulo `2^bits`.
    pub(super) fn bilinear(
        &mut self,
        x: &Factor,
        w: &Factor,
        map: &Bilinear,
        bits: u32,
    ) -> Result<Shared, Error> {
        match map {
            Bilinear::Elementwise(_) => self.engine.multiply(x, w, bits),
            Bilinear::MatMul(shape) => self.engine.matmul(x, w, *shape, bits),
            Bilinear::BatchMatMul(shape) => self.engine.batch_matmul(x, w, *shape, bits),
            Bilinear::Conv2d(shape) => self.engine.conv2d(x, w, shape, bits),
        }
    }
}

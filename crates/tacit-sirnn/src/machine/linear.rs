//! Linear layers: products modulo the ring's size, without a wrap; then a truncation.

use tacit_algebra::vec;
use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Operand};

use super::demand::Step;
use super::{Sirnn, Tensor};
use crate::Factor;
use crate::Shared;
use crate::convert::Msb;

impl Sirnn {
    /// `(x * w + bias) >> trunc` for any bilinear product.
    ///
    /// Hops: 2 for the product, and those of the truncation. A product with weights that a party
    /// knows takes one cross term, with others two; with public ones it is local.
    pub(super) fn linear(
        &mut self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        map: &Bilinear,
        trunc: u32,
    ) -> Result<Tensor, Error> {
        let (right, terms) = (operand_len(w), bias.map(operand_len));
        map.check(x.summand.len(), right, terms)?;
        let mut z = match w {
            Operand::Public(values) => {
                let mut sum = vec![0; map.outputs()];
                map.accumulate(&mut sum, &x.summand, &vec::encode(values));
                Shared::new(self.bits, &sum)
            }
            Operand::Secret(w) => self.product(x, w, map)?,
        };
        if let Some(bias) = bias {
            let own = match bias {
                Operand::Public(values) => self.public(values),
                Operand::Secret(bias) => bias.summand.clone(),
            };
            z = z.add(&Shared::new(self.bits, &map.spread(&own)));
        }
        match trunc {
            0 => Ok(z.into()),
            trunc => Ok(self.shift(&z, trunc)?.into()),
        }
    }

    /// The product modulo the ring's size.
    fn product(&mut self, x: &Tensor, w: &Tensor, map: &Bilinear) -> Result<Shared, Error> {
        let (map, known_to) = (*map, w.owner);
        self.step(Step::Product { map, known_to })?;
        let (x, shared) = (self.shared(x), self.shared(w));
        let x = Factor::unsigned(&x, &Msb::Unknown);
        let w = match w.owner {
            Some(owner) => {
                let values = (self.engine.id() == owner).then_some(shared.values.as_slice());
                Factor::known(false, self.bits, values, owner)
            }
            None => Factor::unsigned(&shared, &Msb::Unknown),
        };
        match &map {
            Bilinear::Elementwise(_) => self.engine.multiply(&x, &w, self.bits),
            Bilinear::MatMul(shape) => self.engine.matmul(&x, &w, *shape, self.bits),
            Bilinear::Conv2d(shape) => self.engine.conv2d(&x, &w, shape, self.bits),
        }
    }
}

fn operand_len(operand: &Operand<Tensor>) -> usize {
    match operand {
        Operand::Public(values) => values.len(),
        Operand::Secret(share) => share.summand.len(),
    }
}

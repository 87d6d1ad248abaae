//! Tensors with widths of their own: other widths, and products of numbers of different ones.
//!
//! The planner keeps every value below a quarter of its range: `x + 2^(bits - 2)` has a known most
//! significant bit, so that the wrap of a value that enters a product or is extended takes one small
//! OT and no comparison.

use tacit_algebra::vec;
use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Operand};

use super::demand::Step;
use super::encrypted::Product;
use super::{Sirnn, Tensor};
use crate::Factor;

impl Sirnn {
    /// `x >> trunc`, exactly the floor, in `bits` bits.
    ///
    /// To fewer bits than remain only those are truncated: the hops and bytes of
    /// [`Engine::truncate_reduce`](crate::Engine::truncate_reduce) of `bits + trunc` bits, none for
    /// `trunc` = 0. To more, then those of a zero extension with a known top bit. What a party knows
    /// it resizes itself.
    pub(super) fn resized(&mut self, x: &Tensor, trunc: u32, bits: u32) -> Result<Tensor, Error> {
        // What is extended is below a quarter of its range, so that it has 2 bits at least.
        let least = match bits.saturating_add(trunc) > x.bits {
            true => 2,
            false => 1,
        };
        if x.bits.saturating_sub(trunc) < least || !(1..=self.bits).contains(&bits) {
            return Err(Error::Invalid(format!(
                "numbers of {} bits, less {trunc}, in {bits} bits",
                x.bits
            )));
        }
        if x.owner.is_some() {
            return Ok(self.resized_by_owner(x, trunc, bits));
        }
        if trunc == 0 && bits <= x.bits {
            return Ok(x.narrowed(bits));
        }
        let (n, from) = (x.summand.len(), x.bits);
        self.step(Step::Resize {
            n,
            from,
            trunc,
            bits,
        })?;
        let narrow = x.narrowed(bits.saturating_add(trunc)).shared();
        let shifted = self.engine.truncate_reduce(&narrow, trunc)?;
        if shifted.bits >= bits {
            return Ok(shifted.into());
        }
        Ok(self.widened(&shifted, bits)?.into())
    }

    fn resized_by_owner(&self, x: &Tensor, trunc: u32, bits: u32) -> Tensor {
        let unused = 64 - x.bits;
        let signed = vec::sar(&vec::shl(&x.summand, unused), unused + trunc);
        Tensor {
            bits,
            summand: vec::low_bits(&signed, bits),
            owner: x.owner,
        }
    }

    /// `x * w + bias` in numbers of `bits` bits.
    ///
    /// Hops: those of the wraps (2, of a value below a quarter of its range) and 2. Weights that a
    /// party knows take one cross term and no wrap; public ones multiply `x` in `bits` bits, locally.
    pub(super) fn mixed_product(
        &mut self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        map: &Bilinear,
        bits: u32,
    ) -> Result<Tensor, Error> {
        self.check_operands(x, w, bias, map)?;
        let product = match w {
            Operand::Public(values) => {
                let x = self.resized(x, 0, bits.max(x.bits))?;
                self.product_public(&x, values, map).narrowed(bits)
            }
            Operand::Secret(w) => {
                let step = Step::Product {
                    map: *map,
                    known_to: w.owner,
                    bits: [x.bits, w.bits, bits],
                };
                self.step(step)?;
                let product = Product {
                    map: *map,
                    known_to: w.owner,
                    bits: [x.bits, w.bits, bits],
                };
                if let Some(way) = self.cost.way(&product) {
                    let product = self.encrypted_product(x, w, &product, &way)?;
                    return Ok(self.with_bias(product, bias, map));
                }
                let (shared, weights) = (x.shared(), w.shared());
                let left = Factor::small(&shared);
                let right = match w.owner {
                    Some(owner) => {
                        let known = self.engine.id() == owner;
                        let values = known.then_some(weights.values.as_slice());
                        Factor::known(true, w.bits, values, owner)
                    }
                    None => Factor::small(&weights),
                };
                self.bilinear(&left, &right, map, bits)?.into()
            }
        };
        Ok(self.with_bias(product, bias, map))
    }
}

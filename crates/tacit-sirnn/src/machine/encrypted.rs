//! Linear layers by encryption instead of transfers, where that sends less (docs/spec/rlwe.md).

use tacit_algebra::vec;
use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Call};

use super::{Sirnn, Tensor};
use crate::convert::Msb;
use crate::engine::{Encrypted, Wanted, Way};
use crate::multiply::transfer_bits;
use crate::{PARTIES, Shared};

/// How products whose factors lie at different parties are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// By whichever sends less.
    #[default]
    Auto,
    /// By oblivious transfers.
    Ot,
    /// By encryption under ring learning with errors, all but those element by element.
    Rlwe,
}

/// Bytes that encryption has to save in a product to be chosen: its keys have to be sent once a
/// session.
const WORTH: usize = 1 << 19;

/// A product: its map, who knows the right factor, and bits of both factors and of the result.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub map: Bilinear,
    pub known_to: Option<usize>,
    pub bits: [u32; 3],
}

impl Product {
    /// Of a call, over a ring of so many bits; none if it is not one.
    pub fn of(call: &Call, ring: u32) -> Option<Self> {
        let Call::Product {
            map,
            known_to,
            bits,
            ..
        } = *call
        else {
            return None;
        };
        let [left, right, product, _] = bits.unwrap_or([ring; 4]);
        Some(Product {
            map,
            known_to,
            bits: [left, right, product],
        })
    }

    /// Who encrypts: whoever does not know the right factor.
    fn from(&self) -> [bool; PARTIES] {
        [0, 1].map(|id| self.known_to != Some(id))
    }

    /// How it is computed by encryption, if it is.
    pub fn way(&self, products: Products) -> Option<Way> {
        let [left, right, bits] = self.bits;
        if products == Products::Ot || bits < 2 {
            return None;
        }
        let own = match self.known_to {
            Some(_) => right.min(bits),
            None => bits,
        };
        let way = Encrypted {
            map: self.map,
            bits,
            size: 1 << (own - 1),
        }
        .way()?;
        let directions = self.from().iter().filter(|from| **from).count();
        let sent = || way.bytes().iter().sum::<usize>() * directions;
        let transfers = || transfer_bits(&self.map, [left, right], bits) / 8 * directions;
        (products == Products::Rlwe || sent() + WORTH <= transfers()).then_some(way)
    }
}

/// The keys that the calls take.
pub(super) fn wanted(calls: &[Call], ring: u32, products: Products) -> Wanted {
    let mut wanted = Wanted::default();
    for product in calls.iter().filter_map(|call| Product::of(call, ring)) {
        let Some(way) = product.way(products) else {
            continue;
        };
        let (set, levels) = way.keys();
        for (wanted, from) in wanted.iter_mut().zip(product.from()) {
            if from {
                let most = wanted.entry(set).or_default();
                *most = levels.max(*most);
            }
        }
    }
    wanted
}

impl Sirnn {
    /// `x * w` modulo `2^bits`: factors of fewer bits are extended first, by the hops and OTs of a zero
    /// extension with a known top bit; then 2 hops.
    pub(super) fn encrypted_product(
        &mut self,
        x: &Tensor,
        w: &Tensor,
        product: &Product,
        way: &Way,
    ) -> Result<Tensor, Error> {
        let bits = product.bits[2];
        let x = self.widened(&x.narrowed(bits).shared(), bits)?;
        let w = match w.owner {
            Some(_) => w.narrowed(bits).shared(),
            None => self.widened(&w.narrowed(bits).shared(), bits)?,
        };
        let unused = 64 - w.bits;
        let right = vec::sar(&vec::shl(&w.values, unused), unused);
        let mut sum = vec![0; product.map.outputs()];
        let known = product
            .known_to
            .is_none_or(|owner| owner == self.engine.id());
        if known && !self.engine.counts() {
            product.map.accumulate(&mut sum, &x.values, &right);
        }
        let right: &[i64] = bytemuck::cast_slice(&right);
        let cross = self.engine.encrypted(way, &x, right, product.from())?;
        vec::add_assign(&mut sum, &cross.values);
        Ok(Tensor::new(bits, vec::low_bits(&sum, bits)))
    }

    /// A value below a quarter of its range in more bits, or as it is.
    pub(super) fn widened(&mut self, x: &Shared, bits: u32) -> Result<Shared, Error> {
        if x.bits >= bits {
            return Ok(x.clone());
        }
        let quarter = 1u64 << (x.bits.max(2) - 2);
        let above = self.engine.add_public(x, quarter);
        let wide = self.engine.zero_extend(&above, bits, &Msb::Public(false))?;
        Ok(self.engine.add_public(&wide, quarter.wrapping_neg()))
    }
}

//! Linear layers by encryption instead of transfers, where that takes less time (docs/spec/rlwe.md).

use tacit_algebra::vec;
use tacit_protocols::Error;
use tacit_protocols::machine::{Bilinear, Call};

use super::{Options, Sirnn, SirnnCost, Tensor};
use crate::convert::Msb;
use crate::engine::{Encrypted, Wanted, Way};
use crate::multiply::transfer_bits;
use crate::{PARTIES, Shared};

/// How products whose factors lie at different parties are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// Whichever of the others is expected to take less time on the network.
    #[default]
    Auto,
    /// Products by oblivious transfers.
    Ot,
    /// Products by encryption under ring learning with errors; those element by element by oblivious transfers.
    Rlwe,
}

/// Bytes of keys that a product by encryption is charged with: those of a session serve all of its products.
const KEYS: usize = 1 << 19;

/// The most bits a second that a network is taken to have: of one that is not emulated nothing is known.
const FASTEST: u64 = 1_000_000_000;

/// Nanoseconds that a byte of transfers takes to compute, roughly.
const TRANSFER: f64 = 3.0;

/// A product: its map, who knows the right factor, and bits of both factors and of the result.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub map: Bilinear,
    pub known_to: Option<usize>,
    pub bits: [u32; 3],
}

impl Product {
    /// The product that a call makes over a ring of so many bits; none if it makes none.
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

    /// How many parties encrypt.
    pub fn directions(&self) -> f64 {
        self.from().iter().filter(|from| **from).count() as f64
    }

    fn encrypted(&self) -> Encrypted {
        let [_, right, bits] = self.bits;
        let own = match self.known_to {
            Some(_) => right.min(bits),
            None => bits,
        };
        Encrypted {
            map: self.map,
            bits,
            size: 1 << (own - 1),
        }
    }
}

impl SirnnCost {
    /// How a product is computed by encryption, if it is.
    pub(super) fn way(&self, product: &Product) -> Option<Way> {
        let [left, right, bits] = product.bits;
        let products = self.0.products;
        if products == Products::Ot || bits < 2 {
            return None;
        }
        let byte = self.0.byte();
        let way = product.encrypted().way(byte)?;
        let directions = product.directions();
        let encrypted = || directions * way.nanoseconds(byte) + byte * KEYS as f64;
        let transfers = || {
            let bytes = transfer_bits(&product.map, [left, right], bits) as f64 / 8.0;
            directions * bytes * (TRANSFER + byte)
        };
        (products == Products::Rlwe || encrypted() < transfers()).then_some(way)
    }

    /// The keys that the calls take.
    pub(super) fn wanted(&self, calls: &[Call]) -> Wanted {
        let mut wanted = Wanted::default();
        for product in calls
            .iter()
            .filter_map(|call| Product::of(call, self.0.bits))
        {
            let Some(way) = self.way(&product) else {
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
}

impl Options {
    /// Nanoseconds that a byte takes on the network.
    fn byte(&self) -> f64 {
        let rate = self
            .link
            .rate
            .map_or(FASTEST, |rate| rate.clamp(1, FASTEST));
        8e9 / rate as f64
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tacit_algebra::{Conv2d, MatMul};
    use tacit_net::LinkModel;
    use tacit_protocols::machine::CostModel;

    use super::*;
    use crate::ot;

    fn cost(link: LinkModel) -> SirnnCost {
        SirnnCost::new(Options {
            bits: 64,
            sign_bits: 64,
            kind: ot::OtExtension::default(),
            products: Products::Auto,
            link,
        })
    }

    /// Over the ring nothing is known of how large weights are: sums of thousands of products, of which many are opened,
    /// have room, or a layer of AlexNet would send 20 GB by transfers.
    #[test]
    fn layers_over_the_ring_have_a_way() {
        let image = Conv2d {
            batch: 1,
            channels: 192,
            height: 13,
            width: 13,
            filters: 384,
            kernel: [3, 3],
            stride: [1, 1],
            pad: [1; 4],
            dilation: [1, 1],
            groups: 1,
        };
        let dense = MatMul {
            m: 1,
            k: 9216,
            n: 4096,
        };
        for (map, most) in [
            (Bilinear::Conv2d(image), 200_000_000),
            (Bilinear::MatMul(dense), 500_000_000),
        ] {
            let mut call = Call::product(map, 0);
            if let Call::Product { known_to, .. } = &mut call {
                *known_to = Some(0);
            }
            let cost = cost(LinkModel::default());
            let bytes: u64 = cost.online(&call).bytes.iter().sum();
            assert!(bytes < most, "{bytes}");
        }
    }

    /// A row of samples that is longer than a block is cut as an image's rows are, and taps that are far apart stand side
    /// by side: 64 channels of a recording, by transfers, would send 96 GB.
    #[test]
    fn long_rows_of_samples_have_a_way() {
        let near = Conv2d {
            batch: 1,
            channels: 64,
            height: 1,
            width: 8192,
            filters: 64,
            kernel: [1, 25],
            stride: [1, 1],
            pad: [0, 12, 0, 12],
            dilation: [1, 1],
            groups: 1,
        };
        let far = Conv2d {
            width: 3 * 4096,
            kernel: [1, 3],
            pad: [0; 4],
            dilation: [1, 4096],
            ..near
        };
        let bytes = |shape| {
            let mut call = Call::product(Bilinear::Conv2d(shape), 0);
            if let Call::Product { known_to, bits, .. } = &mut call {
                (*known_to, *bits) = (Some(0), Some([16, 16, 43, 43]));
            }
            let cost = cost(LinkModel::default());
            cost.online(&call).bytes.iter().sum::<u64>()
        };
        for shape in [near, far] {
            let bytes = bytes(shape);
            assert!(bytes < 60_000_000, "{shape:?}: {bytes}");
        }
        // A short row fits a block as it is, and more phases of it than one do not.
        let short = |apart| Conv2d {
            width: 1000,
            pad: [0, 2 * apart, 0, 0],
            dilation: [1, apart],
            ..far
        };
        let [plain, dilated] = [1, 12].map(|apart| bytes(short(apart)));
        assert!(4 * dilated < 5 * plain, "{dilated} and {plain}");
    }

    /// Bytes and nanoseconds of a product with `m` rows, of the way that it goes on a network of so many megabits a
    /// second, if it goes encrypted.
    fn chosen(m: usize, mbps: Option<u64>) -> Option<(u64, f64)> {
        let link = LinkModel {
            rtt: Duration::ZERO,
            rate: mbps.map(|mbps| mbps * 1_000_000),
        };
        let cost = cost(link);
        let shape = MatMul { m, k: 784, n: 128 };
        let mut call = Call::product(Bilinear::MatMul(shape), 0);
        if let Call::Product { known_to, bits, .. } = &mut call {
            (*known_to, *bits) = (Some(0), Some([18, 13, 37, 37]));
        }
        let bytes = cost.online(&call).bytes.iter().sum();
        Some((bytes, CostModel::encrypted(&cost, &call)?))
    }

    /// The slower the network, the fewer bytes a way sends, by more computing; where nothing is known of it, it
    /// counts as one of 1 Gbit/s.
    #[test]
    fn ways_are_chosen_by_the_network() {
        assert_eq!(chosen(0, None), None, "nothing to encrypt");
        let mut differ = 0;
        for m in [1, 4, 16, 64] {
            let ways = [1, 100, 1000].map(|mbps| chosen(m, Some(mbps)).expect("it goes encrypted"));
            assert!(
                ways.is_sorted_by(|slow, fast| slow.0 <= fast.0 && slow.1 >= fast.1),
                "{m}: {ways:?}"
            );
            differ += usize::from(ways[0] != ways[2]);
        }
        assert!(differ > 1, "{differ}");
        for m in [1, 16] {
            let known = chosen(m, Some(1000));
            assert_eq!([chosen(m, None), chosen(m, Some(5000))], [known; 2]);
        }
    }
}

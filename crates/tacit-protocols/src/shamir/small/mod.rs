//! Bits over the smallest field of `2^k` elements that has a point for every party (docs/spec/liu24.md,
//! section 2.4): the same Shamir sharing, with the same points, of `k` bits for a shared bit instead of an
//! element of `F`. The exclusive or of shared bits is local there.
//!
//! | file | what |
//! |---|---|
//! | `deal.rs` | DoubleRand, and dealings of a party's own bits |
//! | `open.rs` | openings, Mult |
//! | `circuit.rs` | sums modulo `2^l - 1` and comparisons, by trees of carries |
//! | `numbers.rs` | dealers' numbers with their bits, added up |
//! | `masks.rs` | numbers whose bits are known here, bits that are known in both fields |

mod circuit;
mod deal;
#[cfg(test)]
mod leaks;
mod masks;
mod numbers;
mod open;
#[cfg(test)]
mod tests;

use tacit_algebra::sliced::{Gf, Map, Sliced};

use super::params::Params;
pub(super) use circuit::less_products;
use deal::BitDealing;
pub(super) use deal::BitDoubles;
pub(super) use masks::{EdaBits, MaskCounts, Masks};

/// What a party computes with over the small field.
pub(super) struct Small {
    pub gf: Gf,
    /// The map from the shares of this party and the `t` after it to the value.
    at_zero_t: Map,
    /// The map from the shares of this party and the `2t` after it to the value, for degree `2t`.
    at_zero_2t: Map,
    /// By king: this party's value, for 1 at 0, of the polynomial that is 0 at the `t` parties before it.
    dealt: Vec<Map>,
    /// Random numbers of degree `t`, the same of `2t`, this party's own of degree `t`.
    low: BitDealing,
    high: BitDealing,
    own: BitDealing,
    extraction: Map,
}

impl Small {
    pub fn new(params: &Params, id: usize) -> Self {
        let (n, t) = (params.parties, params.threshold);
        let gf = Gf::with_points(n);
        let point = |party: usize| party as u64 + 1;
        let map = |from: &[u64], to: &[u64]| match params.counted {
            true => Map::counted(gf, to.len(), from.len()),
            false => Map::lagrange(gf, from, to),
        };
        let at_zero = |degree: usize| {
            let from: Vec<u64> = (0..=degree).map(|i| point(params.after(id, i))).collect();
            map(&from, &[0])
        };
        let dealt = |king: usize| {
            let zeros = (1..=t).map(|i| point(params.before(king, i)));
            let from: Vec<u64> = std::iter::once(0).chain(zeros).collect();
            // Of the values at these points only that at 0 is not 0.
            Map::lagrange(gf, &from, &[point(id)]).first()
        };
        Small {
            gf,
            at_zero_t: at_zero(t),
            at_zero_2t: at_zero(2 * t),
            dealt: match params.counted {
                true => vec![Map::counted(gf, 1, 1); n],
                false => (0..n).map(dealt).collect(),
            },
            low: BitDealing::new(params, gf, id, t + 1, false),
            high: BitDealing::new(params, gf, id, 2 * t, true),
            own: BitDealing::new(params, gf, id, t, true),
            extraction: match params.counted {
                true => Map::counted(gf, params.kept(), n),
                false => Map::vandermonde(gf, params.kept(), n),
            },
        }
    }

    /// A size alone, of all that is counted.
    fn counted(&self, values: usize, cols: usize) -> Sliced {
        Sliced::counted(self.gf, values, cols)
    }
}

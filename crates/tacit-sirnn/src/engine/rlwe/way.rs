//! Which way a product of encrypted numbers goes: how it is cut, and its moduli.

use tacit_lattice::parameters::{Need, Parameters, Terms};
use tacit_lattice::{Evaluation, wire};
use tacit_protocols::machine::Bilinear;

use super::shape::{Block, Cut, Sizes};

/// The most channels that one polynomial holds, as bits: what keys of packing cost grows with it.
const WIDEST: u32 = 8;

/// The most bytes that the ciphertexts of a left factor take: larger products have no way.
const MOST: u64 = 4 << 30;

/// What encrypted products are of: a bilinear map of numbers modulo `2^bits` with whole numbers of at
/// most `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encrypted {
    /// The bilinear map that is computed.
    pub map: Bilinear,
    /// Bits of the left factor and of the result.
    pub bits: u32,
    /// The largest magnitude of the right factor's numbers.
    pub size: u64,
}

/// How a product of encrypted numbers is computed: both parties find the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(super) sizes: Sizes,
    pub(super) cut: Cut,
    pub(super) bits: u32,
    /// The set of parameters.
    pub(super) set: usize,
    pub(super) need: Need,
    /// Blocks of places.
    blocks: usize,
}

/// Rough times on one core with AVX-512, in nanoseconds, to choose among ways: of a transform modulo
/// one prime, of a product of a ciphertext modulo one prime, of an automorphism.
const TRANSFORM: f64 = 9e3;
const PRODUCT: f64 = 4e3;
const SWITCH: f64 = 400e3;

impl Encrypted {
    /// The quickest way on a network on which a byte takes so many nanoseconds, if there is one at all.
    pub(crate) fn way(&self, byte: f64) -> Option<Way> {
        let mut best: Option<(f64, Way)> = None;
        for way in Sizes::of(&self.map)
            .into_iter()
            .flat_map(|sizes| self.cuts(sizes))
        {
            let time = way.nanoseconds(byte);
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, way));
            }
        }
        best.map(|(_, way)| way)
    }

    /// The ways by all cuts of these sizes.
    fn cuts(&self, sizes: Sizes) -> impl Iterator<Item = Way> {
        let widest = sizes.channels.next_power_of_two().ilog2().min(WIDEST);
        let most = sizes.filters.next_power_of_two().ilog2();
        let cuts = (0..=widest).flat_map(move |width| {
            let sides = (0..=most).map(|bits| 1 << bits);
            sides.flat_map(move |side| [0, width].map(|levels| (width, side, levels)))
        });
        cuts.filter_map(move |(width, side, levels)| self.cut(sizes, width, side, levels))
    }

    fn cut(&self, sizes: Sizes, width: u32, side: usize, levels: u32) -> Option<Way> {
        let degree = Parameters::run_degree();
        let cut = Cut {
            degree,
            width,
            side,
            levels,
        };
        let need = Need {
            bits: self.bits,
            terms: Terms {
                // Filters beside each other share the encryption's errors.
                count: sizes.terms() * side.min(sizes.filters),
                size: self.size,
            },
            levels,
            opened: self.map.outputs(),
        };
        let slots = cut.slots();
        let blocks = match slots {
            0 => return None,
            slots => sizes.block_count(slots)?,
        };
        let way = Way {
            sizes,
            cut,
            bits: self.bits,
            set: Parameters::choose(&need)?,
            need,
            blocks,
        };
        (way.memory() <= MOST).then_some(way)
    }
}

impl Way {
    /// How many blocks the channels are cut into.
    pub(super) fn channel_blocks(&self) -> usize {
        self.sizes.channels.div_ceil(1 << self.cut.width)
    }

    /// Polynomials of filters, for each group and block of channels.
    pub(super) fn polys(&self) -> usize {
        self.sizes.filters.div_ceil(self.cut.side)
    }

    /// Answers for each group and block of places.
    pub(super) fn packs(&self) -> usize {
        self.polys().div_ceil(1 << self.cut.levels)
    }

    /// Ciphertexts of the left factor.
    fn inputs(&self) -> usize {
        let each = self.blocks.saturating_mul(self.channel_blocks());
        self.sizes.groups.saturating_mul(each)
    }

    /// The bytes of a ciphertext of the left factor.
    pub(super) fn input_len(&self) -> usize {
        let (count, bits, _) = Parameters::prime_bits(self.set);
        wire::poly_len(self.cut.degree, (0..count).map(|_| bits))
    }

    /// Filters of a pack.
    pub(super) fn filters(&self, pack: usize) -> usize {
        let most = self.cut.side << self.cut.levels;
        (self.sizes.filters - pack * most).min(most)
    }

    /// The bytes of the answer of a pack for a block with so many places.
    pub(super) fn answer_len(&self, pack: usize, places: usize) -> usize {
        let opened = self.filters(pack) * places;
        wire::answer_len(self.cut.degree, self.bits, opened)
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        let blocks = self.sizes.blocks(self.cut.slots());
        blocks.expect("a way is one whose filters fit")
    }

    /// Bytes of who encrypts, and of who answers.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        let places = self.sizes.places(self.cut.slots());
        let places = places.expect("a way is one whose filters fit");
        let answers = places.iter().map(|places| {
            let packs = 0..self.packs();
            packs
                .map(|pack| self.answer_len(pack, *places))
                .sum::<usize>()
        });
        let encrypted = super::SEED + self.inputs() * self.input_len();
        [encrypted, self.sizes.groups * answers.sum::<usize>()]
    }

    /// The keys that whoever encrypts has to have sent: of which set, and for how many levels.
    pub(crate) fn keys(&self) -> (usize, u32) {
        (self.set, self.cut.levels)
    }

    /// The bytes of a ciphertext in memory.
    fn ciphertext(&self) -> usize {
        let (count, ..) = Parameters::prime_bits(self.set);
        2 * count * self.cut.degree * 8
    }

    /// About how many bytes the left factor's ciphertexts take at the party that answers, and the messages that they
    /// are read of.
    pub(crate) fn memory(&self) -> u64 {
        let each = self.ciphertext() + self.input_len();
        self.inputs().saturating_mul(each) as u64
    }

    /// Blocks of places that are computed together: as many as take 64 MiB, of which each level of
    /// packing holds a ciphertext, and the sums of a polynomial two.
    pub(super) fn chunk(&self) -> usize {
        let each = self.ciphertext() * (self.cut.levels as usize + 3);
        ((64 << 20) / each).clamp(1, self.blocks)
    }

    /// Roughly how long it takes on a network on which a byte takes so many nanoseconds, to choose among ways.
    pub(crate) fn nanoseconds(&self, byte: f64) -> f64 {
        self.computing() + byte * self.about_bytes()
    }

    /// Nanoseconds of one core for both parties' computing, roughly.
    pub(crate) fn computing(&self) -> f64 {
        let (count, ..) = Parameters::prime_bits(self.set);
        let [primes, blocks] = [count, self.blocks].map(|n| n as f64);
        let filters = (self.sizes.groups * self.channel_blocks() * self.polys()) as f64;
        let rounds = (self.blocks.div_ceil(self.chunk())) as f64;
        let answers = (self.sizes.groups * self.packs() * self.blocks) as f64;
        let switches = match self.cut.levels {
            0 => 0.0,
            levels => {
                let polys = (self.sizes.groups * self.polys() * self.blocks) as f64;
                polys - answers + answers * f64::from(levels)
            }
        };
        let transforms = filters * rounds + 2.0 * self.inputs() as f64 + 8.0 * answers;
        primes * (transforms * TRANSFORM + filters * blocks * PRODUCT) + switches * SWITCH
    }

    /// The bytes of both parties, but for how the results of a block are laid out.
    fn about_bytes(&self) -> f64 {
        let answers = (self.sizes.groups * self.packs() * self.blocks) as f64;
        let degree = self.cut.degree as f64;
        let halves = answers * degree * f64::from(self.bits + 14) / 8.0;
        let out = (self.need.opened as f64) * f64::from(self.bits + 3) / 8.0;
        (self.inputs() * self.input_len()) as f64 + halves + out
    }
}

/// The bytes of the keys of a set for so many levels.
pub(crate) fn keys_len((set, levels): (usize, u32)) -> usize {
    let (count, bits, special) = Parameters::prime_bits(set);
    let halves = Evaluation::sizes(count, levels).map(|primes| {
        let all = (0..count).map(|_| bits).chain(special);
        wire::poly_len(Parameters::run_degree(), all.take(primes))
    });
    super::SEED + halves.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use tacit_algebra::{Conv2d, MatMul};

    use super::*;

    fn matrix(m: usize, k: usize, n: usize) -> Bilinear {
        Bilinear::MatMul(MatMul { m, k, n })
    }

    /// The errors of an encryption meet every number of the polynomials that an answer is made of, those
    /// of other filters among them: as many as the noise is chosen for, and no fewer somewhere.
    #[test]
    fn noise_is_chosen_for_every_number_that_errors_meet() {
        let mut equal = 0;
        for map in [
            matrix(128, 1, 8192),
            matrix(32, 4, 1024),
            matrix(8, 800, 500),
            matrix(5, 3, 1),
        ] {
            let encrypted = Encrypted {
                map,
                bits: 37,
                size: 1 << 13,
            };
            let way = encrypted.way(80.0).expect("there is one");
            let right = vec![-(1i64 << 13); map.right()];
            let met = |index| {
                let channels = 0..way.channel_blocks();
                let polys = channels
                    .map(|channels| way.sizes.right_poly(&way.cut, &right, (0, index, channels)));
                polys.flatten().map(i64::unsigned_abs).sum::<u64>()
            };
            let most = (0..way.polys()).map(met).max().expect("some");
            let bound = way.need.terms.count as u64 * way.need.terms.size;
            assert!(most <= bound, "{map:?}: {most}, {bound}");
            equal += usize::from(most == bound);
        }
        assert_eq!(equal, 4);
    }

    /// Of weights that nobody knows at 64 bits, all of the noise is drawn.
    #[test]
    fn every_way_draws_its_noise() {
        let mut widest = 0;
        for (bits, own) in (2..=64).flat_map(|bits| [(bits, 1), (bits, bits - 1), (bits, bits)]) {
            let size = 1u64 << (own - 1);
            for map in [
                matrix(128, 64, 128),
                matrix(3, 1, 1),
                matrix(512, 768, 3072),
            ] {
                let Some(way) = (Encrypted { map, bits, size }).way(80.0) else {
                    continue;
                };
                let flood = way.need.flood(&Parameters::standard(way.set));
                assert!(flood <= tacit_lattice::sample::WIDEST);
                widest = widest.max(flood);
            }
        }
        assert!(widest > 127, "{widest}");
    }

    /// A plan may be a peer's: what it would take is found without taking it.
    #[test]
    fn absurd_shapes_have_no_way_or_cost_nothing_to_weigh() {
        let image = Conv2d {
            batch: 1,
            channels: 1,
            height: 1 << 18,
            width: 1,
            filters: 1,
            kernel: [1, 1],
            stride: [1, 8192],
            pad: [0, 8191, 0, 0],
            dilation: [1, 1],
            groups: 1,
        };
        let none = Conv2d { groups: 0, ..image };
        for shape in [image, none] {
            let map = Bilinear::Conv2d(shape);
            let encrypted = Encrypted {
                map,
                bits: 37,
                size: 1,
            };
            assert!(encrypted.way(80.0).is_none());
        }
    }
}

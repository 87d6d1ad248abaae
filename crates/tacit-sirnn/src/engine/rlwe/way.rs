//! Which way a product of encrypted numbers goes: how it is cut, and its moduli.

use tacit_lattice::parameters::{Need, Parameters, Terms};
use tacit_lattice::{Evaluation, wire};
use tacit_protocols::machine::Bilinear;

use super::shape::{Block, Cut, Sizes};

/// The most channels that one polynomial holds, as bits: what keys of packing cost grows with it.
const WIDEST: u32 = 8;

/// What encrypted products are of: a bilinear map of numbers modulo `2^bits` with whole numbers of at
/// most `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encrypted {
    /// The map.
    pub map: Bilinear,
    /// Bits of the left factor and of the result.
    pub bits: u32,
    /// The largest magnitude of the right factor's numbers.
    pub size: u64,
}

/// How it is computed: both parties find the same.
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
/// one prime, of a product of a ciphertext modulo one prime, of an automorphism, of a byte on a
/// network of 100 megabits.
const TRANSFORM: f64 = 9e3;
const PRODUCT: f64 = 4e3;
const SWITCH: f64 = 400e3;
const BYTE: f64 = 80.0;

impl Encrypted {
    /// The quickest way on a network of 100 megabits, if there is one at all.
    pub(crate) fn way(&self) -> Option<Way> {
        let sizes = Sizes::of(&self.map)?;
        let mut best: Option<(f64, Way)> = None;
        let widest = sizes.channels.next_power_of_two().ilog2().min(WIDEST);
        for width in 0..=widest {
            for side in (0..=sizes.filters.next_power_of_two().ilog2()).map(|bits| 1 << bits) {
                for levels in [0, width] {
                    let Some(way) = self.cut(sizes, width, side, levels) else {
                        continue;
                    };
                    let time = way.nanoseconds();
                    if best.is_none_or(|(least, _)| time < least) {
                        best = Some((time, way));
                    }
                }
            }
        }
        best.map(|(_, way)| way)
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
                count: sizes.terms(),
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
        Some(Way {
            sizes,
            cut,
            bits: self.bits,
            set: Parameters::choose(&need)?,
            need,
            blocks,
        })
    }
}

impl Way {
    /// Blocks of channels.
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
        self.sizes.groups * self.blocks * self.channel_blocks()
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

    /// The bytes of the answer of a pack for a block.
    pub(super) fn answer_len(&self, pack: usize, block: &Block) -> usize {
        let opened = self.filters(pack) * block.to.len();
        wire::answer_len(self.cut.degree, self.bits, opened)
    }

    pub(super) fn blocks(&self) -> Vec<Block> {
        let blocks = self.sizes.blocks(self.cut.slots());
        blocks.expect("a way is one whose filters fit")
    }

    /// Bytes of who encrypts, and of who answers.
    pub(crate) fn bytes(&self) -> [usize; 2] {
        let answers = self.blocks();
        let answers = answers.iter().map(|block| {
            let packs = 0..self.packs();
            packs
                .map(|pack| self.answer_len(pack, block))
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

    /// About how many bytes the left factor's ciphertexts take at the party that answers.
    pub(crate) fn memory(&self) -> u64 {
        (self.inputs() * self.ciphertext()) as u64
    }

    /// Blocks of places that are computed together: as many as take 64 MiB, of which each level of
    /// packing holds a ciphertext, and the sums of a polynomial two.
    pub(super) fn chunk(&self) -> usize {
        let each = self.ciphertext() * (self.cut.levels as usize + 3);
        ((64 << 20) / each).clamp(1, self.blocks)
    }

    /// Roughly how long it takes, to choose among ways.
    fn nanoseconds(&self) -> f64 {
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
        let degree = self.cut.degree as f64;
        let answer_bytes = answers * degree * f64::from(self.bits + 14) / 8.0;
        let out = (self.need.opened as f64) * f64::from(self.bits + 3) / 8.0;
        let bytes = (self.inputs() * self.input_len()) as f64 + answer_bytes + out;
        primes * (transforms * TRANSFORM + filters * blocks * PRODUCT)
            + switches * SWITCH
            + bytes * BYTE
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

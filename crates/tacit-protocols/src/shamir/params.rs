//! Who sends what to whom, and which of several ways to do something is the faster one.

use std::ops::Range;

use tacit_algebra::mersenne::Field;
use tacit_algebra::sliced::Gf;
use tacit_net::LinkModel;

use super::small::less_products;
use super::{Comparison, MAX_PARTIES, Opening, Options};
use crate::{Error, tree};

/// Elements of the large field up to which one king serves alone, or one group of dealers: messages cost
/// more than the bytes that spreading them over more would save.
const CHUNK: usize = 256;

/// The most elements of a message of an opening.
const PIECE: usize = 1 << 15;

/// What a run's communication depends on. Party `i` holds the values at the point `i + 1`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub parties: usize,
    pub threshold: usize,
    /// `l`: the field has `2^l - 1` elements.
    pub bits: usize,
    /// Bytes of an element.
    word: usize,
    /// Bits of an element of the small field.
    pub small_bits: usize,
    /// Whether the parties count.
    pub counted: bool,
    comparison: Comparison,
    opening: Opening,
    link: LinkModel,
}

/// One opening: `len` values under a polynomial of some degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reveal {
    pub len: usize,
    pub degree: usize,
    /// Bits of an element.
    bits: usize,
    /// Whether a sharing of the value is enough, which saves the king `t` messages.
    pub dealt: bool,
}

impl Params {
    pub fn new<F: Field>(parties: usize, options: &Options) -> Result<Self, Error> {
        let t = options.threshold;
        if !(3..=MAX_PARTIES).contains(&parties) || parties as u64 >= F::P {
            return Err(Error::Invalid(format!(
                "Shamir sharing runs between 3 and {MAX_PARTIES} parties here, not {parties}"
            )));
        }
        if t == 0 || t > (parties - 1) / 2 {
            return Err(Error::Invalid(format!(
                "of {parties} parties 1 to {} may collude, not {t}",
                (parties - 1) / 2
            )));
        }
        Ok(Params {
            parties,
            threshold: t,
            bits: F::BITS as usize,
            word: F::BYTES,
            small_bits: Gf::with_points(parties).bits(),
            counted: false,
            comparison: options.comparison,
            opening: options.opening,
            link: options.link,
        })
    }

    /// The party `by` places after `party`.
    pub fn after(&self, party: usize, by: usize) -> usize {
        self.around(party + by)
    }

    /// The party `by` places before `party`.
    pub fn before(&self, party: usize, by: usize) -> usize {
        self.around(party + self.parties - by)
    }

    /// The party of a number that has gone around at most once: parties that count ask for it so often that
    /// a division shows.
    fn around(&self, number: usize) -> usize {
        if number < self.parties {
            number
        } else {
            number - self.parties
        }
    }

    /// How many elements are worked on at once: as many as stay in cache; at parties that count, which have none, all:
    /// no message is longer for it.
    pub fn at_once(&self, most: usize) -> usize {
        if self.counted { usize::MAX } else { most }
    }

    /// How many kings an opening has.
    pub fn kings_of(&self, reveal: &Reveal) -> usize {
        let chunk = CHUNK * self.word_bits() / reveal.bits;
        reveal.len.div_ceil(chunk).min(self.parties)
    }

    /// Who opens which part: parts of equal size, so that no king has more work than another.
    pub fn kings(&self, reveal: &Reveal) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let (kings, len) = (self.kings_of(reveal), reveal.len);
        (0..kings).map(move |k| (k, k * len / kings..(k + 1) * len / kings))
    }

    /// The parts of `len` columns of bits that groups of dealers have, in whole words.
    pub fn parts(&self, len: usize) -> Vec<Range<usize>> {
        let (parts, words) = (len.div_ceil(CHUNK).min(self.parties), len.div_ceil(64));
        let at = |k: usize| (k * words / parts * 64).min(len);
        (0..parts).map(|k| at(k)..at(k + 1)).collect()
    }

    /// Bits of an element of the large field on the wire.
    pub fn word_bits(&self) -> usize {
        8 * self.word
    }

    /// The parts that an opening's messages have, each with its king, who matters only where there
    /// are kings: so short that what is made on the way stays in cache.
    pub fn pieces(&self, reveal: &Reveal) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let parts: Vec<_> = match self.direct(reveal) {
            true => vec![(0, 0..reveal.len)],
            false => self.kings(reveal).collect(),
        };
        let most = self.at_once(PIECE);
        parts.into_iter().flat_map(move |(king, part)| {
            let end = part.end;
            part.step_by(most)
                .map(move |from| (king, from..end.min(from.saturating_add(most))))
        })
    }

    /// Who hears of a value from the king: as many of the parties after it.
    pub fn listeners(&self, dealt: bool) -> usize {
        self.parties - 1 - if dealt { self.threshold } else { 0 }
    }

    /// Whether everyone sends to everyone.
    pub fn direct(&self, reveal: &Reveal) -> bool {
        match self.opening {
            Opening::King => false,
            Opening::Direct => true,
            Opening::Auto => self.seconds(reveal, true) < self.seconds(reveal, false),
        }
    }

    /// A rough prediction of the time of an opening, for choosing between ways to do it.
    fn seconds(&self, reveal: &Reveal, direct: bool) -> f64 {
        let n = self.parties;
        let hops = if direct { 1 } else { 2 };
        let chunk = self.kings(reveal).next().map_or(0, |(_, part)| part.len());
        let kings = self.kings_of(reveal);
        let (elements, messages) = match direct {
            true => (reveal.degree * reveal.len, n * reveal.degree),
            false => (reveal.len + (n - 1) * chunk, 2 * (n - 1) * kings),
        };
        if self.link == LinkModel::LOCAL {
            // All parties share one machine: every message is its work.
            const WAKE: f64 = 20e-6;
            const MESSAGE: f64 = 1e-6;
            const BYTE: f64 = 0.5e-9;
            let bytes = n * elements * reveal.bits / 8;
            return f64::from(hops) * WAKE + messages as f64 * MESSAGE + bytes as f64 * BYTE;
        }
        let own = LinkModel {
            rtt: Default::default(),
            ..self.link
        };
        f64::from(hops) * self.link.rtt.as_secs_f64() / 2.0
            + own.time(elements * reveal.bits / 8).as_secs_f64()
    }

    /// Whether a tree's signs are taken over the small field: by what is sent for a bit, products there for each
    /// dealer and five more, or the bit itself and a product over the large one, as declared costs weigh them.
    pub fn small_signs(&self) -> bool {
        // Fields of a byte are for tests, which take signs both ways.
        self.small_bits * (self.threshold + 5) < 2 * self.word_bits().max(16)
    }

    /// Whether truncations have masks of `t + 1` dealers, added up one by one: by what is sent for one, which
    /// grows with the dealers, where bits over the large field cost by its elements.
    pub fn small_truncations(&self) -> bool {
        self.threshold <= if self.bits > 31 { 3 } else { 2 }
    }

    /// Places of the rotation: the smallest power of two above the bits.
    pub fn places(&self) -> usize {
        (self.bits + 1).next_power_of_two()
    }

    /// Factors of a tree over the large field: a leaf for each bit and one for equality, and a random one.
    pub fn factors(&self) -> usize {
        self.bits + 2
    }

    /// The openings of a ReLU of `n` elements, by which its time is predicted.
    fn relu_reveals(&self, rot: bool, n: usize) -> Vec<Reveal> {
        let product = |len| self.product(len);
        let public = |len| Reveal {
            dealt: false,
            ..product(len)
        };
        let mut all = vec![self.reveal(n, self.threshold)];
        if rot {
            let len = self.places() * n;
            all.extend([product(len), public(len), public(n), product(n)]);
        } else if self.small_signs() {
            let levels = less_products(self.bits);
            all.extend(levels.map(|products| self.product_bits(products * n)));
            all.extend([self.reveal_bits(n), product(n)]);
        } else {
            all.extend(tree::levels(self.factors()).map(|pairs| product(pairs * n)));
            all.extend([public(n), product(n)]);
        }
        all
    }

    /// The opening of values to every party.
    pub fn reveal(&self, len: usize, degree: usize) -> Reveal {
        Reveal {
            len,
            degree,
            bits: self.word_bits(),
            dealt: false,
        }
    }

    /// The opening of a multiplication.
    pub fn product(&self, len: usize) -> Reveal {
        Reveal {
            dealt: true,
            ..self.reveal(len, 2 * self.threshold)
        }
    }

    /// The opening of shared bits to every party.
    pub fn reveal_bits(&self, len: usize) -> Reveal {
        Reveal {
            bits: self.small_bits,
            ..self.reveal(len, self.threshold)
        }
    }

    /// The opening of a multiplication over the small field.
    pub fn product_bits(&self, len: usize) -> Reveal {
        Reveal {
            bits: self.small_bits,
            ..self.product(len)
        }
    }

    /// Whether the signs of `n` elements are taken by a rotation.
    pub fn rot(&self, n: usize) -> bool {
        match self.comparison {
            Comparison::Tree => false,
            Comparison::Rot => true,
            Comparison::Auto => {
                let time = |rot: bool| -> f64 {
                    // The rotation's products, of a few tenths of a nanosecond each.
                    let local = if rot { self.places().pow(2) * n } else { 0 };
                    let work = local as f64 * if self.word == 8 { 2e-9 } else { 0.4e-9 };
                    let reveals = self.relu_reveals(rot, n).into_iter();
                    reveals
                        .map(|r| self.seconds(&r, self.direct(&r)))
                        .sum::<f64>()
                        + work
                };
                time(true) < time(false)
            }
        }
    }
}

//! Products of numbers that one party has encrypted with numbers that the other knows (Huang, Lu,
//! Hong, Ding: "Cheetah: Lean and fast secure two-party deep neural network inference", USENIX
//! Security 2022, section 3; docs/spec/rlwe.md).
//!
//! The one party sends its numbers encrypted under a key of its own; the other multiplies them by its
//! own numbers, subtracts random numbers and sends the results back, re-randomised and flooded. What
//! is opened and the random numbers are shares of the product, exactly.
//!
//! Differs from the paper: numbers are cut so that the results of many polynomials can be packed into
//! one; an answer is an encryption whose first half looks uniform, and its error is hidden by noise
//! `2^40` times as large as the worst case over all coefficients, where the paper relies on the
//! rounding of the answer.
//!
//! | file | what |
//! |---|---|
//! | `shape.rs` | which number is which coefficient |
//! | `images.rs` | of a convolution's places, cut into blocks |
//! | `way.rs` | sizes, moduli and costs; the choice among them |
//! | `keys.rs` | the keys of a session |

mod images;
mod keys;
mod shape;
#[cfg(test)]
mod tests;
mod way;

use rayon::prelude::*;
use tacit_algebra::Prg;
use tacit_lattice::answer::{Answer, Masks};
use tacit_lattice::pack::Packing;
use tacit_lattice::{Basis, Ciphertext, Evaluation, Poly, Sums, wire};
use tacit_protocols::Error;
use tacit_protocols::message::Message;
use zeroize::Zeroizing;

use self::keys::{Bytes, basis, generator};
use self::shape::Block;
use super::{Engine, Live, Mode};
use crate::Shared;
use crate::ot::random::random;

pub(crate) use keys::{Keys, Wanted};
pub(crate) use way::{Encrypted, Way, keys_len};

const LEFT: Message<Bytes> = Message::new("sirnn rlwe: encrypted factor");
const ANSWER: Message<Bytes> = Message::new("sirnn rlwe: answer");

/// The bytes of a seed.
const SEED: usize = 16;

/// What one answer opens: coefficients and the places of the result that they are.
struct Opened {
    at: Vec<u32>,
    to: Vec<usize>,
}

impl Engine {
    /// Shares modulo `2^bits` of the products of the left factor's summands at the parties that
    /// `from` marks, in the way's bits, with the other's whole numbers `right`; those of a party
    /// that only encrypts are not looked at.
    ///
    /// 2 hops; the bytes of [`Way::bytes`], for each that encrypts.
    pub(crate) fn encrypted(
        &mut self,
        way: &Way,
        left: &Shared,
        right: &[i64],
        from: [bool; 2],
    ) -> Result<Shared, Error> {
        let outputs = way.need.opened;
        match &mut self.0 {
            Mode::Live(live) => live.encrypted(way, left, right, from),
            Mode::Counting(counter) => {
                let [encrypted, answered] = way.bytes();
                counter.exchange(from.map(|from| from.then_some(encrypted)));
                counter.exchange([from[1], from[0]].map(|from| from.then_some(answered)));
                Ok(Shared::new(way.bits, &vec![0; outputs]))
            }
        }
    }
}

impl Live {
    fn encrypted(
        &mut self,
        way: &Way,
        left: &Shared,
        right: &[i64],
        from: [bool; 2],
    ) -> Result<Shared, Error> {
        let (id, peer) = (self.party.id(), self.peer());
        let blocks = way.blocks();
        let mut out = vec![0; way.need.opened];
        if from[id] {
            self.send_left(way, &blocks, left)?;
        }
        if from[peer] {
            self.answer(way, &blocks, right, &mut out)?;
        }
        if from[id] {
            self.open_answers(way, &blocks, &mut out)?;
        }
        Ok(Shared::new(way.bits, &out))
    }

    /// Sends the left factor, encrypted: a seed, and one message for each ciphertext.
    fn send_left(&mut self, way: &Way, blocks: &[Block], left: &Shared) -> Result<(), Error> {
        let Some((_, secret)) = self.keys.own.get(&way.set) else {
            return Err(not_prepared());
        };
        let basis = basis(way.set);
        let seed = random::<[u8; SEED]>(1)?[0];
        let parts = parts(way, blocks.len());
        let [public, private] = [Prg::new(seed), generator()?];
        let [public, private] = [public, private].map(|prg| seeds(prg, parts.len()));
        let seeds = public.par_iter().zip(private.par_iter());
        let made = parts.par_iter().zip(seeds);
        let made = made.map(|((group, block, channels), (public, private))| {
            let numbers =
                way.sizes
                    .left_poly(&way.cut, &left.values, (*group, &blocks[*block], *channels));
            let numbers = Zeroizing::new(numbers);
            let [mut public, mut private] = [public, private].map(|seed| Prg::new(*seed));
            let plain = (numbers.as_slice(), way.bits);
            let half = secret.encrypt(&basis, &mut public, &mut private, plain);
            let mut message = Vec::with_capacity(way.input_len());
            wire::write_poly(&basis, &half, &mut message);
            message
        });
        let made: Vec<_> = made.collect();
        self.send(LEFT, SEED, seed.to_vec())?;
        for message in made {
            self.send(LEFT, way.input_len(), message)?;
        }
        Ok(())
    }

    fn recv_left(
        &mut self,
        way: &Way,
        basis: &Basis,
        blocks: usize,
    ) -> Result<Vec<Ciphertext>, Error> {
        let peer = self.peer();
        let parts = parts(way, blocks).len();
        let seed = self.recv(LEFT, SEED)?;
        let seed = seed.first_chunk().expect("of this length");
        let public = seeds(Prg::new(*seed), parts);
        let messages = (0..parts).map(|_| self.recv(LEFT, way.input_len()));
        let messages = messages.collect::<Result<Vec<_>, _>>()?;
        let read = messages.par_iter().zip(public.par_iter());
        let read = read.map(|(message, seed)| {
            let half = wire::read_poly(basis, basis.primes(), &mut message.as_slice())?;
            Some(Ciphertext::new(basis, &mut Prg::new(*seed), half))
        });
        let read: Option<Vec<_>> = read.collect();
        read.ok_or_else(|| LEFT.refused(peer, "a number in it is no residue"))
    }

    /// Answers the other's left factor; what it will open less the product is added to `out`.
    fn answer(
        &mut self,
        way: &Way,
        blocks: &[Block],
        right: &[i64],
        out: &mut [u64],
    ) -> Result<(), Error> {
        let basis = basis(way.set);
        let keys = self.keys.theirs.get(&way.set).cloned();
        let keys = keys.filter(|keys| keys.levels() >= way.cut.levels);
        let keys = keys.ok_or_else(not_prepared)?;
        let left = self.recv_left(way, &basis, blocks.len())?;
        let evaluator = Evaluator {
            way,
            basis: &basis,
            keys: &keys,
            right,
        };
        for round in rounds(way, blocks) {
            let start = (round.group * blocks.len() + round.blocks.start) * way.channel_blocks();
            let len = round.blocks.len() * way.channel_blocks();
            let packed = evaluator.packed(&round, &left[start..start + len]);
            let mut made = Vec::with_capacity(packed.len());
            for (block, ciphertext) in round.blocks.clone().zip(packed) {
                let opened = opened(way, &round, &blocks[block]);
                let random = self.keys.masks.draw(opened.at.len(), way.bits)?;
                made.push((opened, ciphertext, random, generator()?));
            }
            let made: Vec<_> = made
                .into_par_iter()
                .map(|(opened, ciphertext, random, noise)| {
                    let message = evaluator.answer(&opened, ciphertext, &random, noise);
                    (opened, random, message)
                })
                .collect();
            for (block, (opened, random, message)) in round.blocks.clone().zip(made) {
                self.send(
                    ANSWER,
                    way.answer_len(round.pack, blocks[block].to.len()),
                    message,
                )?;
                for (to, random) in opened.to.iter().zip(random.iter()) {
                    out[*to] = out[*to].wrapping_sub(*random);
                }
            }
        }
        Ok(())
    }

    /// Opens the other's answers; adds what they hold to `out`.
    fn open_answers(&mut self, way: &Way, blocks: &[Block], out: &mut [u64]) -> Result<(), Error> {
        let peer = self.peer();
        let basis = basis(way.set);
        for round in rounds(way, blocks) {
            let mut heard = Vec::with_capacity(round.blocks.len());
            for block in round.blocks.clone() {
                let len = way.answer_len(round.pack, blocks[block].to.len());
                heard.push((opened(way, &round, &blocks[block]), self.recv(ANSWER, len)?));
            }
            let (_, secret) = self.keys.own.get(&way.set).ok_or_else(not_prepared)?;
            let read: Option<Vec<_>> = heard
                .into_par_iter()
                .map(|(opened, message)| {
                    let n = opened.at.len();
                    let answer = wire::read_answer(&basis, way.bits, n, &mut message.as_slice())?;
                    let numbers = answer.open(&basis, secret, &opened.at, way.bits);
                    Some((opened, numbers))
                })
                .collect();
            let read = read.ok_or_else(|| ANSWER.refused(peer, "it is too short"))?;
            for (opened, numbers) in read {
                for (to, number) in opened.to.iter().zip(numbers.iter()) {
                    out[*to] = out[*to].wrapping_add(*number);
                }
            }
        }
        Ok(())
    }
}

fn not_prepared() -> Error {
    let call = "a product of encrypted numbers".into();
    Error::NotPrepared { call }
}

/// The ciphertexts of a left factor: their group, block of places and block of channels.
fn parts(way: &Way, blocks: usize) -> Vec<(usize, usize, usize)> {
    let channels = way.channel_blocks();
    let all = 0..way.sizes.groups * blocks * channels;
    all.map(|i| (i / channels / blocks, i / channels % blocks, i % channels))
        .collect()
}

/// A seed for each of `n` parts.
fn seeds(mut prg: Prg, n: usize) -> Zeroizing<Vec<[u8; SEED]>> {
    let mut seeds = Zeroizing::new(vec![[0; SEED]; n]);
    prg.fill(seeds.as_flattened_mut());
    seeds
}

/// What is computed together: a group's pack for some blocks of places.
struct Round {
    group: usize,
    pack: usize,
    blocks: std::ops::Range<usize>,
}

fn rounds(way: &Way, blocks: &[Block]) -> impl Iterator<Item = Round> + use<> {
    let (packs, chunk, count) = (way.packs(), way.chunk(), blocks.len());
    (0..way.sizes.groups).flat_map(move |group| {
        (0..count).step_by(chunk).flat_map(move |start| {
            (0..packs).map(move |pack| Round {
                group,
                pack,
                blocks: start..(start + chunk).min(count),
            })
        })
    })
}

/// The coefficients of a block's answer that are opened.
fn opened(way: &Way, round: &Round, block: &Block) -> Opened {
    let cut = &way.cut;
    let n = way.filters(round.pack);
    let (mut at, mut to) = (Vec::new(), Vec::new());
    for own in 0..n {
        let (poly, side) = (own / cut.side, own % cut.side);
        let filter = ((round.pack * cut.side) << cut.levels) + own;
        for (slot, place) in &block.to {
            let slot = side * cut.slots() + *slot as usize;
            at.push(((slot << cut.width) + poly) as u32);
            to.push(way.sizes.out(round.group, *place, filter));
        }
    }
    Opened { at, to }
}

/// What one party computes on the other's ciphertexts.
struct Evaluator<'a> {
    way: &'a Way,
    basis: &'a Basis,
    keys: &'a Evaluation,
    right: &'a [i64],
}

impl Evaluator<'_> {
    /// The products of a round, packed, for each of its blocks of places.
    fn packed(&self, round: &Round, left: &[Ciphertext]) -> Vec<Ciphertext> {
        let (way, count) = (self.way, round.blocks.len());
        let first = round.pack << way.cut.levels;
        let packing = Packing {
            basis: self.basis,
            keys: self.keys,
            levels: way.cut.levels,
            count: (way.polys() - first).min(1 << way.cut.levels),
            make: &|index| self.sums(round.group, first + index, left, count),
        };
        packing.packed()
    }

    /// One polynomial of filters times the left factor, summed over channels, for each block.
    fn sums(
        &self,
        group: usize,
        index: usize,
        left: &[Ciphertext],
        count: usize,
    ) -> Vec<Ciphertext> {
        let (way, channels) = (self.way, self.way.channel_blocks());
        let mut sums: Vec<_> = (0..count).map(|_| Sums::new(self.basis)).collect();
        for channel in 0..channels {
            let numbers = way
                .sizes
                .right_poly(&way.cut, self.right, (group, index, channel));
            let right = self.whole(&Zeroizing::new(numbers));
            for (sum, block) in sums.iter_mut().zip(left.chunks_exact(channels)) {
                sum.add(self.basis, &block[channel], &right);
            }
        }
        sums.into_iter().map(|sum| sum.finish(self.basis)).collect()
    }

    /// Whole numbers, divided by the number of polynomials that are packed, as values.
    fn whole(&self, numbers: &[i64]) -> Zeroizing<Poly> {
        let mut poly = Zeroizing::new(self.basis.whole(numbers, self.basis.primes()));
        if self.way.cut.levels > 0 {
            self.basis.halve(&mut poly, self.way.cut.levels);
        }
        self.basis.forward(&mut poly);
        poly
    }

    /// The answer that opens a ciphertext plus random numbers, and these.
    fn answer(
        &self,
        opened: &Opened,
        ciphertext: Ciphertext,
        random: &[u64],
        mut noise: Prg,
    ) -> Vec<u8> {
        let way = self.way;
        let masks = Masks {
            at: &opened.at,
            numbers: random,
            bits: way.bits,
            flood: way.need.flood(self.basis.parameters()),
        };
        let answer = Answer::make(self.basis, self.keys, ciphertext, &masks, &mut noise);
        let mut message = Vec::new();
        wire::write_answer(self.basis, &answer, way.bits, &mut message);
        message
    }
}

//! The sign of any ring element, exactly, and bits as ring elements and times them, between the holders
//! (docs/spec/adder.md, section 3). The assistant deals triples of bits beforehand; online it sends and
//! is sent nothing.
//!
//! The two summands of `x` are the numbers that a binary adder adds. Differs from the usual triples:
//! the two ANDs of a pair of groups have an operand in common, which is opened once.

use tacit_algebra::{BitRows, Bits, Buffer, Ring, planes};
use zeroize::Zeroize;

use super::demand::{Material, Want};
use super::{Share, Ubl};
use crate::bicoptor::role::{PartyRole, open_rows, other, recv, send};
use crate::message::Message;
use crate::replicated::{Words, blocks};
use crate::{Error, pool};

const DEAL: Message<BitRows> = Message::new("bicoptor sign: deal products of bits");
const WORD: Message<Words> = Message::new("bicoptor bit: deal the bit over the ring");
const PRODUCT: Message<Words> = Message::new("bicoptor bit: deal product");
const GENERATE: Message<BitRows> = Message::new("bicoptor sign: open masked bits");
const CARRY: Message<BitRows> = Message::new("bicoptor sign: open masked groups");
const CHOICE: Message<BitRows> = Message::new("bicoptor bit: open masked bit");
const VALUE: Message<Words> = Message::new("bicoptor bit: open masked value");

/// A holder's material for the signs of one block of elements; the assistant keeps none.
#[derive(Zeroize)]
pub(super) struct Sign {
    /// Material for the first products: the mask of the bits that this holder knows, and a share of the products of
    /// both masks.
    generate: [BitRows; 2],
    levels: Vec<Level>,
}

/// A holder's material for one level of the tree.
#[derive(Zeroize)]
struct Level {
    /// Shares of the masks of the upper groups' `p`.
    upper: BitRows,
    /// Shares of the masks of the lower groups' `g` and `p`.
    lower: BitRows,
    /// Shares of the products of the masks of upper and lower groups.
    product: BitRows,
}

/// A holder's material for bits as ring elements, and times them: shares of a random bit `rho`.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct Bit<R> {
    bit: Bits,
    word: Buffer<R>,
    /// Shares of a random `a` and of `rho a`, if the bits are to be multiplied.
    times: Option<[Buffer<R>; 2]>,
}

/// The signs of one block on their way.
struct Adding {
    half: BitRows,
    g: BitRows,
    p: BitRows,
    /// What this holder has opened of its own.
    sent: BitRows,
}

/// The ANDs of each level of the tree over so many groups, as pairs.
fn levels(width: u32) -> impl Iterator<Item = usize> {
    pool::levels(width as usize - 1).map(|(pairs, _)| pairs)
}

/// About how many bytes of material a holder has for the signs of `n` elements.
pub(super) fn sign_stored(n: usize, width: u32) -> u64 {
    let below = 2 * (width as usize - 1);
    let rows = below + levels(width).map(|k| 5 * k - 2).sum::<usize>();
    (rows * n).div_ceil(8) as u64
}

impl<R: Ring> Ubl<R> {
    /// Deals the material of `n` signs of `width` bits: 1 bit an AND to party 1.
    pub(super) fn deal_signs(&mut self, n: usize, width: u32) -> Result<Vec<Sign>, Error> {
        let mut made = Vec::new();
        for block in blocks(n, 2) {
            let (below, n) = (width as usize - 1, block.len());
            // The first holder's mask and the second's; the assistant, who draws both, multiplies.
            let (mask, product) = match &mut self.role {
                PartyRole::Holder { dealt, .. } => (dealt.bit_rows(below, n), BitRows::default()),
                PartyRole::Assistant { first, second } => {
                    let masks = [first, second].map(|prg| prg.bit_rows(below, n));
                    let product = planes::and(&masks[0], &masks[1]);
                    (BitRows::default(), product)
                }
            };
            let party = &mut self.party;
            let share = self.role.deal_rows(party, DEAL, [below, n], product)?;
            let mut sign = Sign {
                generate: [mask, share],
                levels: Vec::new(),
            };
            for pairs in levels(width) {
                let upper = self.role.random_rows(pairs, n);
                let lower = self.role.random_rows(2 * pairs - 1, n);
                let product = match self.role {
                    PartyRole::Holder { .. } => BitRows::default(),
                    PartyRole::Assistant { .. } => planes::and(&planes::doubled(&upper), &lower),
                };
                let shape = [2 * pairs - 1, n];
                let product = self.role.deal_rows(&mut self.party, DEAL, shape, product)?;
                sign.levels.push(Level {
                    upper,
                    lower,
                    product,
                });
            }
            if let PartyRole::Holder { .. } = self.role {
                made.push(sign);
            }
        }
        Ok(made)
    }

    /// Deals `n` random bits over the ring, and products with random elements if `times`: 1 element or
    /// 2 to party 1.
    pub(super) fn deal_bits(&mut self, n: usize, times: bool) -> Result<Bit<R>, Error> {
        let bit = self.role.random_bits(n);
        let values = match self.role {
            PartyRole::Holder { .. } => Buffer::default(),
            PartyRole::Assistant { .. } => bit.words_of(),
        };
        let word = self.role.deal(&mut self.party, WORD, n, values)?;
        let times = match times {
            false => None,
            true => {
                let a = self.role.random(n);
                let product = match self.role {
                    PartyRole::Holder { .. } => Buffer::default(),
                    PartyRole::Assistant { .. } => word.mul(&a),
                };
                let product = self.role.deal(&mut self.party, PRODUCT, n, product)?;
                Some([a, product])
            }
        };
        Ok(match self.role {
            PartyRole::Holder { .. } => Bit { bit, word, times },
            PartyRole::Assistant { .. } => Bit {
                bit: Bits::zeros(0),
                word: Buffer::default(),
                times: None,
            },
        })
    }

    /// DReLU of any number of `width` bits, as shares of 0 or 1. A sign, and 1 hop and 1 bit per holder.
    pub(super) fn drelu_exact(&mut self, x: &Share<R>, width: u32) -> Result<Share<R>, Error> {
        let n = x.len();
        let bits = self.not_negative(x, width)?;
        let Bit { bit, word, .. } = self.take_bits(Want::Bit { n })?;
        x.try_map(n, |_| {
            let masked = bits.xor(&bit);
            self.send_bits(&masked)?;
            let e = self.recv_bits(masked)?;
            Ok(word.flip(&e, self.role.carries()))
        })
    }

    /// `max(x, 0)` of any number of `width` bits. A sign, and 1 hop, 1 bit and 1 element per holder.
    ///
    /// With `e = b ^ rho` and `delta = x - a` opened, `b = e + (1 - 2 e) rho` and
    /// `b x = e x + (1 - 2 e) (delta rho + rho a)`.
    pub(super) fn rectify_exact(&mut self, x: &Share<R>, width: u32) -> Result<Share<R>, Error> {
        let n = x.len();
        let bits = self.not_negative(x, width)?;
        let Bit { bit, word, times } = self.take_bits(Want::Times { n })?;
        x.try_map(n, |x| {
            let [a, product] = times.expect("dealt for products");
            let (masked, delta) = (bits.xor(&bit), x.sub(&a));
            let peer = other(&self.party);
            self.send_bits(&masked)?;
            for block in blocks(n, 2) {
                send(&mut self.party, peer, VALUE, &delta.part(block))?;
            }
            let e = self.recv_bits(masked)?;
            let mut theirs = Buffer::default();
            for block in blocks(n, 2) {
                theirs.grow(recv(&mut self.party, peer, VALUE, block.len())?, n);
            }
            let mut flipped = delta.add(&theirs).mul(&word);
            flipped.add_assign(&product);
            Ok(flipped.unflip(x, &e))
        })
    }

    /// A holder's part in opening bits to the holders.
    fn send_bits(&mut self, masked: &Bits) -> Result<(), Error> {
        for block in blocks(masked.len(), 2) {
            let part = masked.slice(block.start, block.len());
            let to = other(&self.party);
            CHOICE.send(&mut self.party, to, &BitRows::from_rows(&[part]))?;
        }
        Ok(())
    }

    /// The sum of what this holder has sent and of what the other has.
    fn recv_bits(&mut self, mut masked: Bits) -> Result<Bits, Error> {
        let mut parts = Vec::new();
        for block in blocks(masked.len(), 2) {
            let from = other(&self.party);
            let rows = CHOICE.recv(&mut self.party, from, [1, block.len()])?;
            parts.push(rows.row_bits(0));
        }
        masked.xor_assign(&Bits::concat(&parts.iter().collect::<Vec<_>>()));
        Ok(masked)
    }

    /// A holder's share of the complement of the sign, and of nothing at the assistant.
    fn not_negative(&mut self, x: &Share<R>, width: u32) -> Result<Bits, Error> {
        let want = Want::Sign { n: x.len(), width };
        let Material::Sign(material) = self.take(want)? else {
            unreachable!("material lies with its want")
        };
        if let PartyRole::Assistant { .. } = self.role {
            return Ok(Bits::zeros(0));
        }
        let sign = self.negative(&x.own(), width, material)?;
        Ok(match self.role.carries() {
            true => sign.not(),
            false => sign,
        })
    }

    /// Bit `width - 1` of the sum of both holders' summands.
    ///
    /// `1 + ceil(log2(width - 1))` hops; each holder sends `width - 1` bits and `3 k - 1` for each level
    /// of `k` pairs.
    fn negative(
        &mut self,
        own: &Buffer<R>,
        width: u32,
        material: Vec<Sign>,
    ) -> Result<Bits, Error> {
        let mut adding = Vec::new();
        for (block, sign) in blocks(own.len(), 2).zip(&material) {
            adding.push(self.begin_sign(&own.part(block), width, sign)?);
        }
        for (adding, sign) in adding.iter_mut().zip(&material) {
            self.finish_generate(adding, sign)?;
            self.begin_level(adding, sign.levels.first())?;
        }
        for i in 0..levels(width).count() {
            for (adding, sign) in adding.iter_mut().zip(&material) {
                self.finish_level(adding, &sign.levels[i])?;
                self.begin_level(adding, sign.levels.get(i + 1))?;
            }
        }
        let tops: Vec<Bits> = adding.iter().map(Adding::top).collect();
        Ok(Bits::concat(&tops.iter().collect::<Vec<_>>()))
    }

    /// The bits of this holder's summand; those below the top are opened under its mask.
    fn begin_sign(&mut self, own: &Buffer<R>, width: u32, sign: &Sign) -> Result<Adding, Error> {
        let half = own.bit_rows(width);
        let below = 0..half.rows() - 1;
        let mut sent = half.pick(below.clone());
        planes::xor_assign(&mut sent, &sign.generate[0]);
        if !below.is_empty() {
            let to = other(&self.party);
            GENERATE.send(&mut self.party, to, &sent)?;
        }
        Ok(Adding {
            g: half.pick(below.clone()),
            p: half.pick(1..below.end.max(1)),
            half,
            sent,
        })
    }

    /// Products `u v` of bits that one holder each knows, from `d = u ^ a` and `e = v ^ b`:
    /// `c ^ u e` at the first, `c ^ d b` at the second.
    fn finish_generate(&mut self, adding: &mut Adding, sign: &Sign) -> Result<(), Error> {
        let [mask, product] = &sign.generate;
        if mask.rows() == 0 {
            return Ok(());
        }
        let (from, shape) = (other(&self.party), [mask.rows(), mask.cols()]);
        let theirs = GENERATE.recv(&mut self.party, from, shape)?;
        let factor = match self.role.carries() {
            true => &adding.g,
            false => mask,
        };
        let mut g = planes::and(&theirs, factor);
        planes::xor_assign(&mut g, product);
        adding.g = g;
        Ok(())
    }

    fn begin_level(&mut self, adding: &mut Adding, level: Option<&Level>) -> Result<(), Error> {
        let Some(level) = level else { return Ok(()) };
        let [mut upper, mut lower] = planes::operands(&adding.g, &adding.p);
        planes::xor_assign(&mut upper, &level.upper);
        planes::xor_assign(&mut lower, &level.lower);
        adding.sent = BitRows::stack(&[&upper, &lower]);
        let to = other(&self.party);
        CARRY.send(&mut self.party, to, &adding.sent)
    }

    fn finish_level(&mut self, adding: &mut Adding, level: &Level) -> Result<(), Error> {
        let opened = open_rows(&mut self.party, CARRY, std::mem::take(&mut adding.sent))?;
        let pairs = level.upper.rows();
        let d = planes::doubled(&opened.pick(0..pairs));
        let e = opened.pick(pairs..opened.rows());
        let a = planes::doubled(&level.upper);
        let (product, carries) = (level.product.clone(), self.role.carries());
        let products = planes::triple_product(product, [&d, &e], [&a, &level.lower], carries);
        [adding.g, adding.p] = planes::join(&adding.g, &adding.p, &products);
        Ok(())
    }

    fn take_bits(&mut self, want: Want) -> Result<Bit<R>, Error> {
        match self.take(want)? {
            Material::Bit(bit) => Ok(bit),
            _ => unreachable!("material lies with its want"),
        }
    }
}

impl Adding {
    fn top(&self) -> Bits {
        let last = self.half.rows() - 1;
        let mut top = self.half.row_bits(last);
        if last > 0 {
            top.xor_assign(&self.g.row_bits(0));
        }
        top
    }
}

#[cfg(test)]
mod tests;

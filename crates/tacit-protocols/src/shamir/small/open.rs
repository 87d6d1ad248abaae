//! Openings over the small field (docs/spec/liu24.md, section 2.3), as `shamir/open.rs` makes them over the
//! large one: kings have columns of whole words each, and tell of opened bits one bit.

use std::ops::Range;

use tacit_algebra::BitRows;
use tacit_algebra::mersenne::Field;
use tacit_algebra::sliced::Sliced;

use super::super::Shamir;
use super::super::params::Reveal;
use super::deal::BitDoubles;
use crate::Error;
use crate::message::Message;

const VALUE: Message<BitRows> = Message::new("shamir reveal bits: value");

impl<F: Field> Shamir<F> {
    /// Opens shared bits to every party: 1 or 2 hops, `(t + (n - 1) / k) / n` elements of each party through
    /// kings, `t` directly.
    pub(in super::super) fn reveal_bits(
        &mut self,
        step: Message<BitRows>,
        share: &Sliced,
    ) -> Result<BitRows, Error> {
        let reveal = self.params.reveal_bits(share.values() * share.cols());
        let opened = self.open_planes(step, share, &reveal)?;
        let bits = opened.low_planes();
        match Sliced::of_bits(self.small.gf, &bits) == opened {
            true => Ok(bits),
            false => Err(Error::Invalid(format!(
                "what is opened at '{}' are no bits: a party did not follow the protocol",
                step.step()
            ))),
        }
    }

    /// Mult (Damgard, Nielsen) over the small field: `[x y]` from `<u> = [x] [y] + <r>`, opened, less `[r]`.
    /// 1 or 2 hops, `3 t / n` elements of each party through kings for `n = 2 t + 1`.
    pub(super) fn mult_bits(
        &mut self,
        step: Message<BitRows>,
        x: &Sliced,
        y: &Sliced,
        pool: &mut BitDoubles,
    ) -> Result<Sliced, Error> {
        let double = self.take_bits(pool, x.values())?;
        let masked = Sliced::mul_add(x, y, double.high);
        let reveal = self.params.product_bits(masked.values() * masked.cols());
        let product = self.open_planes(step, &masked, &reveal)?;
        Ok(product.xor(&double.low))
    }

    /// Opens; what is `dealt` is this party's share of the value.
    fn open_planes(
        &mut self,
        step: Message<BitRows>,
        share: &Sliced,
        reveal: &Reveal,
    ) -> Result<Sliced, Error> {
        let direct = self.params.direct(reveal);
        let pieces = self.bit_pieces(reveal, share.cols());
        for (king, piece) in &pieces {
            self.send_planes(step, &share.columns(piece.clone()), reveal, *king, direct)?;
        }
        let mut opened = Vec::with_capacity(pieces.len());
        for (king, piece) in &pieces {
            let own = direct || *king == self.party.id();
            opened.push(match own {
                true => {
                    Some(self.rule_planes(step, share.columns(piece.clone()), reveal, direct)?)
                }
                false => None,
            });
        }
        let mut parts = Vec::with_capacity(pieces.len());
        for ((king, piece), own) in pieces.into_iter().zip(opened) {
            let shape = (share.values(), piece.len());
            parts.push(match own {
                Some(value) if direct => value,
                own => self.hear_planes(king, own, shape, reveal.dealt)?,
            });
        }
        match &parts[..] {
            [whole] => Ok(whole.clone()),
            parts => Ok(Sliced::beside(&parts.iter().collect::<Vec<_>>())),
        }
    }

    /// Who opens which columns: whole words.
    fn bit_pieces(&self, reveal: &Reveal, cols: usize) -> Vec<(usize, Range<usize>)> {
        let (words, direct) = (cols.div_ceil(64), self.params.direct(reveal));
        let kings = self.params.kings_of(reveal).min(words).max(1);
        let at = |k: usize| (k * words / kings * 64).min(cols);
        match direct {
            true => vec![(0, 0..cols)],
            false => (0..kings).map(|k| (k, at(k)..at(k + 1))).collect(),
        }
    }

    /// Sends this party's share to whoever adds it up.
    fn send_planes(
        &mut self,
        step: Message<BitRows>,
        share: &Sliced,
        reveal: &Reveal,
        king: usize,
        direct: bool,
    ) -> Result<(), Error> {
        let id = self.party.id();
        let to: Vec<usize> = match direct {
            true => (1..=reveal.degree)
                .map(|i| self.params.before(id, i))
                .collect(),
            false if (1..=reveal.degree).contains(&self.params.before(id, king)) => vec![king],
            false => vec![],
        };
        let send = |to: usize| step.send(&mut self.party, to, share.planes());
        to.into_iter().try_for_each(send)
    }

    /// Adds up a piece from the shares of this party and those after it, and, as its king, tells the others.
    fn rule_planes(
        &mut self,
        step: Message<BitRows>,
        own: Sliced,
        reveal: &Reveal,
        direct: bool,
    ) -> Result<Sliced, Error> {
        let (id, small) = (self.party.id(), self.small.clone());
        let shape = [own.planes().rows(), own.cols()];
        let mut rows = vec![own];
        for i in 1..=reveal.degree {
            let from = self.params.after(id, i);
            let planes = step.recv(&mut self.party, from, shape)?;
            rows.push(Sliced::new(small.gf, planes));
        }
        let at_zero = match reveal.degree == self.params.threshold {
            true => &small.at_zero_t,
            false => &small.at_zero_2t,
        };
        let value = at_zero.apply(&rows.iter().collect::<Vec<_>>()).remove(0);
        if !direct {
            let low = (!reveal.dealt).then(|| value.low_planes());
            for i in 1..=self.params.listeners(reveal.dealt) {
                let told = low.as_ref().unwrap_or(value.planes());
                VALUE.send(&mut self.party, self.params.after(id, i), told)?;
            }
        }
        Ok(value)
    }

    /// What the king tells of a piece; of a `dealt` value its share, which is 0 where this party is not told.
    fn hear_planes(
        &mut self,
        king: usize,
        own: Option<Sliced>,
        (values, cols): (usize, usize),
        dealt: bool,
    ) -> Result<Sliced, Error> {
        let (id, small) = (self.party.id(), self.small.clone());
        let told = self.params.before(id, king) <= self.params.listeners(dealt);
        let value = match own {
            Some(value) => value,
            None if !told && self.party.counts() => return Ok(small.counted(values, cols)),
            None if !told => return Ok(Sliced::zeros(small.gf, values, cols)),
            None if dealt => {
                let rows = values * small.gf.bits();
                Sliced::new(small.gf, VALUE.recv(&mut self.party, king, [rows, cols])?)
            }
            None => {
                let bits = VALUE.recv(&mut self.party, king, [values, cols])?;
                Sliced::of_bits(small.gf, &bits)
            }
        };
        match dealt {
            true => Ok(small.dealt[king].apply(&[&value]).remove(0)),
            false => Ok(value),
        }
    }
}

//! Openings over the small field (docs/spec/liu24.md, section 2.3), as `shamir/open.rs` makes them over the
//! large one: kings have values of their own or whole words of columns, and tell of opened bits one bit.

use std::ops::Range;

use tacit_algebra::BitRows;
use tacit_algebra::mersenne::Field;
use tacit_algebra::sliced::Sliced;

use super::super::Shamir;
use super::super::params::Reveal;
use super::deal::BitDoubles;
use crate::Error;
use crate::message::Message;

/// Words of the longest message of an opening.
const PIECE: usize = 1 << 14;

const VALUE: Message<BitRows> = Message::new("shamir open bits: value");

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
        // Kings have values of their own, or, where there are fewer than kings, columns.
        let kings = self.params.kings_of(reveal);
        if share.values() >= kings || self.params.direct(reveal) {
            return self.open_values(step, share, reveal, kings);
        }
        let (words, cols) = (share.cols().div_ceil(64), share.cols());
        let parts = kings.min(words);
        let at = |k: usize| (k * words / parts * 64).min(cols);
        let columns: Vec<Sliced> = (0..parts)
            .map(|k| share.columns(at(k)..at(k + 1)))
            .collect();
        for (king, part) in columns.iter().enumerate() {
            self.send_planes(step, part, &Piece::of(king, part), reveal)?;
        }
        let own = columns.get(self.party.id());
        let id = self.party.id();
        let own = own.map(|part| self.rule_planes(step, part, &Piece::of(id, part), reveal));
        let mut own = own.transpose()?;
        let mut opened = Vec::with_capacity(parts);
        for (king, part) in columns.iter().enumerate() {
            let own = own.take_if(|_| king == self.party.id());
            opened.push(self.hear_planes(own, &Piece::of(king, part), part.cols(), reveal)?);
        }
        Ok(Sliced::beside(&opened.iter().collect::<Vec<_>>()))
    }

    /// Opens by pieces of neighbouring values.
    fn open_values(
        &mut self,
        step: Message<BitRows>,
        share: &Sliced,
        reveal: &Reveal,
        kings: usize,
    ) -> Result<Sliced, Error> {
        let pieces = self.bit_pieces(share, reveal, kings);
        for piece in &pieces {
            self.send_planes(step, share, piece, reveal)?;
        }
        let mut own = Vec::with_capacity(pieces.len());
        for piece in &pieces {
            let rules = piece.king.is_none_or(|king| king == self.party.id());
            own.push(match rules {
                true => Some(self.rule_planes(step, share, piece, reveal)?),
                false => None,
            });
        }
        let mut opened = Vec::with_capacity(pieces.len());
        for (piece, own) in pieces.iter().zip(own) {
            opened.push(self.hear_planes(own, piece, share.cols(), reveal)?);
        }
        Ok(match opened.len() {
            1 => opened.remove(0),
            _ => Sliced::stack(&opened.iter().collect::<Vec<_>>()),
        })
    }

    /// The pieces of an opening, each of neighbouring values: so short that what is made on the way stays in
    /// cache.
    fn bit_pieces(&self, share: &Sliced, reveal: &Reveal, kings: usize) -> Vec<Piece> {
        let values = share.values();
        let parts: Vec<_> = match self.params.direct(reveal) {
            true => vec![(None, 0..values)],
            false => (0..kings)
                .map(|k| (Some(k), k * values / kings..(k + 1) * values / kings))
                .collect(),
        };
        let words = (share.gf().bits() * share.cols().div_ceil(64)).max(1);
        let most = (self.params.at_once(PIECE) / words).max(1);
        let cut = |(king, part): (Option<usize>, Range<usize>)| {
            let end = part.end;
            part.step_by(most).map(move |from| Piece {
                king,
                values: from..end.min(from.saturating_add(most)),
            })
        };
        parts.into_iter().flat_map(cut).collect()
    }

    /// Sends this party's share to whoever adds it up.
    fn send_planes(
        &mut self,
        step: Message<BitRows>,
        share: &Sliced,
        piece: &Piece,
        reveal: &Reveal,
    ) -> Result<(), Error> {
        let (id, k) = (self.party.id(), share.gf().bits());
        let rows = piece.values.start * k..piece.values.end * k;
        let to: Vec<usize> = match piece.king {
            None => (1..=reveal.degree)
                .map(|i| self.params.before(id, i))
                .collect(),
            Some(king) if (1..=reveal.degree).contains(&self.params.before(id, king)) => vec![king],
            Some(_) => vec![],
        };
        for to in to {
            let (shape, rows) = ([rows.len(), share.cols()], rows.clone());
            let make = || share.planes().part_to_bytes(rows);
            step.send_made(&mut self.party, to, shape, make)?;
        }
        Ok(())
    }

    /// Adds up a piece from the shares of this party and those after it, and, as its king, tells the others.
    fn rule_planes(
        &mut self,
        step: Message<BitRows>,
        share: &Sliced,
        piece: &Piece,
        reveal: &Reveal,
    ) -> Result<Sliced, Error> {
        let (id, small, values) = (self.party.id(), self.small.clone(), piece.values.len());
        let shape = [values * small.gf.bits(), share.cols()];
        let mut heard = Vec::with_capacity(reveal.degree);
        for i in 1..=reveal.degree {
            let planes = step.recv(&mut self.party, self.params.after(id, i), shape)?;
            heard.push(Sliced::new(small.gf, planes));
        }
        let at_zero = match reveal.degree == self.params.threshold {
            true => &small.at_zero_t,
            false => &small.at_zero_2t,
        };
        let own = std::iter::once((share, piece.values.start));
        let rows: Vec<_> = own.chain(heard.iter().map(|heard| (heard, 0))).collect();
        let value = at_zero.apply_parts(&rows, values).remove(0);
        if piece.king.is_some() {
            let low = (!reveal.dealt).then(|| value.low_planes());
            for i in 1..=self.params.listeners(reveal.dealt) {
                let told = low.as_ref().unwrap_or(value.planes());
                VALUE.send(&mut self.party, self.params.after(id, i), told)?;
            }
        }
        Ok(value)
    }

    /// What is opened of a piece, or this party's share of it if that is `dealt`: 0 where it is not told.
    fn hear_planes(
        &mut self,
        own: Option<Sliced>,
        piece: &Piece,
        cols: usize,
        reveal: &Reveal,
    ) -> Result<Sliced, Error> {
        let (id, small, values) = (self.party.id(), self.small.clone(), piece.values.len());
        let Some(king) = piece.king else {
            return Ok(own.expect("everyone adds up what is opened directly"));
        };
        let told = self.params.before(id, king) <= self.params.listeners(reveal.dealt);
        let value = match own {
            Some(value) => value,
            None if !told && self.party.counts() => return Ok(small.counted(values, cols)),
            None if !told => return Ok(Sliced::zeros(small.gf, values, cols)),
            None if reveal.dealt => {
                let shape = [values * small.gf.bits(), cols];
                Sliced::new(small.gf, VALUE.recv(&mut self.party, king, shape)?)
            }
            None => {
                let bits = VALUE.recv(&mut self.party, king, [values, cols])?;
                Sliced::of_bits(small.gf, &bits)
            }
        };
        match reveal.dealt {
            true => Ok(small.dealt[king].apply(&[&value]).remove(0)),
            false => Ok(value),
        }
    }
}

/// A part of what is opened: neighbouring values, and their king, if there are kings.
struct Piece {
    king: Option<usize>,
    values: Range<usize>,
}

impl Piece {
    /// All values of a king's columns.
    fn of(king: usize, columns: &Sliced) -> Self {
        Piece {
            king: Some(king),
            values: 0..columns.values(),
        }
    }
}

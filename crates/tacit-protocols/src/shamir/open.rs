//! Opening of shared values (Liu et al., Reveal; docs/spec/liu24.md, section 2.3) and what rests on
//! it: MultPub and Mult.
//!
//! Differs from the paper: the king's work is spread over the parties, each opening a part of the
//! elements; small or distant openings go directly from everyone to everyone, in one hop; and
//! where a sharing of the opened value is enough, the king leaves out the `t` parties before it,
//! whose shares of a polynomial with zeros at their points are 0.

use std::ops::Range;

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, buffer};

use super::Shamir;
use super::deal::Double;
use super::params::Reveal;
use crate::Error;
use crate::message::{Elements, Message};

const VALUE: Message<Elements> = Message::new("shamir reveal: value");

/// Shares to be opened.
pub(super) struct Job<F> {
    pub step: Message<Elements>,
    pub share: Buffer<F>,
    pub reveal: Reveal,
}

impl<F: Field> Shamir<F> {
    /// Opens values shared with polynomials of `degree` to every party.
    ///
    /// Through kings: 2 hops; every party sends `(degree + n - 1) / n` elements on average.
    /// Directly: 1 hop and `degree` elements.
    pub(super) fn reveal_shares(
        &mut self,
        step: Message<Elements>,
        share: Buffer<F>,
        degree: usize,
    ) -> Result<Buffer<F>, Error> {
        let reveal = self.params.reveal(share.len(), degree);
        let mut opened = self.reveal_together(vec![Job {
            step,
            share,
            reveal,
        }])?;
        Ok(opened.pop().expect("one job has one result"))
    }

    /// MultPub: opens `x y` under a sharing `zero` of 0 of degree `2t`.
    pub(super) fn mult_pub(
        &mut self,
        step: Message<Elements>,
        x: &Buffer<F>,
        y: &Buffer<F>,
        zero: &Buffer<F>,
    ) -> Result<Buffer<F>, Error> {
        let degree = 2 * self.params.threshold;
        self.reveal_shares(step, buffer::mul_add(x, y, zero), degree)
    }

    /// Mult (Damgard and Nielsen): `[x y]` from `<u> = [x] [y] + <r>`, opened, less `[r]`.
    pub(super) fn mult(
        &mut self,
        step: Message<Elements>,
        x: &Buffer<F>,
        y: &Buffer<F>,
        double: &Double<F>,
    ) -> Result<Buffer<F>, Error> {
        let mut z = self.deal_back(step, buffer::mul_add(x, y, &double.high))?;
        buffer::sub_assign(&mut z, &double.low);
        Ok(z)
    }

    /// A sharing of degree `t` of a masked value of degree `2t`.
    pub(super) fn deal_back(
        &mut self,
        step: Message<Elements>,
        share: Buffer<F>,
    ) -> Result<Buffer<F>, Error> {
        let reveal = self.params.product(share.len());
        let mut opened = self.reveal_together(vec![Job {
            step,
            share,
            reveal,
        }])?;
        Ok(opened.pop().expect("one job has one result"))
    }

    /// Opens several values at once, in the hops of one. A result that is `dealt` is this party's
    /// share of the value.
    pub(super) fn reveal_together(&mut self, jobs: Vec<Job<F>>) -> Result<Vec<Buffer<F>>, Error> {
        for job in &jobs {
            self.send_shares(job)?;
        }
        let mut opened = Vec::with_capacity(jobs.len());
        for job in &jobs {
            opened.push(match self.params.direct(&job.reveal) {
                true => self.add_up_all(job)?,
                false => self.rule(job)?,
            });
        }
        let mut results = Vec::with_capacity(jobs.len());
        for (job, opened) in jobs.iter().zip(opened) {
            results.push(Buffer::concat(&self.hear(job, opened)?));
        }
        Ok(results)
    }

    /// Sends this party's share to whoever adds it up.
    fn send_shares(&mut self, job: &Job<F>) -> Result<(), Error> {
        let (id, degree) = (self.party.id(), job.reveal.degree);
        let direct = self.params.direct(&job.reveal);
        for (king, piece) in self.params.pieces(&job.reveal) {
            let share = job.share.part(piece);
            if direct {
                for i in 1..=degree {
                    self.send(self.params.before(id, i), job.step, &share)?;
                }
            } else if (1..=degree).contains(&self.params.before(id, king)) {
                self.send(king, job.step, &share)?;
            }
        }
        Ok(())
    }

    /// A direct opening's end: all its pieces.
    fn add_up_all(&mut self, job: &Job<F>) -> Result<Vec<Option<Buffer<F>>>, Error> {
        let pieces = self.params.pieces(&job.reveal);
        let add_up = |(_, piece)| Ok(Some(self.add_up(job, piece)?));
        pieces.map(add_up).collect()
    }

    /// A king's part: adds up and tells the others; the pieces that this party opened.
    fn rule(&mut self, job: &Job<F>) -> Result<Vec<Option<Buffer<F>>>, Error> {
        let id = self.party.id();
        let mut all = Vec::new();
        for (king, piece) in self.params.pieces(&job.reveal) {
            if king != id {
                all.push(None);
                continue;
            }
            let value = self.add_up(job, piece)?;
            for i in 1..=self.params.listeners(job.reveal.dealt) {
                self.send(self.params.after(id, i), VALUE, &value)?;
            }
            all.push(Some(value));
        }
        Ok(all)
    }

    /// The values at 0 of a piece from the shares of this party and the `degree` after it.
    fn add_up(&mut self, job: &Job<F>, piece: Range<usize>) -> Result<Buffer<F>, Error> {
        let degree = job.reveal.degree;
        let mut rows = vec![job.share.part(piece)];
        for i in 1..=degree {
            let from = self.params.after(self.party.id(), i);
            rows.push(self.recv(from, job.step, rows[0].len())?);
        }
        let coefficients = match degree == self.params.threshold {
            true => &self.points.at_zero_t,
            false => &self.points.at_zero_2t,
        };
        Ok(buffer::combine(coefficients, &rows))
    }

    /// Adds the pieces that the other kings tell; of a `dealt` value its share, which is 0 where this party
    /// is not told.
    fn hear(
        &mut self,
        job: &Job<F>,
        opened: Vec<Option<Buffer<F>>>,
    ) -> Result<Vec<Buffer<F>>, Error> {
        let (id, dealt) = (self.party.id(), job.reveal.dealt);
        let kings = !self.params.direct(&job.reveal);
        let mut all = Vec::with_capacity(opened.len());
        for ((king, piece), own) in self.params.pieces(&job.reveal).zip(opened) {
            let told = self.params.before(id, king) <= self.params.listeners(dealt);
            let mut value = match own {
                Some(value) => value,
                None if told => self.recv(king, VALUE, piece.len())?,
                None => self.zeros(piece.len()),
            };
            if kings && dealt && told {
                buffer::scale_assign(&mut value, self.points.dealt[king]);
            }
            all.push(value);
        }
        Ok(all)
    }
}

//! Opening of shared values (Liu et al., Reveal; docs/spec/liu24.md, section 2.3) and what rests on
//! it: MultPub and Mult.
//!
//! Differs from the paper: the king's work is spread over the parties, each opening a part of the
//! elements; small or distant openings go directly from everyone to everyone, in one hop; and
//! where a sharing of the opened value is enough, the king leaves out the `t` parties before it,
//! whose shares of a polynomial with zeros at their points are 0.

use tacit_algebra::mersenne::{Field, combine, from_wire, to_wire, vec};

use super::Shamir;
use super::deal::Double;
use super::params::Reveal;
use crate::Error;

const VALUE: &str = "shamir reveal: value";

/// Shares to be opened.
pub(super) struct Job<F> {
    pub step: &'static str,
    pub share: Vec<F>,
    pub reveal: Reveal,
}

impl<F: Field> Shamir<F> {
    /// Opens values shared with polynomials of `degree` to every party.
    ///
    /// Through kings: 2 hops; every party sends `(degree + n - 1) / n` elements on average.
    /// Directly: 1 hop and `degree` elements.
    pub(super) fn reveal_shares(
        &mut self,
        step: &'static str,
        share: Vec<F>,
        degree: usize,
    ) -> Result<Vec<F>, Error> {
        let reveal = Reveal {
            len: share.len(),
            degree,
            dealt: false,
        };
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
        step: &'static str,
        x: &[F],
        y: &[F],
        zero: &[F],
    ) -> Result<Vec<F>, Error> {
        self.reveal_shares(step, vec::mul_add(x, y, zero), 2 * self.params.threshold)
    }

    /// Mult (Damgard and Nielsen): `[x y]` from `<u> = [x] [y] + <r>`, opened, less `[r]`.
    pub(super) fn mult(
        &mut self,
        step: &'static str,
        x: &[F],
        y: &[F],
        double: &Double<F>,
    ) -> Result<Vec<F>, Error> {
        let mut z = self.deal_back(step, vec::mul_add(x, y, &double.high))?;
        vec::sub_assign(&mut z, &double.low);
        Ok(z)
    }

    /// A sharing of degree `t` of a masked value of degree `2t`.
    pub(super) fn deal_back(&mut self, step: &'static str, share: Vec<F>) -> Result<Vec<F>, Error> {
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
    pub(super) fn reveal_together(&mut self, jobs: Vec<Job<F>>) -> Result<Vec<Vec<F>>, Error> {
        for job in &jobs {
            self.send_shares(job)?;
        }
        let mut results = Vec::with_capacity(jobs.len());
        for job in &jobs {
            results.push(match self.params.direct(&job.reveal) {
                true => self.add_up_all(job)?,
                false => self.rule(job)?,
            });
        }
        for (job, result) in jobs.iter().zip(&mut results) {
            if !self.params.direct(&job.reveal) {
                self.hear(job, result)?;
            }
        }
        Ok(results)
    }

    /// Sends this party's share to whoever adds it up.
    fn send_shares(&mut self, job: &Job<F>) -> Result<(), Error> {
        let (id, degree) = (self.party.id(), job.reveal.degree);
        let direct = self.params.direct(&job.reveal);
        for (king, piece) in self.params.pieces(&job.reveal) {
            let share = &job.share[piece];
            if direct {
                for i in 1..=degree {
                    let to = self.params.before(id, i);
                    self.party.send(to, job.step, to_wire(share))?;
                }
            } else if (1..=degree).contains(&self.params.before(id, king)) {
                self.party.send(king, job.step, to_wire(share))?;
            }
        }
        Ok(())
    }

    /// A direct opening's end.
    fn add_up_all(&mut self, job: &Job<F>) -> Result<Vec<F>, Error> {
        let mut all = Vec::with_capacity(job.reveal.len);
        for (_, piece) in self.params.pieces(&job.reveal) {
            all.append(&mut self.add_up(job, &job.share[piece])?);
        }
        Ok(all)
    }

    /// A king's part: adds up and tells the others; the values that this party opened, the others
    /// left 0.
    fn rule(&mut self, job: &Job<F>) -> Result<Vec<F>, Error> {
        let id = self.party.id();
        let mut all = vec![F::ZERO; job.reveal.len];
        for (_, piece) in self
            .params
            .pieces(&job.reveal)
            .filter(|(king, _)| *king == id)
        {
            let value = self.add_up(job, &job.share[piece.clone()])?;
            for i in 1..=self.params.listeners(job.reveal.dealt) {
                let to = self.params.after(id, i);
                self.party.send(to, VALUE, to_wire(&value))?;
            }
            all[piece].copy_from_slice(&value);
        }
        Ok(all)
    }

    /// The value at 0 from the shares of this party and the `degree` after it.
    fn add_up(&mut self, job: &Job<F>, own: &[F]) -> Result<Vec<F>, Error> {
        let degree = job.reveal.degree;
        let mut rows = Vec::with_capacity(degree);
        for i in 1..=degree {
            let from = self.params.after(self.party.id(), i);
            rows.push(self.recv(from, job.step, own.len())?);
        }
        let all: Vec<&[F]> = std::iter::once(own)
            .chain(rows.iter().map(Vec::as_slice))
            .collect();
        let coefficients = match degree == self.params.threshold {
            true => &self.points.at_zero_t,
            false => &self.points.at_zero_2t,
        };
        Ok(combine(coefficients, &all))
    }

    /// Adds what the other kings tell; of a `dealt` value its share.
    fn hear(&mut self, job: &Job<F>, all: &mut [F]) -> Result<(), Error> {
        let id = self.party.id();
        for (king, piece) in self.params.pieces(&job.reveal) {
            let place = self.params.before(id, king);
            let part = &mut all[piece];
            if (1..=self.params.listeners(job.reveal.dealt)).contains(&place) {
                part.copy_from_slice(&self.recv(king, VALUE, part.len())?);
            }
            if job.reveal.dealt {
                vec::scale_assign(part, self.points.dealt[king]);
            }
        }
        Ok(())
    }

    /// `n` elements from a peer.
    pub(super) fn recv(
        &mut self,
        from: usize,
        step: &'static str,
        n: usize,
    ) -> Result<Vec<F>, Error> {
        let bytes = self.party.recv(from, step, n * F::BYTES)?;
        from_wire(&bytes, n).ok_or_else(|| Error::Peer {
            party: from,
            step,
            what: format!("it sent numbers that are not below 2^{} - 1", F::BITS),
        })
    }
}

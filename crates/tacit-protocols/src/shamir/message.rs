//! Vectors of field elements as messages, and what a party that counts has instead of them.

use tacit_algebra::Buffer;
use tacit_algebra::buffer::Sizes;
use tacit_algebra::mersenne::{Field, from_wire, to_wire, vec};

use super::Shamir;
use crate::Error;

impl<F: Field> Shamir<F> {
    /// Queues elements to a peer.
    pub(super) fn send(
        &mut self,
        to: usize,
        step: &'static str,
        v: &Buffer<F>,
    ) -> Result<(), Error> {
        if v.is_counted() {
            self.party.note_sent(to, v.len() * F::BYTES);
            return Ok(());
        }
        Ok(self.party.send(to, step, to_wire(v))?)
    }

    /// Waits for `n` elements from a peer.
    pub(super) fn recv(
        &mut self,
        from: usize,
        step: &'static str,
        n: usize,
    ) -> Result<Buffer<F>, Error> {
        if self.party.counts() {
            self.party.note_heard(from);
            return Ok(Buffer::counted(n));
        }
        let bytes = self.party.recv(from, step, n * F::BYTES)?;
        let elements = from_wire(&bytes, n).ok_or_else(|| Error::Peer {
            party: from,
            step,
            what: format!("it sent numbers that are not below 2^{} - 1", F::BITS),
        })?;
        Ok(elements.into())
    }

    /// `n` zeros; a size alone at a party that counts.
    pub(super) fn zeros(&self, n: usize) -> Buffer<F> {
        match self.party.counts() {
            true => Buffer::counted(n),
            false => Buffer::zeros(n),
        }
    }

    /// Opened elements as integers; zeros at a party that counts.
    pub(super) fn opened(&self, values: &Buffer<F>) -> Vec<i64> {
        match self.party.counts() {
            true => vec![0; values.len()],
            false => vec::decode(values),
        }
    }
}

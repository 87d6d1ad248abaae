//! Vectors of field elements as messages, and what a party that counts has instead of them.

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, vec};

use super::Shamir;
use crate::Error;
use crate::message::{Elements, Message};

impl<F: Field> Shamir<F> {
    /// Queues elements to a peer.
    pub(super) fn send(
        &mut self,
        to: usize,
        step: Message<Elements>,
        v: &Buffer<F>,
    ) -> Result<(), Error> {
        step.of::<Elements<F>>().send(&mut self.party, to, v)
    }

    /// Waits for `n` elements from a peer.
    pub(super) fn recv(
        &mut self,
        from: usize,
        step: Message<Elements>,
        n: usize,
    ) -> Result<Buffer<F>, Error> {
        step.of::<Elements<F>>().recv(&mut self.party, from, n)
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

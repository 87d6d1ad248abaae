//! Messages: the name of a step, how long what it sends is, and how that is written, in one place.
//!
//! A protocol names its messages beside their use: `const OPEN_MASKED: Message<Words>`. Both sides send and
//! hear it by that name, of as many elements as they say; a message of another length or of bytes that are
//! no such elements is refused, and a party that counts notes its length instead. Encodings are in
//! `encodings.rs`.

mod encodings;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use tacit_algebra::{Buffer, Ring};
use tacit_net::Party;
use zeroize::Zeroize;

use crate::Error;
pub use crate::replicated::Booleans;
pub use encodings::Packed;
pub(crate) use encodings::{Elements, Entries, Secret, Tops};

/// How long a message is.
pub trait Length {
    /// What both ends know of it: how many elements, or how many rows and columns.
    type Len: Copy;

    /// The bytes of a message of this length.
    fn bytes(len: Self::Len) -> usize;
}

/// How a value is written into a message.
pub trait Encoding: Length {
    /// What is sent.
    type Value;
    /// The encoding that stands for this one, whatever the ring, in the constants that name messages.
    type Family;
    /// Whether what is heard is a secret, whose message is wiped.
    const SECRET: bool = false;

    /// The length of a value.
    fn len(value: &Self::Value) -> Self::Len;
    /// The value's message.
    fn write(value: &Self::Value) -> Vec<u8>;
    /// The inverse; `None` if the bytes, which come from a peer, are no such value.
    fn read(message: &[u8], len: Self::Len) -> Option<Self::Value>;
    /// What stands for a value at a party that counts.
    fn counted(len: Self::Len) -> Self::Value;
    /// What a message must hold, for the error when it does not.
    fn wanted(len: Self::Len) -> String;
}

/// The message of a step: its name and its encoding `E`. Where the encoding depends on the ring, `E` stands
/// for all of its forms, as `Words` does.
pub struct Message<E> {
    step: &'static str,
    encoding: PhantomData<fn() -> E>,
}

impl<E> Clone for Message<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Message<E> {}

impl<E> Message<E> {
    /// The message of the step with this name, `protocol what: which`.
    pub const fn new(step: &'static str) -> Self {
        Message {
            step,
            encoding: PhantomData,
        }
    }

    /// The name of its step.
    pub const fn step(self) -> &'static str {
        self.step
    }

    /// This step's message with elements of the ring of `D`.
    pub(crate) const fn of<D: Encoding<Family = E>>(self) -> Message<D> {
        Message::new(self.step)
    }

    /// The error of a party whose message was not what it should be.
    pub fn refused(self, party: usize, what: impl Into<String>) -> Error {
        Error::Peer {
            party,
            step: self.step,
            what: what.into(),
        }
    }
}

impl<E: Length> Message<E> {
    /// Queues a message that a kernel makes as it is sent.
    pub fn send_made(
        self,
        party: &mut Party,
        to: usize,
        len: E::Len,
        make: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), Error> {
        let bytes = E::bytes(len);
        if party.counts() {
            party.note_sent(to, bytes);
            return Ok(());
        }
        let message = make();
        assert_eq!(message.len(), bytes, "the length rule of '{}'", self.step);
        Ok(party.send(to, self.step, message)?)
    }

    /// Waits for a message that a kernel reads as it came; zeros at a party that counts.
    pub fn recv_made(self, party: &mut Party, from: usize, len: E::Len) -> Result<Vec<u8>, Error> {
        Ok(party.recv(from, self.step, E::bytes(len))?)
    }
}

impl<E: Encoding> Message<E> {
    /// Queues a value to party `to`.
    pub fn send(self, party: &mut Party, to: usize, value: &E::Value) -> Result<(), Error> {
        self.send_made(party, to, E::len(value), || E::write(value))
    }

    /// Waits for a value of this length from party `from`.
    pub fn recv(self, party: &mut Party, from: usize, len: E::Len) -> Result<E::Value, Error> {
        if party.counts() {
            party.note_heard(from);
            return Ok(E::counted(len));
        }
        let mut message = self.recv_made(party, from, len)?;
        let value = E::read(&message, len);
        if E::SECRET {
            message.zeroize();
        }
        value.ok_or_else(|| {
            let what = format!("the message does not hold {}", E::wanted(len));
            self.refused(from, what)
        })
    }
}

/// Opened elements as integers; zeros at a party that counts.
pub(crate) fn opened<R: Ring>(party: &Party, values: &Buffer<R>) -> Vec<i64> {
    match party.counts() {
        true => vec![0; values.len()],
        false => values.decode(),
    }
}

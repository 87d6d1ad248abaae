//! How the others hear from the data's owner that there is another request, however long it takes.

use std::time::Instant;

use tacit_net::interrupt;

use super::{Joined, tell};
use crate::Error;
use crate::requests::Next;

const STEP: &str = "next request";
/// The owner's words: there is one, there will be no more, it is still there.
const COMES: &[u8] = b"comes";
const OVER: &[u8] = b"over";
const WAITS: &[u8] = b"waits";

impl Joined {
    /// Waits for the next request at the data's owner, while telling the others that it is there; `None` when there are
    /// no more.
    pub fn calling<T>(&mut self, mut next: impl FnMut() -> Next<T>) -> Result<Option<T>, Error> {
        let mut told = Instant::now();
        loop {
            match next() {
                Next::This(this) => return Ok(Some(this)),
                Next::Over => return Ok(None),
                Next::Nothing => {}
            }
            if interrupt::raised() {
                return Err(self.host.party().interrupted().into());
            }
            let party = self.host.party();
            if told.elapsed() >= party.timeout() / 4 {
                party.set_layer(STEP);
                tell(party, STEP, WAITS)?;
                told = Instant::now();
            }
        }
    }

    /// Tells the others why this party ends.
    pub fn tell(&mut self, error: &Error) {
        error.tell(self.host.party());
    }

    /// Tells the others, at the data's owner, that there is another request, or none.
    pub fn call(&mut self, comes: bool) -> Result<(), Error> {
        let party = self.host.party();
        party.set_layer(STEP);
        Ok(tell(party, STEP, if comes { COMES } else { OVER })?)
    }

    /// Waits, at parties other than the data's owner, for its word: whether there is another request.
    pub fn called(&mut self) -> Result<bool, Error> {
        let owner = self.terms.roles.data_owner;
        let party = self.host.party();
        party.set_layer(STEP);
        loop {
            match &party.recv_at_most(owner, STEP, WAITS.len())?[..] {
                WAITS => {}
                COMES => return Ok(true),
                OVER => return Ok(false),
                _ => {
                    let error = Error::Malformed {
                        party: owner,
                        what: STEP,
                    };
                    error.tell(party);
                    return Err(error);
                }
            }
        }
    }
}

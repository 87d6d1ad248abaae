//! DReLU up to the assistant's bit (Bicoptor 2.0, Algorithms 4 to 7, sections 5.1 to 5.4, corrected:
//! docs/spec/bicoptor2.md, section 5).
//!
//! Of a value's additive shares each holder makes, by itself, `kappa + 2` entries of which exactly
//! one or none is 0, flips the sign by a random `t`, and rotates, masks and re-shares them with
//! the common generator; the local steps are one kernel, [`masked_entries`]. The assistant adds
//! the two messages and learns `DReLU' = [some entry is 0] = DReLU(x) ^ t`, a uniform bit.

use std::ops::Range;

use tacit_algebra::window::{Window, masked_entries, zero_entries};
use tacit_algebra::{Bits, Buffer, Ring};
use tacit_net::Party;

use super::ASSISTANT;
use super::role::PartyRole;
use crate::Error;
use crate::message::{Entries, Message};
use crate::replicated::blocks;

const ENTRIES: Message<Entries> = Message::new("bicoptor drelu: masked entries");

/// Elements from which on the usual parts are several.
const MANY: usize = 1 << 15;

/// The ranges of `n` elements that are worked on at once: sending overlaps computing, and so do
/// the two hops. Of fewer elements the parts are smaller, for there to be several.
pub(super) fn parts(window: &Window, n: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let rows = window.entries();
    blocks(n, if n < MANY { 4 * rows } else { rows })
}

/// A holder sends the masked entries of part of its shares, flipped by `flips` (Bicoptor 2.0,
/// Algorithm 7, steps 1 to 8, corrected).
/// `(kappa + 2)(kappa + 3)` bits per element.
pub(super) fn send_entries<R: Ring>(
    party: &mut Party,
    role: &mut PartyRole,
    window: &Window,
    share: &Buffer<R>,
    flips: &Bits,
) -> Result<(), Error> {
    if let PartyRole::Holder { first, common, .. } = role {
        let entries = || masked_entries(window, *first, share, flips, common);
        ENTRIES.send_made(party, ASSISTANT, (*window, share.len()), entries)?;
    }
    Ok(())
}

/// The assistant's `DReLU'` of one part (Bicoptor 2.0, Algorithm 7, step 9).
pub(super) fn recv_entries(party: &mut Party, window: &Window, n: usize) -> Result<Bits, Error> {
    if party.counts() {
        (0..ASSISTANT).for_each(|holder| party.note_heard(holder));
        return Ok(Bits::counted(n));
    }
    let first = ENTRIES.recv_made(party, 0, (*window, n))?;
    let second = ENTRIES.recv_made(party, 1, (*window, n))?;
    zero_entries(window, n, &first, &second).ok_or_else(|| {
        // Which of the two sent it: the one whose message is no good with itself either.
        let guilty = match zero_entries(window, n, &first, &first) {
            None => 0,
            Some(_) => 1,
        };
        let what = format!("the message does not hold the entries of {n} values");
        ENTRIES.refused(guilty, what)
    })
}

//! Truncation between the holders with a mask that the assistant knows (Bicoptor 2.0, section 2.4;
//! docs/spec/bicoptor2.md, section 3).
//!
//! | kind | algorithm | range of `x` | error against `floor(x / 2^d)` | online |
//! |---|---|---|---|---|
//! | `gap` | T1, not the paper's | `abs(x) < 2^{l-2}` | 0 or 1, mean of the true quotient | 1 hop |
//! | `aby3` | 2 | any | 0 or 1, but `2^{l-d}` with probability `abs(x) / 2^l` | 1 hop |
//! | `secureml` | 1 | any | the same | local |
//!
//! Differs from the paper: the assistant deals the mask, of which it sees no opening; after a
//! product the mask also stands for the triple's `c`, so that no correction of `c` is sent.

use tacit_algebra::{Buffer, Ring};
use tacit_net::Party;
use zeroize::Zeroize;

use super::role::{PartyRole, open};
use crate::machine::Call;
use crate::message::Message;
use crate::replicated::Words;
use crate::{Error, Truncation};

const OPEN_MASKED: Message<Words> = Message::new("bicoptor truncate: open masked value");
const SHIFTED: Message<Words> = Message::new("bicoptor truncate: deal shifted mask");
const MSB: Message<Words> = Message::new("bicoptor truncate: deal top bit of mask");

/// A holder's part of the mask of one truncation.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct Mask<R> {
    /// What is added to the value before it is opened.
    pub summand: Buffer<R>,
    /// Shares of `low >> d` and of the top bit of `r = low + 2^{l-1} msb`.
    pub shifted: Buffer<R>,
    pub msb: Buffer<R>,
}

/// Deals the shifted parts of the assistant's `r`, to which the holders' `summand`s add up.
/// 1 hop; the assistant sends `2 n` elements.
pub(super) fn deal_mask<R: Ring>(
    role: &mut PartyRole,
    party: &mut Party,
    summand: Buffer<R>,
    trunc: u32,
) -> Result<Mask<R>, Error> {
    let n = summand.len();
    let (shifted, msb) = match role {
        PartyRole::Assistant { .. } => summand.split_mask(trunc),
        PartyRole::Holder { .. } => Default::default(),
    };
    Ok(Mask {
        shifted: role.deal(party, SHIFTED, n, shifted)?,
        msb: role.deal(party, MSB, n, msb)?,
        summand,
    })
}

/// Refuses a truncation that the ring has no room for.
pub(super) fn check<R: Ring>(trunc: u32) -> Result<(), Error> {
    if trunc == 0 || trunc > R::BITS - 2 {
        return Err(Error::Invalid(format!(
            "a truncation by {trunc} bits does not fit the {}-bit ring: 1 to {} are possible",
            R::BITS,
            R::BITS - 2
        )));
    }
    Ok(())
}

/// Refuses a plan with such a truncation, before anything is sent.
pub(super) fn check_plan<R: Ring>(calls: &[Call]) -> Result<(), Error> {
    calls.iter().try_for_each(|call| match *call {
        Call::Product { trunc: 0, .. } | Call::Truncate { trunc: 0, .. } => Ok(()),
        Call::Product { trunc, .. } | Call::Truncate { trunc, .. } => check::<R>(trunc),
        _ => Ok(()),
    })
}

/// A holder's share of a value, already masked, before it is opened: moves those of the one-bit
/// gap's range to non-negative ones.
pub(super) fn offset<R: Ring>(kind: Truncation, carries: bool, share: &mut Buffer<R>) {
    if kind == Truncation::Gap && carries {
        share.add_scalar_assign(R::ONE.shl(R::BITS - 2));
    }
}

/// A holder's share of the quotient from the opened masked value. Local.
pub(super) fn quotient<R: Ring>(
    kind: Truncation,
    carries: bool,
    opened: &Buffer<R>,
    mask: &Mask<R>,
    trunc: u32,
) -> Buffer<R> {
    let finish = match kind {
        Truncation::Gap => Buffer::gap,
        _ => Buffer::signed,
    };
    finish(opened, &mask.shifted, &mask.msb, trunc, carries)
}

/// `x >> trunc` of a holder's share with its mask: T1, or Bicoptor 2.0's Algorithm 2. 1 hop and 1
/// element per holder.
pub(super) fn truncate_masked<R: Ring>(
    role: &PartyRole,
    party: &mut Party,
    kind: Truncation,
    mut share: Buffer<R>,
    mask: &Mask<R>,
    trunc: u32,
) -> Result<Buffer<R>, Error> {
    share.add_assign(&mask.summand);
    offset(kind, role.carries(), &mut share);
    let opened = open(party, OPEN_MASKED, share)?;
    Ok(quotient(kind, role.carries(), &opened, mask, trunc))
}

/// SecureML's truncation of a holder's share (Bicoptor 2.0, Algorithm 1, section 2.4). Local.
///
/// The shares are made anew: those of constants, and replicated ones of an input, are not random,
/// and then the large error could be certain.
pub(super) fn truncate_locally<R: Ring>(
    role: &mut PartyRole,
    share: &Buffer<R>,
    trunc: u32,
) -> Buffer<R> {
    let share = role.refresh(share);
    match role {
        PartyRole::Holder { first, .. } => share.truncate_share(*first, trunc),
        PartyRole::Assistant { .. } => Buffer::default(),
    }
}

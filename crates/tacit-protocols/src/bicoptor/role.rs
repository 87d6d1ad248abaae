//! The roles of the parties, with the generators that each has in common with another
//! (docs/spec/bicoptor2.md, section 1).

use tacit_algebra::{BitRows, Bits, Buffer, Prg, Ring, planes};
use tacit_net::Party;

use super::ASSISTANT;
use crate::Error;
use crate::keys::Pair;
use crate::message::Message;
use crate::replicated::Words;

/// What a party is in the protocol, with the generator that it has in common with each of the others.
pub(super) enum PartyRole {
    /// Party 0 or 1.
    Holder {
        /// Whether this is party 0, whose share carries public constants.
        first: bool,
        /// The generator in common with the other holder: `seed01`.
        common: Prg,
        /// The generator in common with the assistant: `seed02` or `seed12`.
        dealt: Prg,
    },
    /// Party 2, which holds no share and deals randomness.
    Assistant {
        /// The generator in common with party 0: `seed02`.
        first: Prg,
        /// The generator in common with party 1: `seed12`.
        second: Prg,
    },
}

impl PartyRole {
    /// The role of party `id` from its secrets with the party before it and the one after it.
    pub fn new(id: usize, previous: &Pair, next: &Pair) -> Self {
        let prg = |pair: &Pair| pair.prg(b"bicoptor pair");
        PartyRole::of(id, prg(previous), prg(next))
    }

    /// The role of a party that only counts.
    pub fn counting(id: usize) -> Self {
        PartyRole::of(id, Prg::counting(), Prg::counting())
    }

    fn of(id: usize, previous: Prg, next: Prg) -> Self {
        match id {
            0 => PartyRole::Holder {
                first: true,
                common: next,
                dealt: previous,
            },
            1 => PartyRole::Holder {
                first: false,
                common: previous,
                dealt: next,
            },
            _ => PartyRole::Assistant {
                first: next,
                second: previous,
            },
        }
    }

    /// Whether this party's share carries public constants.
    pub fn carries(&self) -> bool {
        matches!(self, PartyRole::Holder { first: true, .. })
    }

    /// Shares `n` uniform ring elements that only the assistant knows. Returns a holder's share, or
    /// the elements at the assistant. Local.
    pub fn random<R: Ring>(&mut self, n: usize) -> Buffer<R> {
        match self {
            PartyRole::Holder { dealt, .. } => dealt.words(n),
            PartyRole::Assistant { first, second } => first.words(n).add(&second.words(n)),
        }
    }

    /// Shares `n` uniform bits that only the assistant knows, by xor. Returns a holder's share, or the
    /// bits at the assistant. Local.
    pub fn random_bits(&mut self, n: usize) -> Bits {
        match self {
            PartyRole::Holder { dealt, .. } => dealt.bits(n),
            PartyRole::Assistant { first, second } => first.bits(n).xor(&second.bits(n)),
        }
    }

    /// Shares `rows` rows of `n` uniform bits that only the assistant knows, by xor. Returns a
    /// holder's share, or the rows at the assistant. Local.
    pub fn random_rows(&mut self, rows: usize, n: usize) -> BitRows {
        match self {
            PartyRole::Holder { dealt, .. } => dealt.bit_rows(rows, n),
            PartyRole::Assistant { first, second } => {
                let mut sum = first.bit_rows(rows, n);
                planes::xor_assign(&mut sum, &second.bit_rows(rows, n));
                sum
            }
        }
    }

    /// Re-randomises a holder's share: one holder adds a random vector that the assistant lacks, the
    /// other subtracts it, so the sum stays. Nothing at the assistant. Local.
    pub fn refresh<R: Ring>(&mut self, share: &Buffer<R>) -> Buffer<R> {
        match self {
            PartyRole::Holder { first, common, .. } => {
                let rho = common.words(share.len());
                match first {
                    true => share.add(&rho),
                    false => share.sub(&rho),
                }
            }
            PartyRole::Assistant { .. } => Buffer::default(),
        }
    }

    /// Shares what the assistant knows between the holders: party 0's share is drawn, party 1's is
    /// sent. The assistant gives the values and gets them back.
    /// 1 hop; the assistant sends `n` elements.
    pub fn deal<R: Ring>(
        &mut self,
        party: &mut Party,
        step: Message<Words>,
        n: usize,
        values: Buffer<R>,
    ) -> Result<Buffer<R>, Error> {
        match self {
            PartyRole::Holder {
                first: true, dealt, ..
            } => Ok(dealt.words(n)),
            PartyRole::Holder { .. } => recv(party, ASSISTANT, step, n),
            PartyRole::Assistant { first, .. } => {
                let share = values.sub(&first.words(n));
                send(party, 1, step, &share)?;
                Ok(values)
            }
        }
    }

    /// Shares rows of bits that the assistant knows between the holders, by xor: party 0's share is
    /// drawn, party 1's is sent. The assistant gets nothing back. 1 hop; the assistant sends `rows n`
    /// bits.
    pub fn deal_rows(
        &mut self,
        party: &mut Party,
        step: Message<BitRows>,
        [rows, n]: [usize; 2],
        mut values: BitRows,
    ) -> Result<BitRows, Error> {
        match self {
            PartyRole::Holder {
                first: true, dealt, ..
            } => Ok(dealt.bit_rows(rows, n)),
            PartyRole::Holder { .. } if rows == 0 => Ok(BitRows::zeros(0, n)),
            PartyRole::Holder { .. } => step.recv(party, ASSISTANT, [rows, n]),
            PartyRole::Assistant { first, .. } => {
                planes::xor_assign(&mut values, &first.bit_rows(rows, n));
                if rows > 0 {
                    step.send(party, 1, &values)?;
                }
                Ok(BitRows::default())
            }
        }
    }
}

/// The number of the holder that is not this party: 1 of 0, 0 of 1.
pub(super) fn other(party: &Party) -> usize {
    1 - party.id()
}

/// Opens a sum between the holders: each sends its summand and adds the other's.
/// 1 hop; each holder sends `n` elements.
pub(super) fn open<R: Ring>(
    party: &mut Party,
    step: Message<Words>,
    mut own: Buffer<R>,
) -> Result<Buffer<R>, Error> {
    let peer = other(party);
    send(party, peer, step, &own)?;
    let theirs = recv(party, peer, step, own.len())?;
    own.add_assign(&theirs);
    Ok(own)
}

/// The sum of rows that this holder has sent and of those of the other.
pub(super) fn open_rows(
    party: &mut Party,
    step: Message<BitRows>,
    mut own: BitRows,
) -> Result<BitRows, Error> {
    let peer = other(party);
    let theirs = step.recv(party, peer, [own.rows(), own.cols()])?;
    planes::xor_assign(&mut own, &theirs);
    Ok(own)
}

/// Queues ring elements to a peer.
pub(super) fn send<R: Ring>(
    party: &mut Party,
    to: usize,
    step: Message<Words>,
    v: &Buffer<R>,
) -> Result<(), Error> {
    step.of::<Words<R>>().send(party, to, v)
}

/// Waits for exactly `n` ring elements from a peer.
pub(super) fn recv<R: Ring>(
    party: &mut Party,
    from: usize,
    step: Message<Words>,
    n: usize,
) -> Result<Buffer<R>, Error> {
    step.of::<Words<R>>().recv(party, from, n)
}

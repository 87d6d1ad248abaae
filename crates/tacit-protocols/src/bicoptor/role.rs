//! What a party is and which generators it has in common with whom (docs/spec/bicoptor2.md,
//! section 1).

use bytemuck::pod_collect_to_vec;
use tacit_algebra::{BitRows, Bits, Prg, Ring, planes, vec};
use tacit_net::Party;

use super::ASSISTANT;
use crate::Error;
use crate::keys::Pair;

/// One party's generators; every pair of parties has one.
pub(super) enum Role {
    /// Party 0 or 1.
    Holder {
        /// Whether this is party 0, whose share carries public constants.
        first: bool,
        /// In common with the other holder: `seed01`.
        common: Prg,
        /// In common with the assistant: `seed02` or `seed12`.
        dealt: Prg,
    },
    /// Party 2.
    Assistant {
        /// In common with party 0: `seed02`.
        first: Prg,
        /// In common with party 1: `seed12`.
        second: Prg,
    },
}

impl Role {
    /// The role of party `id` from its secrets with the party before it and the one after it.
    pub fn new(id: usize, previous: &Pair, next: &Pair) -> Self {
        let prg = |pair: &Pair| pair.prg(b"bicoptor pair");
        match id {
            0 => Role::Holder {
                first: true,
                common: prg(next),
                dealt: prg(previous),
            },
            1 => Role::Holder {
                first: false,
                common: prg(previous),
                dealt: prg(next),
            },
            _ => Role::Assistant {
                first: prg(next),
                second: prg(previous),
            },
        }
    }

    /// Whether this party's share carries public constants.
    pub fn carries(&self) -> bool {
        matches!(self, Role::Holder { first: true, .. })
    }

    /// A uniform vector that only the assistant knows: each holder's share, or the vector. Local.
    pub fn random<R: Ring>(&mut self, n: usize) -> Vec<R> {
        match self {
            Role::Holder { dealt, .. } => dealt.ring(n),
            Role::Assistant { first, second } => {
                let mut sum = first.ring(n);
                vec::add_assign(&mut sum, &second.ring(n));
                sum
            }
        }
    }

    /// The same for bits, whose sum is their xor. Local.
    pub fn random_bits(&mut self, n: usize) -> Bits {
        match self {
            Role::Holder { dealt, .. } => dealt.bits(n),
            Role::Assistant { first, second } => first.bits(n).xor(&second.bits(n)),
        }
    }

    /// The same for rows of bits. Local.
    pub fn random_rows(&mut self, rows: usize, n: usize) -> BitRows {
        match self {
            Role::Holder { dealt, .. } => dealt.bit_rows(rows, n),
            Role::Assistant { first, second } => {
                let mut sum = first.bit_rows(rows, n);
                planes::xor_assign(&mut sum, &second.bit_rows(rows, n));
                sum
            }
        }
    }

    /// A holder's share made anew, of the same sum: the other holder's is changed by as much the other
    /// way, by a vector that the assistant lacks. Nothing at the assistant. Local.
    pub fn refresh<R: Ring>(&mut self, share: &[R]) -> Vec<R> {
        match self {
            Role::Holder { first, common, .. } => {
                let rho = common.ring(share.len());
                match first {
                    true => vec::add(share, &rho),
                    false => vec::sub(share, &rho),
                }
            }
            Role::Assistant { .. } => Vec::new(),
        }
    }

    /// Shares what the assistant knows between the holders: party 0's share is drawn, party 1's is
    /// sent. The assistant gives the values and gets them back.
    /// 1 hop; the assistant sends `n` elements.
    pub fn deal<R: Ring>(
        &mut self,
        party: &mut Party,
        step: &'static str,
        n: usize,
        values: Vec<R>,
    ) -> Result<Vec<R>, Error> {
        match self {
            Role::Holder {
                first: true, dealt, ..
            } => Ok(dealt.ring(n)),
            Role::Holder { .. } => recv(party, ASSISTANT, step, n),
            Role::Assistant { first, .. } => {
                let share = vec::sub(&values, &first.ring(n));
                send(party, 1, step, &share)?;
                Ok(values)
            }
        }
    }

    /// The same for rows of bits, of which the assistant gets nothing back.
    /// 1 hop; the assistant sends as many bits.
    pub fn deal_rows(
        &mut self,
        party: &mut Party,
        step: &'static str,
        [rows, n]: [usize; 2],
        mut values: BitRows,
    ) -> Result<BitRows, Error> {
        match self {
            Role::Holder {
                first: true, dealt, ..
            } => Ok(dealt.bit_rows(rows, n)),
            Role::Holder { .. } if rows == 0 => Ok(BitRows::zeros(0, n)),
            Role::Holder { .. } => read_rows(party, ASSISTANT, step, [rows, n]),
            Role::Assistant { first, .. } => {
                planes::xor_assign(&mut values, &first.bit_rows(rows, n));
                if rows > 0 {
                    party.send(1, step, values.to_bytes())?;
                }
                Ok(BitRows::default())
            }
        }
    }
}

/// The other holder.
pub(super) fn other(party: &Party) -> usize {
    1 - party.id()
}

/// Opens a sum between the holders: each sends its summand and adds the other's.
/// 1 hop; each holder sends `n` elements.
pub(super) fn open<R: Ring>(
    party: &mut Party,
    step: &'static str,
    mut own: Vec<R>,
) -> Result<Vec<R>, Error> {
    let peer = other(party);
    send(party, peer, step, &own)?;
    let theirs = recv(party, peer, step, own.len())?;
    vec::add_assign(&mut own, &theirs);
    Ok(own)
}

/// Queues rows of bits to the other holder.
pub(super) fn send_rows(
    party: &mut Party,
    step: &'static str,
    rows: &BitRows,
) -> Result<(), Error> {
    Ok(party.send(other(party), step, rows.to_bytes())?)
}

/// Waits for so many rows of so many bits from the other holder.
pub(super) fn recv_rows(
    party: &mut Party,
    step: &'static str,
    shape: [usize; 2],
) -> Result<BitRows, Error> {
    read_rows(party, other(party), step, shape)
}

/// The sum of rows that this holder has sent and of those of the other.
pub(super) fn open_rows(
    party: &mut Party,
    step: &'static str,
    mut own: BitRows,
) -> Result<BitRows, Error> {
    let theirs = recv_rows(party, step, [own.rows(), own.cols()])?;
    planes::xor_assign(&mut own, &theirs);
    Ok(own)
}

fn read_rows(
    party: &mut Party,
    from: usize,
    step: &'static str,
    [rows, n]: [usize; 2],
) -> Result<BitRows, Error> {
    let bytes = party.recv(from, step, (rows * n).div_ceil(8))?;
    BitRows::from_bytes(rows, n, &bytes).ok_or_else(|| Error::Peer {
        party: from,
        step,
        what: format!("the message does not hold {rows} bits of each of {n} elements"),
    })
}

/// Queues ring elements to a peer.
pub(super) fn send<R: Ring>(
    party: &mut Party,
    to: usize,
    step: &'static str,
    v: &[R],
) -> Result<(), Error> {
    Ok(party.send(to, step, bytemuck::cast_slice(v).to_vec())?)
}

/// Waits for exactly `n` ring elements from a peer.
pub(super) fn recv<R: Ring>(
    party: &mut Party,
    from: usize,
    step: &'static str,
    n: usize,
) -> Result<Vec<R>, Error> {
    let bytes = party.recv(from, step, n * size_of::<R>())?;
    if bytes.len() != n * size_of::<R>() {
        let what = format!("the message does not hold {n} whole ring elements");
        return Err(Error::Peer {
            party: from,
            step,
            what,
        });
    }
    Ok(pod_collect_to_vec(&bytes))
}

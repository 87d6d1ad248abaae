//! Vectors of shares as messages: how many bytes so many elements are, and what a party that counts notes
//! instead.

use tacit_algebra::buffer::Sizes;
use tacit_algebra::{BitRows, Buffer, Ring};
use tacit_net::Party;

use crate::Error;
use crate::replicated::Domain;

/// Queues a vector of elements to a peer.
pub(crate) fn send<D: Domain>(
    party: &mut Party,
    to: usize,
    step: &'static str,
    v: &D::Vec,
) -> Result<(), Error> {
    if v.is_counted() {
        party.note_sent(to, D::wire_len(D::len(v)));
        return Ok(());
    }
    Ok(party.send(to, step, D::to_wire(v))?)
}

/// Waits for exactly `n` elements from a peer.
pub(crate) fn recv<D: Domain>(
    party: &mut Party,
    from: usize,
    step: &'static str,
    n: usize,
) -> Result<D::Vec, Error> {
    if party.counts() {
        party.note_heard(from);
        return Ok(D::counted(n));
    }
    let bytes = party.recv(from, step, D::wire_len(n))?;
    D::from_wire(&bytes, n).ok_or_else(|| Error::Peer {
        party: from,
        step,
        what: format!("the message does not hold {n} {}", D::VALID),
    })
}

/// Opened elements as integers; zeros at a party that counts.
pub(crate) fn opened<R: Ring>(party: &Party, values: &Buffer<R>) -> Vec<i64> {
    match party.counts() {
        true => vec![0; values.len()],
        false => values.decode(),
    }
}

/// Queues rows of bits to a peer.
pub(crate) fn send_rows(
    party: &mut Party,
    to: usize,
    step: &'static str,
    rows: &BitRows,
) -> Result<(), Error> {
    if rows.is_counted() {
        party.note_sent(to, rows_len([rows.rows(), rows.cols()]));
        return Ok(());
    }
    Ok(party.send(to, step, rows.to_bytes())?)
}

/// Waits for so many rows of so many bits from a peer.
pub(crate) fn recv_rows(
    party: &mut Party,
    from: usize,
    step: &'static str,
    [rows, n]: [usize; 2],
) -> Result<BitRows, Error> {
    if party.counts() {
        party.note_heard(from);
        return Ok(BitRows::counted(rows, n));
    }
    let bytes = party.recv(from, step, rows_len([rows, n]))?;
    BitRows::from_bytes(rows, n, &bytes).ok_or_else(|| Error::Peer {
        party: from,
        step,
        what: format!("the message does not hold {rows} bits of each of {n} elements"),
    })
}

fn rows_len([rows, n]: [usize; 2]) -> usize {
    (rows * n).div_ceil(8)
}

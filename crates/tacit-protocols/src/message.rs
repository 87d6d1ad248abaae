//! Vectors of shares as messages: how many bytes so many elements are, and what a party that counts notes
//! instead.

use tacit_algebra::buffer::Sizes;
use tacit_algebra::quotient::{tops_from_bytes, tops_to_bytes};
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

/// Queues the top bits of words to a peer.
pub(crate) fn send_tops<R: Ring>(
    party: &mut Party,
    to: usize,
    step: &'static str,
    words: &Buffer<R>,
    bits: u32,
) -> Result<(), Error> {
    if words.is_counted() {
        party.note_sent(to, rows_len([words.len(), bits as usize]));
        return Ok(());
    }
    Ok(party.send(to, step, tops_to_bytes(words, bits))?)
}

/// Waits for the top bits of so many words from a peer.
pub(crate) fn recv_tops<R: Ring>(
    party: &mut Party,
    from: usize,
    step: &'static str,
    [n, bits]: [usize; 2],
) -> Result<Buffer<R>, Error> {
    if party.counts() {
        party.note_heard(from);
        return Ok(Buffer::counted(n));
    }
    let bytes = party.recv(from, step, rows_len([n, bits]))?;
    let words = tops_from_bytes(n, &bytes, bits as u32).ok_or_else(|| Error::Peer {
        party: from,
        step,
        what: format!("the message does not hold {bits} bits of each of {n} elements"),
    })?;
    Ok(words.into())
}

fn rows_len([rows, n]: [usize; 2]) -> usize {
    (rows * n).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::falcon::Residues;
    use crate::replicated::{Booleans, Words};
    use std::fmt::Write;
    use std::path::Path;
    use tacit_algebra::Prg;
    use tacit_algebra::extension::{Binary, Extension, F11, F19, F37, F67, Galois, Tower};
    use tacit_algebra::mersenne::{F5, F7, F13, F31, F61, Field, to_wire};
    use tacit_conformance::wire::held;

    /// So many elements of a stream that never changes: odd, so that the last byte is not full.
    const N: usize = 13;

    fn prg() -> Prg {
        Prg::new([7; 16])
    }

    fn line(text: &mut String, name: &str, bytes: &[u8]) {
        let _ = write!(text, "{name}: ");
        bytes.iter().for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        });
        text.push('\n');
    }

    fn of<D: Domain>(text: &mut String, name: &str) {
        line(text, name, &D::to_wire(&D::draw(&mut prg(), N)));
    }

    fn ring<R: Ring>(text: &mut String) {
        of::<Words<R>>(text, &format!("words of {} bits", R::BITS));
        of::<Residues<R>>(text, &format!("residues modulo {}", R::PRIME));
        let points = Galois::<R>::random(&mut prg(), 2);
        line(
            text,
            &format!("Galois ring, {} bits", R::BITS),
            &Galois::to_wire(&points),
        );
    }

    fn extension<K: Extension>(text: &mut String, name: &str) {
        line(text, name, &K::to_wire(&K::random(&mut prg(), 3)));
    }

    fn field<F: Field>(text: &mut String) {
        let name = format!("elements modulo 2^{} - 1", F::BITS);
        line(text, &name, &to_wire(&prg().field::<F>(N)));
    }

    /// Seen to fail where the file had another byte.
    #[test]
    fn encodings_are_those_of_the_wire_version() {
        let mut text = String::new();
        ring::<u8>(&mut text);
        ring::<u16>(&mut text);
        ring::<u32>(&mut text);
        ring::<u64>(&mut text);
        of::<Booleans>(&mut text, "bits");
        line(&mut text, "rows of bits", &prg().bit_rows(3, N).to_bytes());
        field::<F5>(&mut text);
        field::<F7>(&mut text);
        field::<F13>(&mut text);
        field::<F31>(&mut text);
        field::<F61>(&mut text);
        extension::<Binary>(&mut text, "GF(2^64)");
        extension::<Tower<F11>>(&mut text, "extension of 11");
        extension::<Tower<F19>>(&mut text, "extension of 19");
        extension::<Tower<F37>>(&mut text, "extension of 37");
        extension::<Tower<F67>>(&mut text, "extension of 67");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/encodings.txt");
        held(&file, &text);
    }
}
